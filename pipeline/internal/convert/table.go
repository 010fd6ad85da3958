package convert

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// openTable is a markdown table while its lines are read.
type openTable struct {
	header []string
	rows   []tableRow
}

type tableRow struct {
	cells []string
	line  int
}

var tableRule = lazyregexp.New(`^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*$`)

const maxTableRows = 10_000

// inTable takes the line if it belongs to a table.
func (t *textReader) inTable(line string) bool {
	drawn := line
	line = barred(line)
	if t.table == nil {
		if !strings.Contains(line, "|") || !tableRule.MatchString(line) {
			return false
		}
		before := barred(t.before)
		header := tableCells(before)
		switch columns := len(tableCells(line)); {
		case strings.TrimSpace(before) == "" && drawn == line: // a table pasted without its heading
			header = []string{""}
			for len(header) < columns {
				header = append(header, fmt.Sprintf("column %d", len(header)))
			}
		case !strings.Contains(before, "|") || tableRule.MatchString(before) || len(header) != columns:
			return false
		}
		t.table = &openTable{header: header}
		return true
	}
	if !strings.Contains(line, "|") || len(t.table.rows) >= maxTableRows {
		t.closeTable()
		return false
	}
	if cells := tableCells(line); drawn != line && t.table.continues(cells) {
		return true
	}
	if !tableRule.MatchString(line) { // of a grid, which has one after each row
		t.table.rows = append(t.table.rows, tableRow{tableCells(line), t.line})
	}
	return true
}

// continues adds the rest of a label that a drawn table has wrapped to the row before.
func (t *openTable) continues(cells []string) bool {
	n := len(t.rows)
	if n == 0 || cells[0] == "" || slices.ContainsFunc(cells[1:], func(c string) bool { return c != "" }) || len(cells) < 2 ||
		slices.Equal(t.rows[n-1].cells[1:], cells[1:]) {
		return false
	}
	t.rows[n-1].cells[0] += " " + cells[0]
	return true
}

// barred converts a table line of drawing characters, or of a grid with plus signs at the corners,
// to markdown.
func barred(line string) string {
	trimmed := strings.TrimSpace(line)
	grid := strings.HasPrefix(trimmed, "+") && strings.Trim(trimmed, "+-=:") == ""
	const lead = 0xe2 // first byte of all of them
	if !grid && (strings.IndexByte(line, lead) < 0 || strings.IndexFunc(line, isDrawing) < 0) {
		return line
	}
	rule := grid || strings.IndexFunc(trimmed, func(c rune) bool { return c != ' ' && !isDrawing(c) && !strings.ContainsRune("+-=", c) }) < 0
	return strings.Map(func(c rune) rune {
		switch {
		case strings.ContainsRune("│┃║┆┇┊┋╎╏", c):
			return '|'
		case rule && strings.ContainsRune("─━═┄┅┈┉╌╍=-", c):
			return '-'
		case rule && c != ' ':
			return '|'
		}
		return c
	}, line)
}

// isDrawing reports whether a character draws the lines of a table.
func isDrawing(c rune) bool { return c >= 0x2500 && c <= 0x257f }

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

// closeTable makes runs of a table of results.
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
	if table.joinHeadings() {
		labels = labels[1:]
	}
	dropIndex(table.header, table.rows)
	var first []string
	if len(table.rows) > 0 {
		first = table.rows[0].cells
	}
	values := make([]string, len(table.rows))
	for i, r := range table.rows {
		values[i] = r.cells[min(1, len(r.cells)-1)]
	}
	table.renameRates()
	columns, sides := table.sides()
	if turned := table.transposed(); turned != nil && len(turned.rows) > 0 {
		t.distributions(turned)
		return
	}
	switch {
	case isDistributions(table.header, labels):
		t.distributions(table)
	case len(sides) > 1:
		table.ditto(t)
		t.bySide(table, columns, sides)
	case areFigures(statsApart(table.header, first)) || isMeasured(table.header, first):
		table.ditto(t)
		for _, row := range table.rows {
			t.tableRun(table.header, row)
		}
	case areFigures(labels, values):
		t.turned(table, nil, nil)
	default:
		if col := table.long(); col > 0 {
			t.byRow(table, col)
			return
		}
		t.missed(table.header, first)
		t.missed(labels, values)
	}
}

