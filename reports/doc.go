// Package reports renders a result document for people and for other programs: markdown
// for a pull request, text for a terminal, one HTML page with charts, JSON, JUnit, and
// CSV.
//
// A document is first laid out as a Report: a heading, lines and tables as plain data
// (see Build). The renderers only draw it, so that every format says the same, and
// everything that came from outside passes through package escape on its way out.
//
//	doc, err := result.Decode(file, result.Limits{})
//	…
//	err = reports.Markdown(os.Stdout, doc, reports.Options{Budget: 60_000})
//
// It decides nothing: verdicts, intervals and p-values are those of the document. It
// neither posts anything (package reports/publish says who does) nor redacts secrets (the
// writers it is given do).
package reports
