// Package model represents a report independently of its format: headings, notes, tables and logs as plain data. All
// text in it is raw and possibly hostile; renderers must escape it.
package model

import (
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/forest"
)

// Report is a report on a result document, a comparison or a history.
type Report struct {
	// Banner comes first and states that the run was simulated.
	Banner Line
	// Icon and Heading state the verdict, like the subject of a mail.
	Icon    Icon
	Heading Line
	// Lead is a few lines: the worst findings, the compared sides and the machine.
	Lead     []Line
	Sections []Section
	// Legend explains the table.
	Legend []Line
	// Links lead to other pages of the same site; only pages show them.
	Links []Link
}

// Link leads to another page of the same site, by its relative address.
type Link struct{ Text, Page string }

// Section is a titled part of a report.
type Section struct {
	// ID is the section's anchor on a page, and replaces a missing title.
	ID    string
	Title Line
	// Folded sections are closed until the reader opens them.
	Folded bool
	// Brief sections appear in a brief text with their first notes, even if they are folded.
	Brief  bool
	Weight Weight
	Notes  []Line
	Tables []Table
	Logs   []Log
	// Forest is a plot that every format draws in its own way.
	Forest *forest.Plot
	// Omitted describes what was left out of the section.
	Omitted []Line

	// Only pages draw charts and parts.
	Charts []Chart
	// Wide charts keep their natural size, and the reader scrolls them.
	Wide  bool
	Parts []Part
	// Grid puts the parts side by side.
	Grid bool
	// Controls adds buttons that open and close all parts.
	Controls bool
}

// Weight sets the order in which sections lose their bodies when a report must shrink. Details go first. Sections
// that need attention go last, after the rows of all tables were reduced.
type Weight int

// The weights of sections.
const (
	Detail Weight = iota
	Outcome
	Attention
)

// Chart is a drawing; package svg implements charts.
type Chart interface{ SVG() string }

// Part is a collapsible part of a section or of another part on a page. A part without an ID has either tables or
// arithmetic folded under its title, or charts below it.
type Part struct {
	ID             string
	Icon           Icon
	Title, Summary Line
	Open           bool
	// Reason appears above the charts, Notes beside them, and Footnotes below everything else.
	Reason Line
	Notes  []Line
	Charts []Chart
	Tables []Table
	Sums   []Sum
	Parts  []Part

	Footnotes []Line
}

// Sum is one line of arithmetic.
type Sum struct{ Symbol, Meaning, Value string }

// Table has rows of cells under columns.
type Table struct {
	Title   Line
	Columns []Column
	Rows    []Row
	// Omitted is the number of rows left out at the end.
	Omitted int
}

// Add adds a row.
func (t *Table) Add(cells ...Line) { t.Rows = append(t.Rows, Row{Cells: cells}) }

// First returns a table with its first n rows.
func (t Table) First(n int) Table {
	if more := len(t.Rows) - n; more > 0 {
		t.Omitted += more
		t.Rows = t.Rows[:n]
	}
	return t
}

// HasIcons reports whether a row of the table has an icon.
func (t Table) HasIcons() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Icon != NoIcon })
}

// Column is a column of a table.
type Column struct {
	Title string
	Align Align
	// Wrap allows the text renderer to break the column's cells into lines.
	Wrap bool
	// Aside hides the column on narrow screens, so that the important columns fit.
	Aside bool
}

// Row has one cell for each column, and the icon of its verdict.
type Row struct {
	Icon  Icon
	Cells []Line
	// Anchor is the ID of the place on the same page with details, and Page the relative address of another page with
	// them, for HTML.
	Anchor string
	Page   string
}

// Log is the end of a log.
type Log struct {
	Title Line
	Lines []string
}

// Align is the alignment of a column.
type Align int

// The alignments.
const (
	Left Align = iota
	Right
	Center
)

// Line is text of mixed style without line breaks.
type Line []Span

// Span is text of one style.
type Span struct {
	Text  string
	Style Style
}

// Style is the style of a span.
type Style int

// The styles.
const (
	Regular Style = iota
	Strong
	Mono // names and values, shown verbatim
)

// Plain returns a line of unmarked text.
func Plain(s string) Line { return Line{{Text: s}} }

// Code returns a line with a name or a value.
func Code(s string) Line { return Line{{Text: s, Style: Mono}} }

// Join concatenates the lines that are not empty, with a separator between them.
func Join(sep string, lines ...Line) Line {
	var out Line
	for _, l := range lines {
		if len(l) == 0 {
			continue
		}
		if len(out) > 0 && sep != "" {
			out = append(out, Span{Text: sep})
		}
		out = append(out, l...)
	}
	return out
}

// String returns the text without styles, not escaped.
func (l Line) String() string {
	var b strings.Builder
	for _, span := range l {
		b.WriteString(span.Text)
	}
	return b.String()
}

// Draw concatenates the escaped spans. It keeps the spaces between spans, which escaping would trim.
func (l Line) Draw(escape func(s Style, text string) string) string {
	var b strings.Builder
	for i, s := range l {
		body := strings.TrimSpace(s.Text)
		if i > 0 && strings.HasPrefix(s.Text, " ") {
			b.WriteByte(' ')
		}
		b.WriteString(escape(s.Style, body))
		if i < len(l)-1 && body != "" && strings.HasSuffix(s.Text, " ") {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// ShortAddr returns an address without its block type: "prefill" for benchmark.prefill.
func ShortAddr(addr string) string {
	_, name, ok := strings.Cut(addr, ".")
	if !ok {
		return addr
	}
	return name
}