// joinHeadings joins the headings of two rows: a heading over several columns, and the headings of these below it.
func (t *openTable) joinHeadings() bool {
	isNumeric := func(row tableRow) bool { return slices.ContainsFunc(row.cells, isNumberLike) }
	if len(t.rows) < 2 || len(t.rows[0].cells) != len(t.header) || isNumeric(t.rows[0]) || !isNumeric(t.rows[1]) {
		return false
	}
	over, spans := slices.Clone(t.header), false
	for i := 1; i < len(over); i++ {
		if over[i] == "" {
			over[i] = over[i-1]
		}
		spans = spans || over[i] == over[i-1] && over[i] != ""
	}
	if !spans {
		return false
	}
	for i, below := range t.rows[0].cells {
		if over[i] != below {
			over[i] = strings.TrimSpace(over[i] + " " + below)
		}
	}
	t.header, t.rows = over, t.rows[1:]
	return true
}

// ditto refuses a table in which blank cells stand for the value above them: rows of different settings would become one
// cell. It does so if two rows with a blank setting are alike in all others.
func (t *openTable) ditto(r *textReader) {
	settings := make([]bool, len(t.header))
	for col, h := range t.header {
		f, ok := figureOf(h)
		settings[col] = (!ok || f.kind == param) && h != "" && !identity.MatchString(canonicalKey(h))
	}
	seen := map[string]bool{}
	above := make([]bool, len(t.header))
	for _, row := range t.rows {
		var key strings.Builder
		blank := -1
		for col, cell := range row.cells[:min(len(row.cells), len(t.header))] {
			if !settings[col] {
				continue
			}
			if cell == "" && above[col] {
				blank = col
			}
			above[col] = above[col] || cell != ""
			key.WriteString(cell + "\x00")
		}
		if blank >= 0 && seen[key.String()] {
			r.failAt(row.line, fmt.Sprintf("the cell of %s is blank, as in a row before it that is alike in all else: write out what it stands for",
				clip(t.header[blank])))
			return
		}
		seen[key.String()] = true
	}
}

// renameRates renames the columns or rows of measured rates.
func (t *openTable) renameRates() {
	cells := make([][]string, len(t.rows))
	labels := make([]string, len(t.rows))
	for i, r := range t.rows {
		cells[i], labels[i] = r.cells, r.cells[0]
	}
	t.header = withMeasuredRates(t.header, func(col int) []string {
		var out []string
		for _, row := range cells {
			if col < len(row) {
				out = append(out, row[col])
			}
		}
		return out
	})
	for i, label := range withMeasuredRates(labels, func(row int) []string { return cells[row][min(1, len(cells[row])):] }) {
		t.rows[i].cells[0] = label
	}
}

const throughputLabel = "Request throughput (req/s)"

// withMeasuredRates returns the column names, with QPS as a throughput if its values were measured
// and not requested.
func withMeasuredRates(header []string, cells func(i int) []string) []string {
	out := slices.Clone(header)
	others, figures := false, false
	for _, h := range header {
		f, ok := figureOf(h)
		if ok && f.group == "request_throughput" {
			return out
		}
		others = others || canonicalKey(h) == "request_rate" && !isQPS(h)
	}
	for i, h := range header {
		fraction := func(cell string) bool { return strings.Contains(cell, ".") && isNumberLike(cell) }
		switch f, ok := figureOf(h); {
		case isQPS(h) && (others || slices.ContainsFunc(cells(i), func(c string) bool { return measuredRate(h, c) || figures && fraction(c) })):
			out[i] = throughputLabel
		case ok && (f.kind == latency || f.kind == rate):
			figures = true
		}
	}
	return out
}

func isQPS(label string) bool {
	words, _ := labelWords(label)
	return words == "qps" || words == "rps"
}

// measuredRate reports whether the value of a label such as QPS was measured: a requested rate is a
// round number.
func measuredRate(label, value string) bool {
	value = strings.Trim(withoutUnit(strings.TrimSpace(value)), "`*")
	v, err := parseNumber(value, 0)
	if !isQPS(label) || err != nil {
		return false
	}
	whole := func(x float64) bool { return math.Abs(x-math.Round(x)) < 1e-9*max(1, x) }
	_, decimals, _ := strings.Cut(value, ".")
	return !whole(8*v) && !whole(20*v) || len(decimals) > 1 && strings.HasSuffix(decimals, "0") && strings.Trim(decimals, "0") != ""
}

// statLabel matches the name of a statistic alone.
var statLabel = lazyregexp.New(`^(?:mean|avg|average|median|std|stddev|min|max|minimum|maximum|p\d{1,2}(?:\.\d{1,3})?)$`)

