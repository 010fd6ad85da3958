package page

import (
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/forest"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
)

// functions holds the functions of the template. Those that return text have cleaned and bounded
// it; the template escapes it for its place.
var functions = template.FuncMap{
	"line":    func(l model.Line) model.Line { return spans(l, model.MaxLine) },
	"cell":    func(l model.Line) model.Line { return spans(l, model.MaxCell) },
	"clean":   func(s string) string { return clean(s, model.MaxCell) },
	"prose":   func(s string) string { return clean(s, model.MaxLine) },
	"short":   short,
	"mono":    func(s model.Span) bool { return s.Style == model.Mono },
	"strong":  func(s model.Span) bool { return s.Style == model.Strong },
	"color":   model.Icon.Class,
	"columns": columns,
	"class":   class,
	"omitted": omitted,
	"log":     log,
	"mark": func(s forest.Scale, r forest.Row) template.HTML {
		return template.HTML(s.SVG(r)) //nolint:gosec // numbers and our own classes
	},
	"axis": func(s forest.Scale) template.HTML {
		return template.HTML(s.Axis()) //nolint:gosec // numbers and our own words
	},
	"worse": func(r forest.Row) string {
		if math.IsNaN(r.Value) {
			return "1e9" // not compared: before all others
		}
		return strconv.FormatFloat(r.Value, 'g', 4, 64)
	},
	"draw": func(c model.Chart) template.HTML {
		return template.HTML(c.SVG()) //nolint:gosec // made by package svg, which escapes all text
	},
}

// clean returns text from outside on one line, without control and bidirectional characters.
// A percent sign stays with its number.
func clean(s string, limit int) string {
	return strings.ReplaceAll(escape.Text(s, limit), " %", "\u00a0%")
}

// spans cleans a line; each span is bounded by limit runes.
func spans(l model.Line, limit int) model.Line {
	out := make(model.Line, 0, len(l))
	for i, s := range l {
		text := clean(s.Text, limit)
		// Cleaning trims the edges of a text; within a line they are its words' distance.
		if i > 0 && strings.HasPrefix(s.Text, " ") {
			text = " " + text
		}
		if i < len(l)-1 && strings.HasSuffix(s.Text, " ") && strings.TrimSpace(text) != "" {
			text += " "
		}
		if text != "" {
			out = append(out, model.Span{Text: text, Style: s.Style})
		}
	}
	return out
}

// short returns a title for the contents, without the part in parentheses.
func short(title model.Line) string {
	text, _, _ := strings.Cut(title.String(), " (")
	return clean(text, model.MaxCell)
}

// maxColumns bounds a table's columns.
const maxColumns = 24

// columns returns the columns that a page draws.
func columns(t model.Table) []model.Column { return t.Columns[:min(len(t.Columns), maxColumns)] }

// class returns the classes of a column in the style sheet.
func class(c model.Column) string {
	class := map[model.Align]string{model.Right: "num", model.Center: "mid"}[c.Align]
	if c.Aside {
		class = strings.TrimSpace(class + " aside")
	}
	return class
}

// omitted returns how many rows and columns of a table a page leaves out.
func omitted(t model.Table) string {
	var parts []string
	if t.Omitted > 0 {
		parts = append(parts, humanize.Count(t.Omitted, "more row"))
	}
	if n := len(t.Columns) - maxColumns; n > 0 {
		parts = append(parts, humanize.Count(n, "more column"))
	}
	return strings.Join(parts, ", ")
}

// log returns the text of a log.
func log(l model.Log) string {
	text := make([]string, len(l.Lines))
	for i, line := range l.Lines {
		text[i] = escape.Line(line, model.MaxLog)
	}
	return strings.Join(text, "\n")
}
