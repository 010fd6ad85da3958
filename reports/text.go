package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/term"
)

// Text writes doc for a terminal: aligned columns that fit Options.Width (120), symbols
// with words, colours only with Options.Color.
func Text(w io.Writer, doc *result.Document, o Options) error {
	p := &textPrinter{o: o}
	p.report(Build(doc, o))
	return p.writeTo(w)
}

// textPrinter draws a report as text.
type textPrinter struct {
	o Options
	b strings.Builder
}

// writeTo writes what was drawn. A text may be printed into the log of a GitHub runner,
// so nothing in it may be a command there.
func (p *textPrinter) writeTo(w io.Writer) error {
	if _, err := io.WriteString(w, escape.Commands(p.b.String())); err != nil {
		return fmt.Errorf("write text: %w", err)
	}
	return nil
}

// ANSI colours.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

func (p *textPrinter) paint(color, s string) string {
	if !p.o.Color || color == "" || s == "" {
		return s
	}
	return color + s + reset
}

func (p *textPrinter) report(r *Report) {
	if len(r.Banner) > 0 {
		p.paragraph("", r.Banner.text(maxLine), "")
		p.b.WriteString("\n")
	}
	p.b.WriteString(p.paint(icons[r.Icon].color, r.Icon.Symbol()) + " " + p.paint(bold, r.Heading.text(maxCell)) + "\n")
	for _, l := range r.Lead {
		p.paragraph("", l.text(maxLine), "")
	}
	for i := range r.Sections {
		if !p.o.Brief || brief(&r.Sections[i]) {
			p.section(&r.Sections[i])
		}
	}
	if p.o.Brief {
		return
	}
	p.b.WriteString("\n")
	for _, l := range r.Legend {
		if len(l) > 0 {
			p.paragraph("", l.text(maxLine), "  ")
		}
	}
}

// brief says whether a section is part of a brief report: what was decided and measured,
// and everything that asks for attention.
func brief(s *Section) bool {
	return !s.Folded || s.Kind == Passes || s.Kind == Measured
}

func (p *textPrinter) section(s *Section) {
	p.b.WriteString("\n")
	if len(s.Title) > 0 {
		p.b.WriteString(p.paint(bold, s.Title.text(maxCell)) + "\n")
	}
	for _, n := range s.Notes {
		p.paragraph("- ", n.text(maxLine), "  ")
	}
	for i := range s.Tables {
		if i > 0 || len(s.Notes) > 0 {
			p.b.WriteString("\n")
		}
		p.table(&s.Tables[i])
	}
	for _, l := range s.Logs {
		p.b.WriteString("\n" + l.Title.text(maxCell) + "\n")
		for _, line := range l.Lines {
			p.b.WriteString("  │ " + escape.Line(line, maxLog) + "\n")
		}
	}
	if len(s.Omitted) > 0 {
		p.paragraph("", s.Omitted.text(maxLine), "")
	}
}

// paragraph wraps s at words; first stands before its first line, rest before others.
func (p *textPrinter) paragraph(first, s, rest string) {
	prefix := first
	for _, line := range term.Fold(s, p.o.width()-term.Width(rest)) {
		p.b.WriteString(prefix + line + "\n")
		prefix = rest
	}
}

// text is the line without markup, fit for a terminal; each span is bounded by limit.
func (l Line) text(limit int) string {
	return l.draw(func(_ Style, text string) string { return escape.Text(text, limit) })
}
