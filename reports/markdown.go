package reports

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// The bounds of untrusted text in one place of a report, in runes.
const (
	maxCell = 160  // a table cell
	maxLine = 600  // a span of a line of prose
	maxLog  = 400  // a line of a log
	maxList = 2000 // lines of notes in one section
)

// Markdown writes doc as GitHub-flavoured markdown. With Options.Budget it leaves out
// whole rows and sections until the text fits (see fit for the order); it is an error if
// not even heading and lead fit.
func Markdown(w io.Writer, doc *result.Document, o Options) error {
	text, err := fit(Build(doc, o), o)
	if err != nil {
		return fmt.Errorf("render markdown: %w", err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write markdown: %w", err)
	}
	return nil
}

// Parts of a markdown report, for those who put something between them. Each ends with a
// line break unless it is empty.
type Parts struct {
	// Heading is the verdict.
	Heading string
	// Banner says that the run was simulated, as a line without the mark of a quotation.
	Banner string
	Lead   string
	Rest   string
}

// MarkdownParts is Markdown in parts. The budget holds for all of them together.
func MarkdownParts(doc *result.Document, o Options) (Parts, error) {
	r := Build(doc, o)
	if _, err := fit(r, o); err != nil {
		return Parts{}, fmt.Errorf("render markdown: %w", err)
	}
	p := Parts{Heading: markdownHeading(r), Lead: markdownLead(r), Rest: markdownRest(r)}
	if len(r.Banner) > 0 {
		p.Banner = inline(r.Banner, maxLine) + "\n"
	}
	return p, nil
}

// markdown draws r.
func markdown(r *Report) string {
	banner := ""
	if len(r.Banner) > 0 {
		banner = "> " + inline(r.Banner, maxLine) + "\n\n"
	}
	return banner + markdownHeading(r) + markdownLead(r) + markdownRest(r)
}

func markdownHeading(r *Report) string {
	return "### " + r.Icon.Emoji() + " " + inline(r.Heading, maxCell) + "\n"
}

func markdownLead(r *Report) string {
	var b strings.Builder
	for i, l := range r.Lead {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(guard(inline(l, maxLine)) + "\n")
	}
	return b.String()
}

func markdownRest(r *Report) string {
	var b strings.Builder
	for i := range r.Sections {
		b.WriteString("\n" + strings.TrimRight(markdownSection(&r.Sections[i]), "\n") + "\n")
	}
	markdownLegend(&b, r.Legend)
	return b.String()
}

// blockStart matches what could make a list, a heading, a quotation, a rule or a block of
// code of a line.
var blockStart = regexp.MustCompile(`^(\d+[.)]|[-+=#>~ \t])`)

// guard keeps a line that begins with text of a stranger from being anything but a
// paragraph, by an invisible character before it.
func guard(line string) string {
	if blockStart.MatchString(line) {
		return "&#8203;" + line
	}
	return line
}

func markdownSection(s *Section) string {
	b := &strings.Builder{}
	switch {
	case s.Folded:
		b.WriteString("<details><summary>" + summary(s.Title) + "</summary>\n\n")
	case len(s.Title) > 0:
		b.WriteString("#### " + inline(s.Title, maxCell) + "\n\n")
	}
	for _, n := range s.Notes[:min(len(s.Notes), maxList)] {
		b.WriteString("- " + guard(inline(n, maxLine)) + "\n")
	}
	if len(s.Notes) > 0 {
		b.WriteString("\n")
	}
	for i := range s.Tables {
		markdownTable(b, &s.Tables[i])
	}
	for _, l := range s.Logs {
		b.WriteString("<details><summary>" + summary(l.Title) + "</summary>\n\n")
		b.WriteString(escape.Fence(l.Lines, maxLog))
		b.WriteString("\n</details>\n\n")
	}
	if len(s.Omitted) > 0 {
		b.WriteString("_" + inline(s.Omitted, maxLine) + "_\n\n")
	}
	if s.Folded {
		b.WriteString("</details>\n")
	}
	return b.String()
}

func markdownTable(b *strings.Builder, t *Table) {
	if len(t.Title) > 0 {
		b.WriteString(guard(inline(t.Title, maxCell)) + "\n\n")
	}
	icons := hasIcons(t)
	if icons {
		b.WriteString("| ")
	}
	for _, c := range t.Columns {
		b.WriteString("| " + escape.Inline(c.Title, maxCell) + " ")
	}
	b.WriteString("|\n")
	if icons {
		b.WriteString("|:-:")
	}
	for _, c := range t.Columns {
		b.WriteString("|" + map[Align]string{Left: ":--", Right: "--:", Center: ":-:"}[c.Align])
	}
	b.WriteString("|\n")
	for _, r := range t.Rows {
		if icons {
			b.WriteString("| " + r.Icon.Emoji() + " ")
		}
		for _, c := range r.Cells {
			b.WriteString("| " + inline(c, maxCell) + " ")
		}
		b.WriteString("|\n")
	}
	b.WriteString("\n")
	if t.Omitted > 0 {
		b.WriteString("_+" + humanize.Count(t.Omitted, "more row") + "_\n\n")
	}
}

func hasIcons(t *Table) bool {
	for _, r := range t.Rows {
		if r.Icon != NoIcon {
			return true
		}
	}
	return false
}

// markdownLegend folds the legend, which is the same each time. Its last line, which names
// the run, stays.
func markdownLegend(b *strings.Builder, legend []Line) {
	legend = slices.DeleteFunc(slices.Clone(legend), func(l Line) bool { return len(l) == 0 })
	if n := len(legend); n > 1 {
		b.WriteString("\n<details><summary>How to read this</summary>\n\n")
		markdownSmall(b, legend[:n-1])
		b.WriteString("\n</details>\n")
		legend = legend[n-1:]
	}
	if len(legend) > 0 {
		b.WriteString("\n")
		markdownSmall(b, legend)
	}
}

func markdownSmall(b *strings.Builder, lines []Line) {
	for i, l := range lines {
		b.WriteString(map[bool]string{true: "<sub>", false: "<br>\n"}[i == 0] + inline(l, maxLine))
	}
	b.WriteString("</sub>\n")
}

// inline draws a line of markdown; each span is bounded by limit runes.
func inline(l Line, limit int) string {
	return l.draw(func(s Style, text string) string {
		switch {
		case s == Code:
			return escape.Code(text, limit)
		case s == Strong && text != "":
			return "**" + escape.Inline(text, limit) + "**"
		}
		return escape.Inline(text, limit)
	})
}

// summary draws the title of a folded part: HTML, in which markdown is not read.
func summary(l Line) string {
	return l.draw(func(s Style, text string) string {
		switch {
		case s == Code:
			return escape.CodeElement(text, maxCell)
		case s == Strong && text != "":
			return "<b>" + escape.Inline(text, maxCell) + "</b>"
		}
		return escape.Inline(text, maxCell)
	})
}
