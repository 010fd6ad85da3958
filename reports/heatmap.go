package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/svg"
)

// Limits of heat maps.
const (
	maxHeatMaps    = 20
	maxHeatRows    = 150
	maxHeatColumns = 24
)

// heatMaps returns the section with one map of verdicts for each benchmark with decisions. A map has a row for each
// cell without the compared axis, and a column for each metric and value of that axis.
func (v *view) heatMaps() model.Section {
	gates := map[string][]*result.Gate{}
	for _, g := range v.gates {
		gates[g.Benchmark] = append(gates[g.Benchmark], g)
	}
	s := model.Section{Title: model.Plain("Matrix of changes"), Wide: true, Folded: true, Notes: []model.Line{
		model.Plain("Change of the head against the base. ✗ regression, ! regression that only warns, ? " +
			"inconclusive, ⊘ missing or invalid, ✓ pass, ▲ improvement; the deeper a colour, the more margins."),
	}}
	left := 0
	for i := range v.doc.Benchmarks {
		b := &v.doc.Benchmarks[i]
		h := v.heat(b, gates[b.Addr])
		if len(h.rows) == 0 {
			continue
		}
		if len(s.Charts) == maxHeatMaps {
			left++
			continue
		}
		s.Charts = append(s.Charts, h.chart(fmt.Sprintf("heat%d", i+1), b.Addr))
		for _, more := range []struct {
			n    int
			what string
		}{{len(h.rows) - maxHeatRows, "more row"}, {len(h.columns) - maxHeatColumns, "more column"}} {
			if more.n > 0 {
				s.Omitted = append(s.Omitted, model.Join(" ", model.Plain(humanize.Count(more.n, more.what)+" of"), model.Code(b.Addr),
					model.Plain("are left out of the map.")))
			}
		}
	}
	if left > 0 {
		s.Omitted = append(s.Omitted, model.Plain(humanize.Count(left, "more benchmark")+" have no map here; the tables have all."))
	}
	if len(s.Charts) == 0 {
		return model.Section{}
	}
	return s
}

// heatMatrix holds the decisions of a benchmark by row and column.
type heatMatrix struct {
	v             *view
	rows, columns []string
	names         map[string]svg.Column
	at            map[[2]string]verdictRow
}

// heat arranges decisions in the order of cells in the document, and of metrics within the gates.
func (v *view) heat(b *result.Benchmark, gates []*result.Gate) heatMatrix {
	h := heatMatrix{v: v, names: map[string]svg.Column{}, at: map[[2]string]verdictRow{}}
	order := map[string]int{}
	for i, c := range b.Cells {
		order[c.Hash] = i
	}
	first := map[string]int{}
	for _, g := range gates {
		for i := range g.Decisions {
			d := &g.Decisions[i]
			row, col := h.place(g, d)
			if _, ok := first[row]; !ok {
				first[row] = order[d.Cell]
				h.rows = append(h.rows, row)
			}
			first[row] = min(first[row], order[d.Cell])
			if _, ok := h.names[col]; !ok {
				h.columns = append(h.columns, col)
				h.names[col] = h.column(verdictRow{g, d})
			}
			// If two gates judge the same comparison, the worse decision counts.
			r := verdictRow{g, d}
			if old, ok := h.at[[2]string{row, col}]; !ok || compareRows(r, old) < 0 {
				h.at[[2]string{row, col}] = r
			}
		}
	}
	slices.SortStableFunc(h.rows, func(a, b string) int { return first[a] - first[b] })
	return h
}

// place returns the row and the column of a decision.
func (h heatMatrix) place(g *result.Gate, d *result.Decision) (row, col string) {
	row = h.v.valuesName(d.Values)
	if row == "" {
		row = model.ShortAddr(g.Benchmark)
	}
	return row, strings.Join([]string{d.Metric, string(d.Kind), d.Base, d.Head}, "\x00")
}

func (h heatMatrix) column(r verdictRow) svg.Column {
	c := svg.Column{Title: metricLabel(r.d)}
	if r.d.Head != "" {
		names := h.v.names(r)
		c.Sub = names.Head + " vs " + names.Base
	}
	return c
}

func (h heatMatrix) chart(id, benchmark string) svg.Heat {
	columns := h.columns[:min(len(h.columns), maxHeatColumns)]
	chart := svg.Heat{
		ID: id, Title: "Verdicts of " + benchmark,
		Desc: "A row for each cell, a column for each metric. Each tile has the sign of its verdict and the change; the same is in the tables.",
	}
	for _, col := range columns {
		chart.Columns = append(chart.Columns, h.names[col])
	}
	// The heading states a comparison that all columns share.
	if one := chart.Columns; len(one) > 0 && !slices.ContainsFunc(one, func(c svg.Column) bool { return c.Sub != one[0].Sub }) {
		for i := range one {
			one[i].Sub = ""
		}
	}
	for _, row := range h.rows[:min(len(h.rows), maxHeatRows)] {
		r := svg.Row{Label: row}
		for _, col := range columns {
			var t *svg.Tile
			if at, ok := h.at[[2]string{row, col}]; ok {
				t = h.tile(at)
			}
			r.Tiles = append(r.Tiles, t)
		}
		chart.Rows = append(chart.Rows, r)
	}
	return chart
}

func (h heatMatrix) tile(r verdictRow) *svg.Tile {
	d := r.d
	text := d.VerdictText()
	if d.N > 0 && d.Kind != result.KindAssert {
		text = changeText(d, scaleOf(d))
	} else if _, _, headroom := limitTexts(d); d.Kind == result.KindAssert && headroom != humanize.None {
		text = headroom
	}
	title := model.Join(": ", model.Join(" at ", model.Plain(metricLabel(d)), h.v.cellName(r)),
		model.Join(" ", model.Plain(text), verdictText(r)))
	return &svg.Tile{
		Class: tileClass(r), Text: iconOf(r.gate, d.Verdict).Symbol() + " " + text, Title: title.String(), Anchor: h.v.anchors[d],
	}
}

// tileClass returns the CSS class of a tile, from its verdict and the number of margins by which the head is worse.
func tileClass(r verdictRow) string {
	step := func(margins float64) string {
		switch m := math.Abs(margins); {
		case m < 2:
			return "1"
		case m < 4:
			return "2"
		}
		return "3"
	}
	switch r.d.Verdict {
	case result.Regression:
		return "worse" + step(r.worse())
	case result.Improvement:
		return "better" + step(r.worse())
	case result.Pass:
		return "same"
	case result.Inconclusive:
		return "open"
	}
	return "none"
}
