package reports

import (
	"io"
	"slices"

	"github.com/servegate/pipeline/reports/bisection"
	"github.com/servegate/pipeline/reports/latex"
	"github.com/servegate/pipeline/reports/markdown"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/series"
	"github.com/servegate/pipeline/reports/text"
)

// Format is an output format, one row of the table of formats. Code that lists formats reads the table that it is
// given (the formats of a report block, --format, the files of a run directory, the reference). A new format
// therefore only needs an entry in AllFormats, and to escape (package escape) what text from outside could form in it:
// markup, links, commands, formulas. A nil function means that the format does not support the subject.
type Format struct {
	// Name identifies the format in report blocks and --format.
	Name string
	// Extension of its files, with the dot.
	Extension string
	// Base is the name of a document's file before the extension, "report" unless set.
	Base string
	// Kept formats are written into every run directory.
	Kept bool
	// Warns reports whether the output contains the document's warnings. Otherwise they are printed beside it.
	Warns bool
	// Page formats are complete documents, so no text can follow them.
	Page bool

	Document   func(io.Writer, *result.Document, Options) error
	Comparison func(io.Writer, []Side, Options) error
	History    func(io.Writer, *series.History, Options) error
	Bisection  func(io.Writer, *bisection.Document, Options) error
}

// File returns the name of the file with a document.
func (f Format) File() string {
	if f.Base != "" {
		return f.Base + f.Extension
	}
	return "report" + f.Extension
}

// Formats is a table of formats, passed as a value by the program.
type Formats []Format

// AllFormats returns the formats of this package in the order of writing. JSON, the document itself, comes first.
func AllFormats() Formats {
	return Formats{
		{
			Name: "json", Extension: ".json", Base: "results", Kept: true,
			Document: JSON, Comparison: compareJSON, History: series.JSON, Bisection: bisection.JSON,
		},
		{
			Name: "markdown", Extension: ".md", Kept: true, Warns: true,
			Document: Markdown, Comparison: drawn(markdown.Write), History: series.Markdown, Bisection: bisection.Markdown,
		},
		{
			Name: "text", Extension: ".txt", Kept: true, Warns: true,
			Document: Text, Comparison: drawn(text.Write), History: series.Text, Bisection: bisection.Text,
		},
		{
			Name: "html", Extension: ".html", Kept: true, Warns: true, Page: true,
			Document: HTML, Comparison: compareHTML, History: series.HTML, Bisection: bisection.HTML,
		},
		{Name: "svg", Extension: ".svg", Base: "forest", Document: SVG},
		{Name: "junit", Extension: ".junit.xml", Document: JUnit},
		{Name: "csv", Extension: ".csv", Document: CSV, Comparison: compareCSV},
		{Name: "latex", Extension: ".tex", Document: LaTeX, Comparison: drawn(latex.Write)},
		{Name: "curves", Extension: ".csv", Base: "curves", Document: CurvesCSV, Comparison: compareCurves},
		{Name: "openmetrics", Extension: ".txt", Base: "metrics", Document: OpenMetrics},
		{Name: "pytorch-hud", Extension: ".json", Base: "pytorch-hud", Document: PyTorchHUD},
	}
}

// Lookup returns the format with the given name.
func (fs Formats) Lookup(name string) (Format, bool) {
	i := slices.IndexFunc(fs, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return fs[i], true
}

// Names returns the names of the formats, in the order of the table.
func (fs Formats) Names() []string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.Name
	}
	return names
}

// Kept returns the formats written into every run directory.
func (fs Formats) Kept() Formats { return fs.filter(func(f Format) bool { return f.Kept }) }

// OfDocuments returns the formats for documents.
func (fs Formats) OfDocuments() Formats {
	return fs.filter(func(f Format) bool { return f.Document != nil })
}

// OfComparisons returns the formats for comparisons.
func (fs Formats) OfComparisons() Formats {
	return fs.filter(func(f Format) bool { return f.Comparison != nil })
}

// OfResults returns the formats for documents, comparisons or both.
func (fs Formats) OfResults() Formats {
	return fs.filter(func(f Format) bool { return f.Document != nil || f.Comparison != nil })
}

// OfHistories returns the formats for histories.
func (fs Formats) OfHistories() Formats {
	return fs.filter(func(f Format) bool { return f.History != nil })
}

// OfBisections returns the formats for bisections.
func (fs Formats) OfBisections() Formats {
	return fs.filter(func(f Format) bool { return f.Bisection != nil })
}

func (fs Formats) filter(keep func(Format) bool) Formats {
	return slices.DeleteFunc(slices.Clone(fs), func(f Format) bool { return !keep(f) })
}
