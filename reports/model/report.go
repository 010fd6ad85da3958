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
	Kind  Kind
	Title Line
	// Folded sections are closed until the reader opens them.
	Folded bool
	Notes  []Line
	Tables []Table
	Logs   []Log
	// Omitted says what was left out of the section.
	Omitted Line
}

// Kind of a section. Size budgets drop sections by kind.
type Kind string

// The kinds of sections, in the order of a report.
const (
	Findings    Kind = "findings"      // regressions and what could not be decided
	MoreFound   Kind = "more findings" // folded, where there are many
	Profile     Kind = "profile"       // of the clearest regression
	Failures    Kind = "failures"      // servers and steps that failed
	Warnings    Kind = "warnings"
	Passes      Kind = "passes"
	Gates       Kind = "gates"
	Objectives  Kind = "objectives" // limits that searches kept
	Measured    Kind = "measured"
	Questions   Kind = "questions"  // that the head of an evaluation loses
	Answers     Kind = "answers"    // where those of both sides part
	Transports  Kind = "transports" // how KV cache moved
	Client      Kind = "client"
	Environment Kind = "environment"
)

// Table is rows of cells under columns.
type Table struct {
	Title   Line
	Columns []Column
	Rows    []Row
	// Omitted is the number of rows that were left out at the end.
	Omitted int
}

// HasIcons reports whether a row of the table has an icon.
func (t *Table) HasIcons() bool {
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