// statOf returns the statistic in a heading, "" for none.
func statOf(header string) string {
	words, _ := labelWords(header)
	if statLabel.MatchString(words) {
		return words
	}
	return ""
}

// isDistributions reports whether a table has a row for each distribution and a column for each
// statistic.
func isDistributions(header, labels []string) bool {
	stats := 0
	for _, h := range header[1:] {
		if statOf(h) != "" {
			stats++
		}
	}
	return stats >= 2 && slices.ContainsFunc(labels, func(l string) bool {
		words, _ := labelWords(l)
		return latencyNames[words] != ""
	})
}

// distributions reads a table with a row for each distribution, which is one result.
func (t *textReader) distributions(table *openTable) {
	run := t.opt.newRun(FormatTable, cmp.Or(t.opt.Tool, t.titled), t.source, table.rows[0].line)
	t.titled = ""
	t.around.apply(run, -1)
	var entries []entry
	for _, row := range table.rows {
		if !t.whole(row, len(table.header)) {
			return
		}
		entries = append(entries, run.distribution(table.header, row)...)
	}
	if others := otherColumns(table.header); len(others) > 0 {
		run.infof("columns that are no statistic known here are not read: %s", quoted(others))
	}
	t.fail(run.fill(entries))
	t.runs = append(t.runs, *run)
}

// otherColumns returns the headings of a table of distributions that are neither a statistic nor the unit.
func otherColumns(header []string) (out []string) {
	for _, h := range header[1:] {
		if words, _ := labelWords(h); h != "" && statOf(h) == "" && words != "unit" && words != "units" {
			out = append(out, h)
		}
	}
	return out
}

// distribution reads the statistics of a row. The unit follows the name or each value. A row with
// one number is a rate or a count.
func (r *Run) distribution(header []string, row tableRow) []entry {
	words, unit := labelWords(row.cells[0])
	if i := slices.IndexFunc(header, func(h string) bool { return strings.EqualFold(h, "unit") || strings.EqualFold(h, "units") }); i >= 0 &&
		unit == "" && isTimeUnit(row.cells[i]) {
		unit = row.cells[i]
	}
	f, single := figureOf(row.cells[0])
	var entries []entry
	for i, h := range header[1:] {
		stat, cell := statOf(h), strings.Trim(row.cells[i+1], "`")
		switch {
		case stat == "" || cell == "":
		case (latencyNames[words] != "" || isTimeUnit(unit)) && unit != "":
			entries = append(entries, entry{fmt.Sprintf("%s %s (%s)", stat, words, unit), withoutUnit(cell), row.line})
		case latencyNames[words] != "":
			if label, value := unitInValue(stat+" "+words, cell); label != stat+" "+words {
				entries = append(entries, entry{label, value, row.line})
				continue
			}
			r.skipRow(row.cells[0])
		case single && f.kind != param && canonicalStat(stat) == "mean":
			entries = append(entries, entry{row.cells[0], cell, row.line})
		case canonicalStat(stat) == "mean" && isNumberLike(cell):
			if label := "mean " + words; workFigures()[label].kind == each {
				entries = append(entries, entry{label, withoutUnit(cell), row.line})
				continue
			}
			r.skipRow(row.cells[0])
		}
	}
	return entries
}

// skipRow notes the name of a row that is not read.
func (r *Run) skipRow(name string) {
	if !slices.Contains(r.skipped, name) {
		r.skipped = append(r.skipped, name)
	}
}

var (
	decimalPoint = lazyregexp.New(`^(?:\d+|\d{1,3}(?:,\d{3})+)\.\d+$`)
	grouped      = lazyregexp.New(`^\d{1,3}(?:,\d{3})+(?:\.\d+)?$`)
)

// pointed reports whether some number of the table has a decimal point, or more than one comma: a comma in another number
// then groups thousands. Otherwise 1,250 may also mean 1.25, and remains an error.
func (t *openTable) pointed() bool {
	for _, row := range t.rows {
		if slices.ContainsFunc(row.cells, func(c string) bool {
			c = withoutUnit(c)
			return decimalPoint.MatchString(c) || strings.Count(c, ",") > 1 && grouped.MatchString(c)
		}) {
			return true
		}
	}
	return false
}

