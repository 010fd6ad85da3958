package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// openTable is a markdown table while it is read.
type openTable struct {
	header []string
	rows   []tableRow
}

type tableRow struct {
	cells []string
	line  int
}

var tableRule = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*$`)

const maxTableRows = 10_000

// inTable takes the line if it belongs to a table.
func (t *textReader) inTable(line string) bool {
	if t.table == nil {
		if !strings.Contains(line, "|") || !tableRule.MatchString(line) || !strings.Contains(t.before, "|") {
			return false
		}
		header := tableCells(t.before)
		if len(header) != len(tableCells(line)) {
			return false
		}
		t.table = &openTable{header: header}
		return true
	}
	if !strings.Contains(line, "|") || len(t.table.rows) >= maxTableRows {
		t.closeTable()
		return false
	}
	t.table.rows = append(t.table.rows, tableRow{tableCells(line), t.line})
	return true
}

// tableCells splits a row at its bars; an escaped bar is text.
func tableCells(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	if strings.HasSuffix(line, "|") && !strings.HasSuffix(line, `\|`) {
		line = line[:len(line)-1]
	}
	const bar = "\x00"
	cells := strings.Split(strings.ReplaceAll(line, `\|`, bar), "|")
	for i, c := range cells {
		c = strings.ReplaceAll(c, bar, "|")
		cells[i] = strings.TrimSpace(strings.ReplaceAll(c, "**", ""))
	}
	return cells
}

// closeTable makes runs of a table if it is one of results.
func (t *textReader) closeTable() {
	table := t.table
	t.table = nil
	if table == nil {
		return
	}
	labels := make([]string, len(table.rows))
	for i, r := range table.rows {
		labels[i] = r.cells[0]
	}
	if table.pointed() {
		table.ungroup()
	}
	var first []string
	if len(table.rows) > 0 {
		first = table.rows[0].cells
	}
	values := make([]string, len(table.rows))
	for i, r := range table.rows {
		values[i] = r.cells[min(1, len(r.cells)-1)]
	}
	switch {
	case areFigures(table.header, first):
		for _, row := range table.rows {
			t.tableRun(table.header, row)
		}
	case areFigures(labels, values):
		t.turned(table)
	}
}

var (
	decimalPoint = regexp.MustCompile(`^(?:\d+|\d{1,3}(?:,\d{3})+)\.\d+$`)
	grouped      = regexp.MustCompile(`^\d{1,3}(?:,\d{3})+(?:\.\d+)?$`)
)

// pointed reports whether some number of the table has a decimal point, so that a comma in
// another one groups thousands. Without such a number 1,250 may mean 1.25 as well, and is
// left for an error.
func (t *openTable) pointed() bool {
	for _, row := range t.rows {
		if slices.ContainsFunc(row.cells, func(c string) bool { return decimalPoint.MatchString(withoutUnit(c)) }) {
			return true
		}
	}
	return false
}

// ungroup takes the commas between thousands out.
func (t *openTable) ungroup() {
	for _, row := range t.rows {
		for i, c := range row.cells {
			if grouped.MatchString(withoutUnit(c)) {
				row.cells[i] = strings.ReplaceAll(c, ",", "")
			}
		}
	}
}

// areFigures reports whether the labels make a table of results: two figures, one of them
// measured and not counted. Units may stand beside the values.
func areFigures(labels, values []string) bool {
	figures, measured := 0, false
	for i, l := range labels {
		if i < len(values) {
			l, _ = unitInValue(l, values[i])
		}
		f, ok := figureOf(l)
		if ok && f.kind != param {
			figures++
			measured = measured || f.kind == latency || f.kind == rate
		}
	}
	return figures >= 2 && measured
}

// tableRun makes a run of a row of a table with one result a row.
func (t *textReader) tableRun(header []string, row tableRow) {
	if len(row.cells) != len(header) {
		t.fail(&Error{t.source, row.line, fmt.Errorf("a row of %d cells in a table of %d columns", len(row.cells), len(header))})
		return
	}
	run := t.opt.newRun(FormatTable, t.opt.Tool, t.source, row.line)
	t.around.apply(run, -1)
	t.fail(run.fill(run.columns(header, row.cells, row.line)))
	run.checkLengths()
	t.runs = append(t.runs, *run)
}

// columns sorts a row into figures, which it returns, and parameters.
func (r *Run) columns(header, cells []string, line int) []entry {
	var entries []entry
	for i, h := range header {
		h, cell := unitInValue(h, strings.TrimSpace(cells[i]))
		f, ok := figureOf(h)
		switch {
		case ok && f.kind != param && !isSetting(f, cell):
			if cell == "" {
				continue
			}
			entries = append(entries, entry{h, strings.Trim(cell, "`"), line})
		default:
			r.setParam(h, strings.ReplaceAll(cell, "`", ""))
		}
	}
	return entries
}

