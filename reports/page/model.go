package page

import (
	"html/template"
	"strings"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
)

// The page's model: a report with every text cleaned and bounded. The template escapes
// it for its place; only charts (see Chart), the style and the script are markup.

// Line is a line of mixed style.
type Line []Span

// Span is text of one style.
type Span struct {
	Text         string
	Strong, Code bool
}

// Icon is a sign with its colour. The word is for those who do not see the sign.
type Icon struct{ Symbol, Class string }

// Section is a titled part of a page.
type Section struct {
	ID       string
	Title    Line
	Plain    string // title for the contents
	Folded   bool
	Notes    []Line
	Tables   []Table
	Logs     []Log
	Charts   []template.HTML
	Wide     bool // charts have their natural size
	Pairs    []Comparison
	Trends   []Trend
	Omitted  []Line
	Controls bool // buttons that open and close its parts
}

// Table is rows of cells under columns.
type Table struct {
	Title   Line
	Columns []Column
	Icons   bool
	Rows    []Row
	Omitted string
}

// Column of a table, with what the style sheet knows it by.
type Column struct{ Title, Class string }

// Row of a table.
type Row struct {
	Icon   Icon
	Anchor string
	Cells  []Cell
}

// Cell of a row.
type Cell struct {
	Line   Line
	Class  string
	Head   bool   // names the row
	Anchor string // leads to more
}

// Log is the end of a log.
type Log struct {
	Title Line
	Text  string
}

// Clean is text of a stranger on one line, without control and bidirectional characters.
// A percent sign stays with its number.
func Clean(s string, limit int) string {
	return strings.ReplaceAll(escape.Text(s, limit), " %", "\u00a0%")
}

// Spans cleans a line; each span is bounded by limit runes.
func Spans(l model.Line, limit int) Line {
	out := make(Line, 0, len(l))
	for i, s := range l {
		text := Clean(s.Text, limit)
		// Cleaning trims the edges of a text; within a line they are its words' distance.
		if i > 0 && strings.HasPrefix(s.Text, " ") {
			text = " " + text
		}
		if i < len(l)-1 && strings.HasSuffix(s.Text, " ") && strings.TrimSpace(text) != "" {
			text += " "
		}
		if text != "" {
			out = append(out, Span{text, s.Style == model.Strong, s.Style == model.Mono})
		}
	}
	return out
}

func Lines(ls []model.Line) []Line {
	var out []Line
	for _, l := range ls {
		if len(l) > 0 {
			out = append(out, Spans(l, model.MaxLine))
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

func IconOf(i model.Icon) Icon { return Icon{i.Symbol(), iconClasses[i]} }

// maxColumns bounds a table's columns.
const maxColumns = 24

// TableOf draws a table with at most so many rows.
func TableOf(t model.Table, rows int) Table {
	out := Table{Title: Spans(t.Title, model.MaxLine), Icons: t.HasIcons()}
	columns := t.Columns[:min(len(t.Columns), maxColumns)]
	for _, c := range columns {
		out.Columns = append(out.Columns, Column{Clean(c.Title, model.MaxCell), columnClass(c)})
	}
	shown := t.Rows[:min(len(t.Rows), rows)]
	for _, r := range shown {
		out.Rows = append(out.Rows, rowOf(r, columns))
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

func rowOf(r model.Row, columns []model.Column) Row {
	row := Row{Icon: IconOf(r.Icon)}
	for i, c := range r.Cells[:min(len(r.Cells), len(columns))] {
		cell := Cell{Line: Spans(c, model.MaxCell), Class: columnClass(columns[i]), Head: i == 0}
		if i == 0 {
			cell.Anchor = r.Anchor
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// columnClass is what the style sheet knows a column by.
func columnClass(c model.Column) string {
	class := map[model.Align]string{model.Right: "num", model.Center: "mid"}[c.Align]
	if c.Aside {
		class = strings.TrimSpace(class + " aside")
	}
	return class
}

// Comparison is a pair of cells as the page shows it.
type Comparison struct {
	Anchor   string
	Icon     Icon
	Title    Line
	Summary  Line
	Open     bool
	Findings []Finding
	// Distributions have the charts of each group of metrics, Quantiles their figures.
	Distributions []Distribution
	Quantiles     []Table
	Points        []Table // of curves
	Notes         []Line
}

// Finding is one decision with its charts.
type Finding struct {
	ID, Title string
	Icon      Icon
	Open      bool
	Verdict   Line
	Reason    Line
	Warnings  []Line
	Charts    []template.HTML
	Values    []Table // of the repeats, none or one
	Sums      []Sum
	HasMore   bool
}

// Distribution is a group of metrics with its charts.
type Distribution struct {
	Label  string
	Charts []template.HTML
}

// Trend is a series with its chart.
type Trend struct {
	Anchor         string
	Open           bool
	Icon           Icon
	Title, Summary Line
	Chart          template.HTML
	Notes          []Line
	Tables         []Table
}

// Sum is one line of a decision's arithmetic.
type Sum struct{ Symbol, Meaning, Value string }