// ungroup removes the commas between thousands.
func (t *openTable) ungroup() {
	for _, row := range t.rows {
		for i, c := range row.cells {
			if grouped.MatchString(withoutUnit(c)) {
				row.cells[i] = strings.ReplaceAll(c, ",", "")
			}
		}
	}
}

// areFigures reports whether the labels are those of results: two figures, one of them measured and
// not counted. Units may follow the values.
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

// isMeasured reports whether a row has one figure with a spread, as llama-bench prints it: "1053.91 ± 45.72".
func isMeasured(header, cells []string) bool {
	for i, h := range header[:min(len(header), len(cells))] {
		if f, ok := figureOf(h); ok && (f.kind == latency || f.kind == rate) && spread.MatchString(cells[i]) {
			return true
		}
	}
	return false
}

// tableRun makes a run of a row of a table with one result a row.
func (t *textReader) tableRun(header []string, row tableRow) {
	t.rowOf(row, len(header), func(r *Run) []entry { return r.columns(header, row.cells, row.line) })
}

// whole reports whether a row has a cell for each column.
func (t *textReader) whole(row tableRow, columns int) bool {
	if len(row.cells) != columns {
		t.failAt(row.line, fmt.Sprintf("a row of %d cells in a table of %d columns", len(row.cells), columns))
	}
	return len(row.cells) == columns
}

// columns returns the figures of a row, and keeps the rest as parameters.
func (r *Run) columns(header, cells []string, line int) []entry {
	var entries []entry
	header, cells = statsApart(header, cells)
	for i, h := range header {
		whole := strings.Trim(strings.TrimSpace(cells[i]), "`*")
		h, cell := unitInValue(h, strings.TrimSpace(cells[i]))
		f, ok := figureOf(h)
		words, _ := labelWords(h)
		if plainValue(whole) != whole {
			r.annotated = append(r.annotated, h)
		}
		switch {
		case ok && f.kind != param && !isSetting(f, cell):
			if cell == "" {
				continue
			}
			entries = append(entries, entry{h, strings.Trim(cell, "`"), line})
		case cell == "":
		case words == "n" || words == "count" || words == "samples": // the number of values in a row
			r.audit("samples", cell)
		case isLengths(h, cell):
			in, out, _ := strings.Cut(cell, "/")
			r.setColumn("input_len", in)
			r.setColumn("output_len", out)
		default:
			if (isNumberLike(cell) || statsLabel.MatchString(h) || looksLikeTime.MatchString(h)) && !isKnownParam(h) {
				r.unread = append(r.unread, h)
			}
			r.setColumn(h, strings.ReplaceAll(cell, "`", ""))
		}
	}
	return entries
}

// statsLabel matches the heading of a column with several statistics: "TTFT (ms) p50/p99" of "10/30".
var statsLabel = lazyregexp.New(`(?i)\b(?:mean|avg|average|median|min|max|p\d{1,2}(?:\.\d{1,3})?)` +
	`(?:\s*/\s*(?:mean|avg|average|median|min|max|p\d{1,2}(?:\.\d{1,3})?))+\b`)

// statsApart makes a column of each statistic of a column with several. A cell with another number of values
// stays whole, and so does a row with too few cells.
func statsApart(header, cells []string) (apart, values []string) {
	if len(cells) < len(header) {
		return header, cells
	}
	for i, h := range header {
		list := statsLabel.FindString(h)
		stats, parts := strings.Split(list, "/"), strings.Split(cells[i], "/")
		if list == "" || len(stats) != len(parts) {
			apart, values = append(apart, h), append(values, cells[i])
			continue
		}
		for k, stat := range stats {
			apart = append(apart, strings.Replace(h, list, strings.TrimSpace(stat), 1))
			values = append(values, strings.TrimSpace(parts[k]))
		}
	}
	return apart, values
}

// lengthsLabel matches the heading of a column with both lengths: "Input/output" of "4096/100".
var lengthsLabel = lazyregexp.New(`(?i)^(?:input|in|isl|prompt)[^/]*/\s*(?:output|out|osl)`)

var lengthsCell = lazyregexp.New(`^\d+\s*/\s*\d+$`)

func isLengths(header, cell string) bool {
	return lengthsLabel.MatchString(header) && lengthsCell.MatchString(cell)
}

// isSetting distinguishes the requested concurrency, an integer, from the one that SGLang measures.
func isSetting(f figure, cell string) bool {
	_, err := strconv.Atoi(cell)
	return err == nil && f.group == "concurrency" && f.stat == "mean"
}

