package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// keyMetrics lists the metrics shown by default.
var keyMetrics = []string{
	"ttft.p50", "ttft.p99", "tpot.p50", "itl.p99", "e2el.p50",
	"request_throughput.mean", "output_throughput.mean", "success.rate",
}

// keyMetricsOf returns the key metrics of results. Results without output tokens, such as those of embeddings, have
// total instead of output throughput.
func keyMetricsOf(has func(id string) bool) []string {
	ids := slices.Clone(keyMetrics)
	if i := slices.Index(ids, "output_throughput.mean"); !has(ids[i]) {
		ids[i] = "total_throughput.mean"
	}
	return ids
}

// measured returns the section with the whole matrix: the geometric means of the key metrics for every cell, whether
// or not a gate judges it.
func (v *view) measured() model.Section {
	// Without gates, these values are the result.
	s := model.Section{Folded: len(v.gates) > 0}
	cells := 0
	for i := range v.doc.Benchmarks {
		b := &v.doc.Benchmarks[i]
		if !slices.ContainsFunc(b.Cells, func(c result.Cell) bool { return len(c.Summary) > 0 }) {
			continue
		}
		t := v.matrix(b)
		cells += len(b.Cells)
		t.Title = model.Join(": ", model.Code(b.Addr), nonEmpty(workload(b)))
		s.Tables = append(s.Tables, t)
	}
	s.Title = model.Plain("Measured values of " + humanize.Count(cells, "cell") + " (geometric means over valid runs)")
	return s
}

// workload returns the workload that all cells share, "" if they differ.
func workload(b *result.Benchmark) string {
	for _, c := range b.Cells {
		if c.Workload != b.Cells[0].Workload {
			return ""
		}
	}
	return b.Cells[0].Workload
}

func (v *view) matrix(b *result.Benchmark) model.Table {
	ids := v.metricsOf(b)
	if axis := v.columnAxis(b); axis != "" {
		return v.pivot(b, axis, ids)
	}
	return v.flatMatrix(b, ids)
}

// columnAxis returns the axis whose values become columns, "" for none.
func (v *view) columnAxis(b *result.Benchmark) string {
	if v.o.Cols != "" && slices.Contains(b.Axes, v.o.Cols) {
		return v.o.Cols
	}
	for _, r := range v.rows {
		if r.gate.Benchmark != b.Addr || r.d.Head == "" {
			continue
		}
		if a := v.comparedAxis(r); a != "" {
			return a
		}
	}
	return ""
}

// metricsOf returns the metrics to show of b that have a value. These are the requested ones, else the gated,
// declared and key metrics in the registry's order. If b has none of those, it returns all.
func (v *view) metricsOf(b *result.Benchmark) []string {
	has := func(id string) bool {
		return slices.ContainsFunc(b.Cells, func(c result.Cell) bool { _, ok := c.Summary[id]; return ok })
	}
	declared := v.doc.Measures.Declared()
	ids := v.o.Metrics
	if len(ids) == 0 {
		ids = keyMetricsOf(func(id string) bool {
			return slices.ContainsFunc(b.Cells, func(c result.Cell) bool { return hasLike(c.Summary, id) })
		})
		for _, r := range v.rows {
			if r.gate.Benchmark == b.Addr && r.d.Metric != "" && !slices.Contains(ids, r.d.Metric) {
				ids = append(ids, r.d.Metric)
			}
		}
		for _, m := range declared {
			if !slices.Contains(ids, m.ID) {
				ids = append(ids, m.ID)
			}
		}
		order := map[string]int{}
		for i, m := range declared.All() {
			order[m.ID] = i + 1
		}
		if !slices.ContainsFunc(ids, func(id string) bool { return id != successRate && has(id) }) {
			all := map[string]bool{}
			for _, c := range b.Cells {
				for id := range c.Summary {
					all[id] = true
				}
			}
			ids = slices.Sorted(maps.Keys(all))
		}
		slices.SortStableFunc(ids, func(x, y string) int { return cmp.Compare(order[x], order[y]) })
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !has(id) })
}

