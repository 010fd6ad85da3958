package convert

import (
	"slices"
	"strings"
	"sync"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// A table can hold several sides in the headings of its columns ("TTFT ms (V1)", "main Avg TTFT (ms)"), in rows that name their
// figure behind the settings, or as one distribution with a row for each percentile.

// sided is a column of one side.
type sided struct{ side, figure string }

// phases are words that distinguish figures and not sides: "Prefill throughput" is not the throughput of a side.
var phases = lazyregexp.New(`(?i)\b(?:prefill|decode|pp|tg|prompt|gen|generation|input|output|total|user|server|system|peak|max|min|` +
	`per|req|requests?|tokens?|overall|first|inter|mean|avg|average|median|std|p\d{1,2})\b`)

// sidesIn returns the ways to read a heading as the figure of a side, the one with the shortest side first.
func sidesIn(heading string) (out []sided) {
	const longest = 80
	if len(heading) > longest {
		return nil
	}
	heading = strings.TrimSpace(strings.ReplaceAll(heading, "`", ""))
	add := func(side, figure string) {
		side, figure = strings.Trim(side, " -–:/|@_,()"), strings.Trim(figure, " -–:/|@_,")
		if isQPS(figure) {
			figure = throughputLabel
		}
		f, ok := figureOf(figure)
		if ok && side != "" && f.kind != param && f.kind != each && !phases.MatchString(strings.ReplaceAll(side, "_", " ")) &&
			!derived.MatchString(side) && !isUnit(side) {
			out = append(out, sided{side, figure})
		}
	}
	if m := unitPattern.FindStringSubmatch(heading); m != nil {
		add(m[2], m[1])
	}
	separated := heading
	if !strings.Contains(heading, " ") {
		separated = strings.ReplaceAll(heading, "_", " ")
	}
	words := strings.Fields(separated)
	for n := 1; n < len(words); n++ {
		add(strings.Join(words[:n], " "), strings.Join(words[n:], " "))
		add(strings.Join(words[len(words)-n:], " "), strings.Join(words[:len(words)-n], " "))
	}
	return out
}

// isKnown reports whether a heading is a figure of the tables and not an unknown one with its own name.
func isKnown(heading string) bool {
	f, ok := figureOf(heading)
	return ok && (f.kind == count || f.kind == duration || definitionOf(f.group) != "" || latencyGroups()[f.group])
}

var latencyGroups = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, group := range latencyNames {
		out[group] = true
	}
	return out
})

// sides returns the columns of a table that belong to a side, by column, and the sides in order. At least one known figure is there
// for two sides.
func (t *openTable) sides() (map[int]sided, []string) {
	ways := make([][]sided, len(t.header)) // to read each heading
	of := map[string][]string{}            // sides of a figure
	for i, h := range t.header {
		ways[i] = sidesIn(h)
		if isKnown(h) || derived.MatchString(h) {
			continue
		}
		if at := slices.IndexFunc(ways[i], func(s sided) bool { return isKnown(s.figure) }); at >= 0 {
			of[ways[i][at].quantity()] = append(of[ways[i][at].quantity()], ways[i][at].side)
		}
	}
	var names []string
	for _, s := range slices.Concat(ways...) { // in the order of the columns
		if all := of[s.quantity()]; len(all) > 1 && slices.Contains(all, s.side) && !slices.Contains(names, s.side) {
			names = append(names, s.side)
		}
	}
	if len(names) < 2 {
		return nil, nil
	}
	columns := map[int]sided{}
	for i, h := range t.header {
		at := slices.IndexFunc(ways[i], func(s sided) bool { return slices.Contains(names, s.side) })
		if at >= 0 && !derived.MatchString(h) {
			columns[i] = ways[i][at]
		}
	}
	return columns, names
}

// quantity returns the words and the unit of the figure, which are the same for all sides.
func (s sided) quantity() string {
	words, unit := labelWords(s.figure)
	return words + " " + unit
}

// bySide reads a table with the figures of each side in columns of their own: a row is one result of each side.
func (t *textReader) bySide(table *openTable, columns map[int]sided, names []string) {
	for _, row := range table.rows {
		for _, side := range names {
			header, cells, others := table.ofSide(row, columns, side)
			t.rowOf(row, len(table.header), func(r *Run) []entry {
				r.setParam("column", side)
				if len(others) > 0 {
					r.infof("columns that name no side are not read: %s", quoted(others))
				}
				return r.columns(header, cells, row.line)
			})
		}
	}
}

