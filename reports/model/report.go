// Package model is a report before any format: headings, notes, tables and logs as plain
// data. All text in it is raw and possibly hostile; what renders it escapes it.
package model

import (
	"slices"
	"strings"
)

// Report is what is said of a result document, a comparison or a history.
type Report struct {
	// Banner comes before everything else: the run was simulated.
	Banner Line
	// Icon and Heading are the verdict, the subject of a mail.
	Icon    Icon
	Heading Line
	// Lead is a few lines: the worst findings, what was compared on what.
	Lead     []Line
	Sections []Section
	// Legend explains the table.
	Legend []Line
}

// Section is a titled part of a report.
type Section struct {
	// ID is the section's address on a page, and stands for a title that it lacks.
	ID    string
	Title Line
	// Folded sections are closed until the reader opens them.
	Folded bool
	// Brief sections are part of a brief text although they are folded, with their first notes.
	Brief  bool
	Weight Weight
	Notes  []Line
	Tables []Table
	Logs   []Log
	// Omitted says what was left out of the section.
	Omitted []Line

	// Only pages draw charts and parts.
	Charts []Chart
	// Wide charts keep their natural size, and the reader scrolls them.
	Wide  bool
	Parts []Part
	// Grid puts the parts side by side.
	Grid bool
	// Controls are buttons that open and close all parts.
	Controls bool
}

// Weight says when a report that must get shorter loses the body of a section: those with details
// first, and those that need attention after the rows of all tables have got fewer.
type Weight int

// The weights of sections.
const (
	Detail Weight = iota
	Outcome
	Attention
)

// Chart is a drawing; package svg has them.
type Chart interface{ SVG() string }

// Part is a part of a section, or of another part, that pages open and close. Parts without an ID
// are either tables or arithmetic behind their title, or charts below it.
type Part struct {
	ID             string
	Icon           Icon
	Title, Summary Line
	Open           bool
	// Reason stands above the charts, Notes beside them, and Footnotes below everything else.
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

// Table is rows of cells under columns.
type Table struct {
	Title   Line
	Columns []Column
	Rows    []Row
	// Omitted is the number of rows that were left out at the end.
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

// Column of a table.
type Column struct {
	Title string
	Align Align
	// Wrap allows the text renderer to break the column's cells into lines.
	Wrap bool
	// Aside leaves the column out on the page of a phone, where it would push the ones that
	// matter most off the screen.
	Aside bool
}

// Row has one cell for each column, and the icon of its verdict.
type Row struct {
	Icon  Icon
	Cells []Line
	// Anchor is the id of the place in the same page that says more, for HTML.
	Anchor string
}

// Log is the end of a log.
type Log struct {
	Title Line
	Lines []string
}

// Align of a column.
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

// Style of a span.
type Style int

// The styles.
const (
	Regular Style = iota
	Strong
	Mono // names and values, shown verbatim
)

// Plain is a line of unmarked text.
func Plain(s string) Line { return Line{{Text: s}} }

// Code is a line with a name or a value.
func Code(s string) Line { return Line{{Text: s, Style: Mono}} }

// Join concatenates lines with a separator between those that are not empty.
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

// String is the text without styles, not escaped.
func (l Line) String() string {
	var b strings.Builder
	for _, span := range l {
		b.WriteString(span.Text)
	}
	return b.String()
}

// Draw puts the spans together. Escaping trims what it takes for the edge of a text;
// within a line it is the place between two spans, and stays.
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

// ShortAddr is an address without the name of its block: "prefill" of benchmark.prefill.
func ShortAddr(addr string) string {
	_, name, ok := strings.Cut(addr, ".")
	if !ok {
		return addr
	}
	return name
}
