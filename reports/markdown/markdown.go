// Package markdown draws a report as GitHub-flavoured markdown, within a budget of bytes.
package markdown

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
)

// SummaryBudget is the size that a step summary is held to. GitHub drops one beyond
// 1 MiB altogether, it does not cut it.
const SummaryBudget = 900 << 10

// Parts of a report, for those who put something between them. Each ends with a line
// break unless it is empty.
type Parts struct {
	// Heading is the verdict.
	Heading string
	// Banner marks a simulated run, as a line without the mark of a quotation.
	Banner string
	Lead   string
	Rest   string
}

// Render draws r within a budget: whole rows and sections are left out, in this order, each
// only if the text is still too long: the ends of logs, the environment, the measured values
// and the load generator's notes, the passes, the rows of every table beyond 50, then ever
// more rows, and in the end everything but heading, lead and what was left out. It is an
// error if not even heading and lead fit. What is left out is left out of r.
func Render(r *model.Report, o model.Options) (string, error) {
	text := render(r)
	if o.Budget <= 0 {
		return text, nil
	}
	for _, drop := range reductions(r, o.Source()) {
		if len(text) <= o.Budget {
			return text, nil
		}
		drop(r)
		text = render(r)
	}
	if len(text) > o.Budget {
		return "", fmt.Errorf("%d bytes are needed for heading and lead, the budget is %d: raise it", len(text), o.Budget)
	}
	return text, nil
}