// ofSide returns the columns of a row that belong to a side, with the settings, and the figures that name no side.
func (t *openTable) ofSide(row tableRow, columns map[int]sided, side string) (header, cells, others []string) {
	for i, h := range t.header {
		s, ok := columns[i]
		switch {
		case i >= len(row.cells) || ok && s.side != side || !ok && derived.MatchString(h):
		case ok:
			header, cells = append(header, s.figure), append(cells, row.cells[i])
		case isKnown(h) && !isSettingColumn(h, row.cells[i]):
			others = append(others, h)
		default:
			header, cells = append(header, h), append(cells, row.cells[i])
		}
	}
	return header, cells, others
}

// isSettingColumn reports whether a known figure is a requested value in a cell.
func isSettingColumn(heading, cell string) bool {
	f, _ := figureOf(heading)
	return isSetting(f, cell)
}

// rowOf makes a run of a row of a table with so many columns.
func (t *textReader) rowOf(row tableRow, columns int, entries func(*Run) []entry) {
	if !t.whole(row, columns) {
		return
	}
	run := t.opt.newRun(FormatTable, t.opt.Tool, t.source, row.line)
	t.around.apply(run, -1)
	t.fail(run.fill(entries(run)))
	run.checkLengths()
	t.runs = append(t.runs, *run)
}

// long returns the column of a table whose cells are labels of figures, behind columns of settings, 0 if there is none.
func (t *openTable) long() int {
	for col := 1; col < len(t.header)-1; col++ {
		labels, values := make([]string, len(t.rows)), make([]string, len(t.rows))
		for i, row := range t.rows {
			if len(row.cells) != len(t.header) {
				return 0
			}
			labels[i], values[i] = row.cells[col], row.cells[col+1]
		}
		if areFigures(labels, values) {
			return col
		}
	}
	return 0
}

// byRow reads a table whose rows name a figure behind the settings: each combination of settings is a table of its own. A blank
// setting is the one above.
func (t *textReader) byRow(table *openTable, col int) {
	type part struct {
		settings []string
		table    openTable
	}
	above := make([]string, col)
	var parts []part
	for _, row := range table.rows {
		for i := range above {
			if row.cells[i] != "" {
				above[i] = row.cells[i]
			}
		}
		at := slices.IndexFunc(parts, func(p part) bool { return slices.Equal(p.settings, above) })
		if at < 0 {
			at = len(parts)
			parts = append(parts, part{slices.Clone(above), openTable{header: table.header[col:]}})
		}
		of := &parts[at].table
		of.rows = append(of.rows, tableRow{row.cells[col:], row.line})
	}
	for _, p := range parts {
		t.turned(&p.table, table.header[:col], p.settings)
	}
}

// percentileCell matches a percentile as a table of percentiles has it: "50%", "p50", "50th".
var percentileCell = lazyregexp.New(`^[pP]?(\d{1,2}(?:\.\d{1,3})?)\s*(?:%|th)?$`)

// transposed returns a table with a row for each distribution of a table with a row for each statistic, nil for another table.
func (t *openTable) transposed() *openTable {
	words, _ := labelWords(t.header[0])
	if !slices.Contains([]string{"percentile", "percentiles", "statistic", "stat", "stats"}, strings.TrimSpace(words)) {
		return nil
	}
	out := &openTable{header: []string{t.header[0]}}
	for _, row := range t.rows {
		if len(row.cells) != len(t.header) {
			return nil
		}
		stat := row.cells[0]
		if m := percentileCell.FindStringSubmatch(stat); m != nil {
			stat = "p" + m[1]
		}
		if statOf(stat) == "" {
			return nil
		}
		out.header = append(out.header, stat)
	}
	for col, h := range t.header[1:] {
		cells := []string{h}
		for _, row := range t.rows {
			cells = append(cells, row.cells[col+1])
		}
		out.rows = append(out.rows, tableRow{cells, t.rows[0].line})
	}
	return out
}