// flatMatrix returns a table with one row for each cell and one column for each metric.
func (v *view) flatMatrix(b *result.Benchmark, ids []string) model.Table {
	t := model.Table{Columns: []model.Column{{Title: "cell", Wrap: true}, {Title: "runs", Align: model.Right}}}
	scales := map[string]humanize.Scale{}
	for _, id := range ids {
		m := v.describe(id)
		var values []float64
		for _, c := range b.Cells {
			if x, ok := c.Summary[id]; ok {
				values = append(values, x)
			}
		}
		scales[id] = humanize.ScaleFor(string(m.Unit), values...)
		title := m.Label
		if u := scales[id].Unit; u != "" {
			title += ", " + u
		}
		t.Columns = append(t.Columns, model.Column{Title: title, Align: model.Right})
	}
	for i := range b.Cells {
		c := &b.Cells[i]
		row := model.Row{Cells: []model.Line{model.Code(cmp.Or(v.valuesName(c.Values), c.Target, model.ShortAddr(b.Addr))),
			model.Plain(runsText(c))}}
		for _, id := range ids {
			text := humanize.None
			if x, ok := c.Summary[id]; ok {
				text = boundOf(c, v.describe(id).Group).Sign() + humanize.Number(x*scales[id].Factor)
			}
			row.Cells = append(row.Cells, model.Plain(text))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// pivot returns a table with one row for each metric of each cell without the axis, and one column for each value of
// the axis.
func (v *view) pivot(b *result.Benchmark, axis string, ids []string) model.Table {
	t := model.Table{Columns: []model.Column{{Title: "cell", Wrap: true}, {Title: "metric", Wrap: true}}}
	var values, keys []string
	groups := map[string]map[string]*result.Cell{}
	for i := range b.Cells {
		c := &b.Cells[i]
		value, rest := result.SplitAxis(c.Values, axis)
		key := v.valuesName(rest)
		if groups[key] == nil {
			groups[key] = map[string]*result.Cell{}
			keys = append(keys, key)
		}
		if groups[key][value] == nil { // cells may collide if the options hide an axis: shows the first
			groups[key][value] = c
		}
		if !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	for _, value := range values {
		name := cmp.Or(v.doc.NameOf(axis, value), axis+"="+value)
		if len([]rune(name)) > maxColumnName {
			name = value
		}
		t.Columns = append(t.Columns, model.Column{Title: name, Align: model.Right})
	}
	for _, key := range keys {
		for _, id := range ids {
			t.Rows = append(t.Rows, pivotRow(cmp.Or(key, model.ShortAddr(b.Addr)), v.describe(id), values, groups[key]))
		}
	}
	return t
}

func pivotRow(key string, m metric.Metric, values []string, cells map[string]*result.Cell) model.Row {
	var all []float64
	for _, c := range cells {
		if x, ok := c.Summary[m.ID]; ok {
			all = append(all, x)
		}
	}
	s := humanize.ScaleFor(string(m.Unit), all...)
	row := model.Row{Cells: []model.Line{model.Code(key), directed(m.Label, m.Direction)}}
	for _, value := range values {
		text := humanize.None
		if c := cells[value]; c != nil {
			if x, ok := c.Summary[m.ID]; ok {
				text = boundOf(c, m.Group).Sign() + s.Value(x)
			}
		}
		row.Cells = append(row.Cells, model.Plain(text))
	}
	return row
}

// boundOf returns how the searches of a cell bound a metric of a group, "" if its values are exact.
func boundOf(c *result.Cell, group string) result.Bound {
	if group != "capacity" {
		return ""
	}
	for _, r := range c.Current() {
		if r.Status == result.RunOK && r.Search != nil && r.Search.Bound != "" {
			return r.Search.Bound
		}
	}
	return ""
}

// describe returns the entry of the registry or of the document, or one with only the ID if neither has it.
func (v *view) describe(id string) metric.Metric { return describe(v.doc.Measures.Declared(), id) }

func describe(declared metric.Declared, id string) metric.Metric {
	if m, ok := declared.Lookup(id); ok {
		return m
	}
	return metric.Metric{ID: id, Label: id}
}

// runsText formats the number of runs behind a cell's summary: "5 of 6".
func runsText(c *result.Cell) string {
	ok, runs := 0, c.Current()
	for _, r := range runs {
		if r.Status == result.RunOK {
			ok++
		}
	}
	if ok == len(runs) {
		return fmt.Sprint(ok)
	}
	return fmt.Sprintf("%d of %d", ok, len(runs))
}