// valueUnit matches a number followed by its unit: "20 ms", "1.5s", "12.1 tok/s".
var valueUnit = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([-+]?[\d.,]+(?:[eE][-+]?\d+)?)\s*(` + unitsPattern() +
		`|secs?|seconds?|msec|milliseconds?|μs|usec|us|µs|ns|ms|s|%)$`)
})

// spread and remark match what people and tools write behind a number: "1053.91 ± 45.72", "5.30 (−57.2%)", "27.44   <=====".
var (
	spread = lazyregexp.New(`^([-+]?[\d.,]+)\s*(?:±|\+/-|\\u00b1)\s*[\d.,]+\s*%?`)
	remark = lazyregexp.New(`^([-+]?[\d.,]+(?:\s*[\p{L}µμ/]+)?)\s*(?:` +
		`\(\s*[-+−±~≈↑↓▲▼]?\s*[\d.,]+\s*(?:%|x|×|pp)[^()\d]*\)|\s(?:<[-=]+|[-=]+>|←).*|[↑↓▲▼\p{So}].*)$`)
)

// plainValue removes from a value what stands behind its number and unit: a spread, a change, an arrow.
func plainValue(value string) string {
	value = strings.TrimSpace(strings.ReplaceAll(value, "`", ""))
	if value == "" || value[len(value)-1] <= '9' && value[len(value)-1] >= '0' && !strings.ContainsAny(value, "±/\\") {
		return value
	}
	if m := spread.FindStringSubmatchIndex(value); m != nil {
		value = value[:m[3]] + value[m[1]:]
	}
	if m := remark.FindStringSubmatch(value); m != nil {
		return m[1]
	}
	return value
}

// withoutUnit returns the number of a cell.
func withoutUnit(cell string) string {
	cell = plainValue(strings.TrimSpace(cell))
	if m := valueUnit().FindStringSubmatch(cell); m != nil {
		return m[1]
	}
	return cell
}

// unitInValue moves the unit of a value to its label: "Mean TTFT" of "20 ms" becomes "Mean TTFT
// (ms)" of 20. The unit of the value overrides one of the heading. What is no figure even then
// stays the same.
func unitInValue(label, value string) (string, string) {
	value = plainValue(strings.Trim(strings.TrimSpace(value), "`*"))
	m := valueUnit().FindStringSubmatch(value)
	if m == nil {
		return label, value
	}
	unit := unitOfText(m[2])
	if _, own := labelWords(label); own == unit {
		return label, m[1] // both have it
	}
	words, _ := labelWords(label)
	if with := words + " (" + unit + ")"; words != "" {
		if _, ok := figureOf(with); ok {
			return with, m[1]
		}
	}
	if f, ok := figureOf(label); ok && f.kind == rate && !isTimeUnit(unit) {
		return label, m[1]
	}
	return label, value
}

func isTimeUnit(unit string) bool {
	_, ok := timeShift[unit]
	return ok && unit != ""
}

var derived = lazyregexp.New(`(?i)diff|change|delta|Δ|improve|speed-?up|ratio|%|\bvs\b|gain|unit`)

// turned reads a table with one result a column and labels in the first. It skips columns that
// compare others. The settings hold for all of it.
func (t *textReader) turned(table *openTable, settings, values []string) {
	unit := slices.IndexFunc(table.header, func(h string) bool { return strings.EqualFold(h, "unit") || strings.EqualFold(h, "units") })
	for col := 1; col < len(table.header); col++ {
		if derived.MatchString(table.header[col]) {
			continue
		}
		run := t.opt.newRun(FormatTable, t.opt.Tool, t.source, table.rows[0].line)
		t.around.apply(run, -1)
		for i, h := range settings {
			run.setColumn(h, values[i])
		}
		if name := table.header[0]; settingNames()[canonicalKey(name)] != "" { // the columns are the values of a setting
			run.setColumn(name, table.header[col])
		} else {
			run.setParam("column", strings.ReplaceAll(table.header[col], "`", ""))
		}
		var entries []entry
		for _, row := range table.rows {
			if !t.whole(row, len(table.header)) {
				return
			}
			label := row.cells[0]
			if unit > 0 && isUnit(row.cells[unit]) {
				label += " (" + row.cells[unit] + ")"
			}
			entries = append(entries, run.columns([]string{label}, []string{row.cells[col]}, row.line)...)
		}
		t.fail(run.fill(entries))
		t.runs = append(t.runs, *run)
	}
}
