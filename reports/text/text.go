// Package text draws a report for a terminal.
package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/term"
)

func width(o model.Options) int {
	if o.Width <= 0 {
		return 120
	}
	return max(o.Width, 60)
}

// Write draws r for a terminal: aligned columns that fit the width, symbols with words. The
// text may be printed into the log of a GitHub runner, so nothing in it is a command there.
func Write(w io.Writer, r *model.Report, o model.Options) error {
	p := &printer{o: o}
	p.report(r)
	if _, err := io.WriteString(w, escape.Commands(p.b.String())); err != nil {
		return fmt.Errorf("write text: %w", err)
	}
	return nil
}

// printer draws a report as text.
type printer struct {
	o model.Options
	b strings.Builder
}

// ANSI colours.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

// colors holds the colour of each class of icons.
var colors = map[string]string{"bad": red, "warn": yellow, "good": green}

func (p *printer) paint(color, s string) string {
	if !p.o.Color || color == "" || s == "" {
		return s
	}
	return color + s + reset
}

func (p *printer) report(r *model.Report) {
	if len(r.Banner) > 0 {
		p.paragraph("", Line(r.Banner, model.MaxLine), "")
		p.b.WriteString("\n")
	}
	p.b.WriteString(p.paint(colors[r.Icon.Class()], r.Icon.Symbol()) + " " + p.paint(bold, Line(r.Heading, model.MaxCell)) + "\n")
	for _, l := range r.Lead {
		p.paragraph("", Line(l, model.MaxLine), "")
	}
	for i := range r.Sections {
		switch s := &r.Sections[i]; {
		case !p.o.Brief || !s.Folded:
			p.section(s)
		case s.Brief:
			p.section(firstNotes(s))
		}
	}
	if p.o.Brief {
		return
	}
	p.b.WriteString("\n")
	for _, l := range r.Legend {
		if len(l) > 0 {
			p.paragraph("", Line(l, model.MaxLine), "  ")
		}
	}
}

// forestRows is about how many rows of a forest plot are drawn.
const forestRows = 40

// fewNotes is how many notes a brief report shows of a section that is too long for it.
const fewNotes = 5

// firstNotes returns a section with its first notes, and how many more there are.
func firstNotes(s *model.Section) *model.Section {
	short := *s
	short.Notes = s.Notes[:min(fewNotes, len(s.Notes))]
	if more := len(s.Notes) - len(short.Notes); more > 0 {
		short.Omitted = []model.Line{model.Plain(fmt.Sprintf("and %d more: `pipeline report RUN` shows all", more))}
	}
	return &short
}

func (p *printer) section(s *model.Section) {
	p.b.WriteString("\n")
	if len(s.Title) > 0 {
		p.b.WriteString(p.paint(bold, Line(s.Title, model.MaxCell)) + "\n")
	}
	for _, n := range s.Notes {
		p.paragraph("- ", Line(n, model.MaxLine), "  ")
	}
	for i := range s.Tables {
		if i > 0 || len(s.Notes) > 0 {
			p.b.WriteString("\n")
		}
		p.table(&s.Tables[i])
	}
	if s.Forest != nil {
		for _, line := range s.Forest.Text(width(p.o), forestRows) {
			p.b.WriteString(line + "\n")
		}
	}
	for _, l := range s.Logs {
		p.b.WriteString("\n" + Line(l.Title, model.MaxCell) + "\n")
		for _, line := range l.Lines {
			p.b.WriteString("  │ " + escape.Line(line, model.MaxLog) + "\n")
		}
	}
	for _, l := range s.Omitted {
		p.paragraph("", Line(l, model.MaxLine), "")
	}
}

// paragraph wraps s at words; first stands before its first line, rest before others.
func (p *printer) paragraph(first, s, rest string) {
	prefix := first
	for _, line := range term.Fold(s, width(p.o)-term.Width(rest)) {
		p.b.WriteString(prefix + line + "\n")
		prefix = rest
	}
}

// Line is a line without markup, fit for a terminal; each span is bounded by limit.
func Line(l model.Line, limit int) string {
	return l.Draw(func(_ model.Style, text string) string { return escape.Text(text, limit) })
}
