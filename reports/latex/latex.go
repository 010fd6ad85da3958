// Package latex draws the tables of a report for a paper.
package latex

import (
	"fmt"
	"io"
	"strings"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
)

// Write writes the tables of r as tabular environments with the rules of package booktabs. The heading, the lead and
// titles become comments, so that the file can be read with \input.
func Write(w io.Writer, r *model.Report, _ model.Options) error {
	var b strings.Builder
	b.WriteString("% needs \\usepackage{booktabs} and \\usepackage{textcomp}\n")
	for _, l := range append([]model.Line{r.Banner, r.Heading}, r.Lead...) {
		comment(&b, l)
	}
	for i := range r.Sections {
		comment(&b, r.Sections[i].Title)
		for _, n := range r.Sections[i].Notes {
			comment(&b, n)
		}
		for j := range r.Sections[i].Tables {
			table(&b, &r.Sections[i].Tables[j])
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write latex: %w", err)
	}
	return nil
}

func comment(b *strings.Builder, l model.Line) {
	if len(l) > 0 {
		b.WriteString("% " + escape.Text(l.String(), model.MaxLine) + "\n")
	}
}

func table(b *strings.Builder, t *model.Table) {
	comment(b, t.Title)
	b.WriteString("\\begin{tabular}{")
	header := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		b.WriteString(map[model.Align]string{model.Left: "l", model.Right: "r", model.Center: "c"}[c.Align])
		header[i] = escape.LaTeX(c.Title, model.MaxCell)
	}
	b.WriteString("}\n\\toprule\n" + strings.Join(header, " & ") + " \\\\\n\\midrule\n")
	for _, r := range t.Rows {
		cells := make([]string, len(r.Cells))
		for i, c := range r.Cells {
			cells[i] = inline(c)
		}
		b.WriteString(strings.Join(cells, " & ") + " \\\\\n")
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	if t.Omitted > 0 {
		comment(b, model.Plain(humanize.Count(t.Omitted, "more row")))
	}
}

func inline(l model.Line) string {
	return l.Draw(func(s model.Style, text string) string {
		text = escape.LaTeX(text, model.MaxCell)
		switch {
		case s == model.Mono && text != "":
			return `\texttt{` + text + "}"
		case s == model.Strong && text != "":
			return `\textbf{` + text + "}"
		}
		return text
	})
}
