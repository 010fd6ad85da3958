// Package reports renders a result document for people and for other programs: markdown
// for a pull request, text for a terminal, one HTML page with charts, JSON, JUnit, and
// CSV.
//
// Build lays a document out as a model.Report: a heading, lines and tables as plain data. The renderers only draw it,
// so that every format has the same content. All text from outside passes through package escape on its way out.
//
//	doc, err := result.Decode(file, result.Limits{})
//	…
//	err = reports.Markdown(os.Stdout, doc, reports.Options{Budget: 60_000})
//
// The package decides nothing: verdicts, intervals and p values come from the document. It neither posts reports (see
// package reports/publish) nor redacts secrets; the writers that it is given redact them.
package reports
