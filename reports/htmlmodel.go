package reports

import (
	"html/template"
	"strings"

	"github.com/servegate/pipeline/reports/model"

	"github.com/servegate/pipeline/reports/humanize"

	"github.com/servegate/pipeline/reports/escape"
)

// The page's model: a report with every text cleaned and bounded. The template escapes
// it for its place; only charts (see drawing), the style and the script are markup.

// htmlLine is a line of mixed style.
type htmlLine []htmlSpan

type htmlSpan struct {
	Text         string
	Strong, Code bool
}

// htmlIcon is a sign with its colour. The word is for those who do not see the sign.
type htmlIcon struct{ Symbol, Class string }

type htmlSection struct {
	ID       string
	Title    htmlLine
	Plain    string // title for the contents
	Folded   bool
	Notes    []htmlLine
	Tables   []htmlTable
	Logs     []htmlLog
	Charts   []template.HTML
	Wide     bool // charts have their natural size
	Pairs    []pairView
	Trends   []trendView
	Omitted  []htmlLine
	Controls bool // buttons that open and close its parts
}

type htmlTable struct {
	Title   htmlLine
	Columns []htmlColumn
	Icons   bool
	Rows    []htmlRow
	Omitted string
}

type htmlColumn struct{ Title, Class string }

type htmlRow struct {
	Icon   htmlIcon
	Anchor string
	Cells  []htmlCell
}

type htmlCell struct {
	Line   htmlLine
	Class  string
	Head   bool   // names the row
	Anchor string // leads to more
}

type htmlLog struct {
	Title htmlLine
	Text  string
}

// clean is text of a stranger on one line, without control and bidirectional characters.
// A percent sign stays with its number.
func clean(s string, limit int) string {
	return strings.ReplaceAll(escape.Text(s, limit), " %", "\u00a0%")
}

// spans cleans a line; each span is bounded by limit runes.
func spans(l model.Line, limit int) htmlLine {
	out := make(htmlLine, 0, len(l))
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
			out = append(out, htmlSpan{text, s.Style == model.Strong, s.Style == model.Mono})
		}
	}
	return out
}

func lines(ls []model.Line) []htmlLine {
	var out []htmlLine
	for _, l := range ls {
		if len(l) > 0 {
			out = append(out, spans(l, model.MaxLine))
		}
	}
	return out
}

// iconClasses are the colours of icons.
var iconClasses = map[model.Icon]string{
	model.IconRegression: "bad", model.IconInvalid: "bad", model.IconInfrastructure: "bad",
	model.IconWarning: "warn", model.IconInconclusive: "warn", model.IconInterrupted: "warn",
	model.IconPass: "good", model.IconImprovement: "good",
}

func iconView(i model.Icon) htmlIcon { return htmlIcon{i.Symbol(), iconClasses[i]} }

// maxColumns bounds a table's columns.
const maxColumns = 24

// htmlTableOf draws a table with at most so many rows.
func htmlTableOf(t model.Table, rows int) htmlTable {
	out := htmlTable{Title: spans(t.Title, model.MaxLine), Icons: t.HasIcons()}
	columns := t.Columns[:min(len(t.Columns), maxColumns)]
	for _, c := range columns {
		out.Columns = append(out.Columns, htmlColumn{clean(c.Title, model.MaxCell), columnClass(c)})
	}
	shown := t.Rows[:min(len(t.Rows), rows)]
	for _, r := range shown {
		out.Rows = append(out.Rows, htmlRowOf(r, columns))
	}
	var omitted []string
	if n := len(t.Rows) - len(shown) + t.Omitted; n > 0 {
		omitted = append(omitted, humanize.Count(n, "more row"))
	}
	if n := len(t.Columns) - len(columns); n > 0 {
		omitted = append(omitted, humanize.Count(n, "more column"))
	}
	out.Omitted = strings.Join(omitted, ", ")
	return out
}

func htmlRowOf(r model.Row, columns []model.Column) htmlRow {
	row := htmlRow{Icon: iconView(r.Icon)}
	for i, c := range r.Cells[:min(len(r.Cells), len(columns))] {
		cell := htmlCell{Line: spans(c, model.MaxCell), Class: columnClass(columns[i]), Head: i == 0}
		if i == 0 {
			cell.Anchor = r.Anchor
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// columnClass is what the style sheet knows a column by.
func columnClass(c model.Column) string {
	class := alignClass(c.Align)
	if c.Aside {
		class = strings.TrimSpace(class + " aside")
	}
	return class
}

func alignClass(a model.Align) string {
	return map[model.Align]string{model.Right: "num", model.Center: "mid"}[a]
}