// isSetting distinguishes the concurrency that was asked for, a whole number, from the one that
// SGLang measures.
func isSetting(f figure, cell string) bool {
	_, err := strconv.Atoi(cell)
	return err == nil && f.group == "concurrency" && f.stat == "mean"
}

// valueUnit is a number with its unit behind it: "20 ms", "1.5s", "12.1 tok/s".
var valueUnit = regexp.MustCompile(`^([-+]?[\d.,]+(?:[eE][-+]?\d+)?)\s*(s|sec|seconds|ms|us|µs|μs|ns|%|tok/s|tokens/s|tokens/sec|token/s|req/s|reqs/s|requests/s|requests/sec|rps)$`)

// withoutUnit is the number of a cell.
func withoutUnit(cell string) string {
	if m := valueUnit.FindStringSubmatch(strings.TrimSpace(cell)); m != nil {
		return m[1]
	}
	return cell
}

// unitInValue moves the unit of a value to its label, where there is one: "Mean TTFT" of "20 ms"
// is "Mean TTFT (ms)" of 20. The unit beside the figure is nearer than one in a heading. What is
// no figure then either stays as it is.
func unitInValue(label, value string) (string, string) {
	m := valueUnit.FindStringSubmatch(strings.Trim(strings.TrimSpace(value), "`*"))
	if m == nil {
		return label, value
	}
	unit := strings.NewReplacer("μs", "us", "tokens/sec", "tokens/s", "requests/sec", "requests/s").Replace(m[2])
	words, _ := labelWords(label)
	if with := words + " (" + unit + ")"; words != "" {
		if _, ok := figureOf(with); ok {
			return with, m[1]
		}
	}
	if f, ok := figureOf(label); ok && f.kind == rate && timeShift[unit] == 0 && unit != "s" && unit != "sec" && unit != "seconds" {
		return label, m[1]
	}
	return label, value
}

var derived = regexp.MustCompile(`(?i)diff|change|delta|Δ|improve|speed-?up|ratio|%|\bvs\b|gain|unit`)

// turned reads a table with one result a column: the first column has the labels.
// Columns that compare others are not results.
func (t *textReader) turned(table *openTable) {
	for col := 1; col < len(table.header); col++ {
		if derived.MatchString(table.header[col]) {
			continue
		}
		run := t.opt.newRun(FormatTable, t.opt.Tool, t.source, table.rows[0].line)
		t.around.apply(run, -1)
		run.setParam("column", strings.ReplaceAll(table.header[col], "`", ""))
		var entries []entry
		for _, row := range table.rows {
			if len(row.cells) != len(table.header) {
				t.fail(&Error{t.source, row.line, fmt.Errorf("a row of %d cells in a table of %d columns", len(row.cells), len(table.header))})
				return
			}
			entries = append(entries, run.columns([]string{row.cells[0]}, []string{row.cells[col]}, row.line)...)
		}
		t.fail(run.fill(entries))
		t.runs = append(t.runs, *run)
	}
}