// Write writes what Render draws.
func Write(w io.Writer, r *model.Report, o model.Options) error {
	text, err := Render(r, o)
	if err != nil {
		return fmt.Errorf("render markdown: %w", err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write markdown: %w", err)
	}
	return nil
}

// RenderParts is Render in parts. The budget holds for all of them together.
func RenderParts(r *model.Report, o model.Options) (Parts, error) {
	if _, err := Render(r, o); err != nil {
		return Parts{}, fmt.Errorf("render markdown: %w", err)
	}
	p := Parts{Heading: heading(r), Lead: lead(r), Rest: rest(r)}
	if o.Comment {
		p.Heading, p.Lead, p.Rest = bound(p.Heading), bound(p.Lead), bound(p.Rest)
	}
	if len(r.Banner) > 0 {
		p.Banner = Line(r.Banner) + "\n"
	}
	return p, nil
}

// Line draws a line within a paragraph.
func Line(l model.Line) string { return inline(l, model.MaxLine) }

// render draws r.
func render(r *model.Report) string {
	banner := ""
	if len(r.Banner) > 0 {
		banner = "> " + inline(r.Banner, model.MaxLine) + "\n\n"
	}
	return banner + heading(r) + lead(r) + rest(r)
}

func heading(r *model.Report) string {
	return "### " + r.Icon.Emoji() + " " + inline(r.Heading, model.MaxCell) + "\n"
}

func lead(r *model.Report) string {
	var b strings.Builder
	for i, l := range r.Lead {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(guard(inline(l, model.MaxLine)) + "\n")
	}
	return b.String()
}

func rest(r *model.Report) string {
	var b strings.Builder
	for i := range r.Sections {
		b.WriteString("\n" + strings.TrimRight(section(&r.Sections[i]), "\n") + "\n")
	}
	legend(&b, r.Legend)
	return b.String()
}

// blockStart matches what could make a list, a heading, a quotation, a rule or a block of
// code of a line.
var blockStart = lazyregexp.New(`^(\d+[.)]|[-+=#>~ \t])`)

// guard keeps a line that begins with untrusted text from being anything but a
// paragraph, by an invisible character before it.
func guard(line string) string {
	if blockStart.MatchString(line) {
		return "&#8203;" + line
	}
	return line
}

// The size of a forest plot in columns and about in rows.
const forestWidth, forestRows = 84, 100

func section(s *model.Section) string {
	b := &strings.Builder{}
	switch {
	case s.Folded:
		b.WriteString("<details><summary>" + summary(s.Title) + "</summary>\n\n")
	case len(s.Title) > 0:
		b.WriteString("#### " + inline(s.Title, model.MaxCell) + "\n\n")
	}
	for _, n := range s.Notes[:min(len(s.Notes), model.MaxNotes)] {
		b.WriteString("- " + guard(inline(n, model.MaxLine)) + "\n")
	}
	if len(s.Notes) > 0 {
		b.WriteString("\n")
	}
	for i := range s.Tables {
		table(b, &s.Tables[i])
	}
	if s.Forest != nil {
		b.WriteString(escape.Fence(s.Forest.Text(forestWidth, forestRows), model.MaxLog) + "\n")
	}
	for _, l := range s.Logs {
		b.WriteString("<details><summary>" + summary(l.Title) + "</summary>\n\n")
		b.WriteString(escape.Fence(l.Lines, model.MaxLog))
		b.WriteString("\n</details>\n\n")
	}
	for _, l := range s.Omitted {
		b.WriteString("_" + inline(l, model.MaxLine) + "_\n\n")
	}
	if s.Folded {
		b.WriteString("</details>\n")
	}
	return b.String()
}

func table(b *strings.Builder, t *model.Table) {
	if len(t.Title) > 0 {
		b.WriteString(guard(inline(t.Title, model.MaxCell)) + "\n\n")
	}
	icons := t.HasIcons()
	if icons {
		b.WriteString("| ")
	}
	for _, c := range t.Columns {
		b.WriteString("| " + escape.Inline(c.Title, model.MaxCell) + " ")
	}
	b.WriteString("|\n")
	if icons {
		b.WriteString("|:-:")
	}
	for _, c := range t.Columns {
		b.WriteString("|" + map[model.Align]string{model.Left: ":--", model.Right: "--:", model.Center: ":-:"}[c.Align])
	}
	b.WriteString("|\n")
	for _, r := range t.Rows {
		if icons {
			b.WriteString("| " + r.Icon.Emoji() + " ")
		}
		for _, c := range r.Cells {
			b.WriteString("| " + inline(c, model.MaxCell) + " ")
		}
		b.WriteString("|\n")
	}
	b.WriteString("\n")
	if t.Omitted > 0 {
		b.WriteString("_+" + humanize.Count(t.Omitted, "more row") + "_\n\n")
	}
}

// legend folds the legend, which is the same each time. Its last line, which names
// the run, stays.
func legend(b *strings.Builder, lines []model.Line) {
	lines = slices.DeleteFunc(slices.Clone(lines), func(l model.Line) bool { return len(l) == 0 })
	if n := len(lines); n > 1 {
		b.WriteString("\n<details><summary>How to read this</summary>\n\n")
		small(b, lines[:n-1])
		b.WriteString("\n</details>\n")
		lines = lines[n-1:]
	}
	if len(lines) > 0 {
		b.WriteString("\n")
		small(b, lines)
	}
}

func small(b *strings.Builder, lines []model.Line) {
	for i, l := range lines {
		b.WriteString(map[bool]string{true: "<sub>", false: "<br>\n"}[i == 0] + inline(l, model.MaxLine))
	}
	b.WriteString("</sub>\n")
}

// inline draws a line of markdown; each span is bounded by limit runes.
func inline(l model.Line, limit int) string {
	return l.Draw(func(s model.Style, text string) string {
		switch {
		case s == model.Mono:
			return escape.Code(text, limit)
		case s == model.Strong && text != "":
			return "**" + escape.Inline(text, limit) + "**"
		}
		return escape.Inline(text, limit)
	})
}

// summary draws the title of a folded part: HTML, in which markdown is not read.
func summary(l model.Line) string {
	return l.Draw(func(s model.Style, text string) string {
		switch {
		case s == model.Mono:
			return escape.CodeElement(text, model.MaxCell)
		case s == model.Strong && text != "":
			return "<b>" + escape.Inline(text, model.MaxCell) + "</b>"
		}
		return escape.Inline(text, model.MaxCell)
	})
}
