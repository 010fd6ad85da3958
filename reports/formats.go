package reports

import (
	"io"
	"slices"

	"github.com/servegate/pipeline/reports/bisection"
	"github.com/servegate/pipeline/reports/markdown"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/series"
	"github.com/servegate/pipeline/reports/text"
)

// Format is a way to write what this package reports: one row of the table of formats.
// Whatever lists formats reads the table it was handed (the formats of a report block,
// --format, the files of a run directory, the reference), so a new format is one value in
// Formats and nothing else. A function that is nil means that the format does not have the
// subject.
type Format struct {
	// Name is what report blocks and --format call it.
	Name string
	// Extension of its files, with the dot.
	Extension string
	// Base is the name of a document's file before the extension, "report" unless set.
	Base string
	// MediaType of its files (RFC 6838).
	MediaType string
	// Escapes says what text from outside cannot become in it.
	Escapes string
	// Kept formats are written into every run directory.
	Kept bool
	// Warns reports whether a document's warnings are part of what is written; those of other
	// formats are printed beside it.
	Warns bool
	// Page formats are whole: nothing can be printed below.
	Page bool

	Document   func(io.Writer, *result.Document, Options) error
	Comparison func(io.Writer, []Side, Options) error
	History    func(io.Writer, *series.History, Options) error
	Bisection  func(io.Writer, *bisection.Document, Options) error
}

// File is the name of the file with a document.
func (f Format) File() string {
	if f.Base != "" {
		return f.Base + f.Extension
	}
	return "report" + f.Extension
}

// Formats is a table of formats. It is a value that the program hands down.
type Formats []Format

// AllFormats are the formats of this package, in the order in which they are written:
// the document itself comes first.
func AllFormats() Formats {
	return Formats{
		{
			Name: "json", Extension: ".json", Base: "results", MediaType: "application/json", Escapes: "control characters",
			Kept:     true,
			Document: JSON, Comparison: compareJSON, History: series.JSON, Bisection: bisection.JSON,
		},
		{
			Name: "markdown", Extension: ".md", MediaType: "text/markdown", Escapes: "markup, links, mentions, references to issues",
			Kept: true, Warns: true,
			Document: Markdown, Comparison: drawn(markdown.Write), History: series.Markdown, Bisection: bisection.Markdown,
		},
		{
			Name: "text", Extension: ".txt", MediaType: "text/plain", Escapes: "control sequences of a terminal, commands of a GitHub runner",
			Kept: true, Warns: true,
			Document: Text, Comparison: drawn(text.Write), History: series.Text, Bisection: bisection.Text,
		},
		{
			Name: "html", Extension: ".html", MediaType: "text/html", Escapes: "markup, scripts, anything from the network",
			Kept: true, Warns: true, Page: true,
			Document: HTML, Comparison: compareHTML, History: series.HTML, Bisection: bisection.HTML,
		},
		{
			Name: "junit", Extension: ".junit.xml", MediaType: "application/xml", Escapes: "markup, control characters",
			Document: JUnit,
		},
		{
			Name: "csv", Extension: ".csv", MediaType: "text/csv", Escapes: "formulas of a spreadsheet",
			Document: CSV, Comparison: compareCSV,
		},
		{
			Name: "curves", Extension: ".csv", Base: "curves", MediaType: "text/csv", Escapes: "formulas of a spreadsheet",
			Document: CurvesCSV, Comparison: compareCurves,
		},
	}
}

// Lookup finds a format by its name.
func (fs Formats) Lookup(name string) (Format, bool) {
	i := slices.IndexFunc(fs, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return fs[i], true
}

// Names are those of the formats, in the order of the table.
func (fs Formats) Names() []string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.Name
	}
	return names
}

// Kept are the formats of every run directory.
func (fs Formats) Kept() Formats { return fs.filter(func(f Format) bool { return f.Kept }) }

// OfDocuments are the formats that a document can be written in.
func (fs Formats) OfDocuments() Formats {
	return fs.filter(func(f Format) bool { return f.Document != nil })
}

// OfComparisons are the formats that a comparison can be written in.
func (fs Formats) OfComparisons() Formats {
	return fs.filter(func(f Format) bool { return f.Comparison != nil })
}

// OfHistories are the formats that a history can be written in.
func (fs Formats) OfHistories() Formats {
	return fs.filter(func(f Format) bool { return f.History != nil })
}

// OfBisections are the formats that a search for a culprit can be written in.
func (fs Formats) OfBisections() Formats {
	return fs.filter(func(f Format) bool { return f.Bisection != nil })
}

func (fs Formats) filter(keep func(Format) bool) Formats {
	return slices.DeleteFunc(slices.Clone(fs), func(f Format) bool { return !keep(f) })
}
