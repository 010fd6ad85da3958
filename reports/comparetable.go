package reports

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
	"gonum.org/v1/gonum/stat"
)

// comparedRow is one metric of one cell, with the values of each side's runs. A side without the metric has none.
type comparedRow struct {
	benchmark string
	values    []result.AxisValue
	metric    metric.Metric
	sides     [][]float64
}

func comparedRows(cells []comparedCell, o Options) []comparedRow {
	var rows []comparedRow
	for _, c := range cells {
		for _, m := range comparedMetrics(o, c) {
			row := comparedRow{benchmark: c.benchmark, values: c.sides[0].Values, metric: m}
			for i := range c.sides {
				row.sides = append(row.sides, c.samples(i, m))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// repeated reports whether a side has several runs.
func (r comparedRow) repeated() bool {
	return slices.ContainsFunc(r.sides, func(values []float64) bool { return len(values) > 1 })
}

// single reports whether any side of any row has only one run.
func single(rows []comparedRow) bool {
	return slices.ContainsFunc(rows, func(r comparedRow) bool {
		return slices.ContainsFunc(r.sides, func(values []float64) bool { return len(values) == 1 })
	})
}

// table returns the table with one row for each metric of each cell.
func (c *compared) table() model.Section {
	rows, sides := c.rows, c.sides
	t := model.Table{Columns: []model.Column{{Title: "cell", Wrap: true}, {Title: "metric", Wrap: true}}}
	spreads := len(sides) == 2 || slices.ContainsFunc(rows, comparedRow.repeated) // a wide table has no space for empty columns
	for i, s := range sides {
		t.Columns = append(t.Columns, model.Column{Title: s.Title(i), Align: model.Right})
		if spreads {
			t.Columns = append(t.Columns, model.Column{Title: "±", Align: model.Right})
		}
		if i > 0 {
			title := "change"
			if crossed(sides) {
				title = "vs " + sides[s.Against].Title(s.Against)
			}
			t.Columns = append(t.Columns, model.Column{Title: title, Align: model.Right})
		}
	}
	t.Columns = append(t.Columns, model.Column{Title: "n", Align: model.Right})
	for _, r := range rows {
		t.Rows = append(t.Rows, comparisonRow(cmp.Or(c.first.valuesName(r.values), model.ShortAddr(r.benchmark)), r, sides, spreads))
	}
	s := model.Section{Tables: []model.Table{t}}
	if c.page != nil {
		s.Title = model.Plain("Side by side")
	}
	return s
}

func comparisonRow(name string, r comparedRow, sides []Side, spreads bool) model.Row {
	row := model.Row{Cells: []model.Line{model.Code(name), directed(r.metric.Label, r.metric.Direction)}}
	counts := make([]string, len(r.sides))
	scale := humanize.ScaleFor(string(r.metric.Unit), r.centers()...)
	for i, values := range r.sides {
		counts[i] = strconv.Itoa(len(values))
		value := humanize.None
		if len(values) > 0 {
			value = scale.Value(center(r.metric, values))
		}
		row.Cells = append(row.Cells, model.Plain(value))
		if spreads {
			row.Cells = append(row.Cells, model.Plain(spread(values)))
		}
		if i > 0 {
			row.Cells = append(row.Cells, model.Plain(r.changeText(i, sides[i].Against, scale)))
		}
	}
	if len(counts) > 2 && len(slices.Compact(slices.Clone(counts))) == 1 {
		counts = counts[:1] // a wide table has no space for repetition
	}
	row.Cells = append(row.Cells, model.Plain(strings.Join(counts, ", ")))
	return row
}

// centers returns the centers of the sides that have the metric.
func (r comparedRow) centers() []float64 {
	var out []float64
	for _, values := range r.sides {
		if len(values) > 0 {
			out = append(out, center(r.metric, values))
		}
	}
	return out
}

// change returns the change of one side against another: a ratio − 1 on the log scale, else a difference. It is NaN
// if a side lacks the metric.
func (r comparedRow) change(side, against int) float64 {
	if len(r.sides[side]) == 0 || len(r.sides[against]) == 0 {
		return math.NaN()
	}
	a, b := center(r.metric, r.sides[against]), center(r.metric, r.sides[side])
	if r.differs() {
		return b - a
	}
	return b/a - 1
}

// differs reports whether changes of the metric are differences.
func (r comparedRow) differs() bool {
	return r.metric.Scale == metric.Difference || r.metric.Scale == metric.Proportion
}

func (r comparedRow) changeText(side, against int, s humanize.Scale) string {
	c := r.change(side, against)
	switch {
	case math.IsNaN(c):
		return humanize.None
	case r.differs():
		return s.Difference(c)
	}
	return humanize.Percent(c)
}

// comparedMetrics returns the first side's metrics that another side has too. These are the requested ones, else the
// key metrics (or their counterparts from the tool of the results), one statistic of each time that has none of those,
// and the declared ones. If only the success rate is left, it returns all.
func comparedMetrics(o Options, c comparedCell) []metric.Metric {
	declared := c.declared()
	shared := func(id string) bool {
		m, sides := describe(declared, id), 0
		for i := range c.sides {
			if len(c.samples(i, m)) > 0 {
				sides++
			} else if i == 0 {
				return false
			}
		}
		return sides > 1
	}
	var out []metric.Metric
	add := func(ids ...string) {
		for _, id := range ids {
			if shared(id) && !slices.ContainsFunc(out, func(m metric.Metric) bool { return m.ID == id }) {
				out = append(out, describe(declared, id))
			}
		}
	}
	if len(o.Metrics) > 0 {
		for _, id := range o.Metrics {
			add(cmp.Or(describe(declared, id).ID, id))
		}
		return out
	}
	for _, id := range keyMetricsOf(func(id string) bool { return shared(id) || slices.ContainsFunc(likeIDs(id), shared) }) {
		if shared(id) {
			add(id)
		} else {
			add(likeIDs(id)...)
		}
	}
	for _, m := range declared {
		add(m.ID)
	}
	measured := func(m metric.Metric) bool { return m.ID != successRate }
	if slices.ContainsFunc(out, measured) {
		for _, group := range []string{"ttft", "tpot", "itl", "e2el"} { // a time without the key statistics has another one
			isShown := func(m metric.Metric) bool { return strings.HasPrefix(m.ID, group+".") || quantityOf(m.Group) == group }
			for _, stat := range []string{"mean", "value", "p50", "p90", "p95", "p99"} {
				if id := group + "." + stat; !slices.ContainsFunc(out, isShown) {
					add(append(likeIDs(id), id)...)
				}
			}
		}
		return out
	}
	out = nil
	add(allIDs(c)...)
	return out
}

const successRate = "success.rate"

// hasLike reports whether values contain a metric or its counterpart from another load generator.
func hasLike(values map[string]float64, id string) bool {
	return slices.ContainsFunc(append(likeIDs(id), id), func(id string) bool { _, ok := values[id]; return ok })
}

// quantityOf returns the quantity of another load generator's group, "" for a group of the registry.
func quantityOf(group string) string {
	for _, g := range metric.Foreign() {
		if g.Name == group {
			return g.Quantity
		}
	}
	return ""
}

// likeIDs returns the IDs under which other load generators report a metric of the registry.
func likeIDs(id string) []string {
	own := describe(nil, id)
	var ids []string
	for _, g := range metric.Foreign() {
		if g.Quantity == own.Group {
			ids = append(ids, g.Name+"."+own.Stat)
		}
	}
	return ids
}

// allIDs returns the metrics of a cell's first side: first the registry's in its order, then other load generators',
// then those without a description.
func allIDs(c comparedCell) []string {
	var ids []string
	for _, m := range metric.All() {
		ids = append(ids, m.ID)
	}
	for _, g := range metric.Foreign() {
		for _, m := range g.Metrics {
			ids = append(ids, m.ID)
		}
	}
	other := map[string]bool{}
	for id := range c.sides[0].Summary {
		other[id] = true
	}
	for _, r := range c.sides[0].Current() {
		for id := range r.Metrics {
			other[id] = true
		}
	}
	return append(ids, slices.Sorted(maps.Keys(other))...)
}

// samples returns the values of a metric over the valid runs. The passes of a launch count as one value. A cell with
// only a summary has one value.
func samples(c *result.Cell, m metric.Metric) []float64 {
	var launches [][]float64
	at := map[int]int{} // by repeat
	for _, r := range c.Current() {
		x, ok := r.Metrics[m.ID]
		if !ok || r.Status != result.RunOK {
			continue
		}
		if i, seen := at[r.Repeat]; seen && r.Pass > 0 {
			launches[i] = append(launches[i], x)
			continue
		}
		at[r.Repeat] = len(launches)
		launches = append(launches, []float64{x})
	}
	values := make([]float64, len(launches))
	for i, passes := range launches {
		values[i] = m.Mean(passes)
	}
	if x, ok := c.Summary[m.ID]; ok && len(values) == 0 {
		return []float64{x}
	}
	return values
}

// center returns the geometric mean on the log scale if all values are positive, else the mean.
func center(m metric.Metric, values []float64) float64 {
	if m.Scale = cmp.Or(m.Scale, metric.Log); slices.Min(values) <= 0 {
		return metric.Mean(values)
	}
	return m.Mean(values)
}

// spread formats the coefficient of variation of values.
func spread(values []float64) string {
	cv := variation(values)
	if !humanize.Finite(cv) {
		return humanize.None
	}
	return strings.TrimPrefix(humanize.Percent(cv), "+")
}

// variation returns the coefficient of variation: the standard deviation (divisor n − 1) over the absolute mean. It
// is NaN for fewer than two values.
func variation(values []float64) float64 {
	if len(values) < 2 {
		return math.NaN()
	}
	mean, sd := stat.MeanStdDev(values, nil)
	return sd / math.Abs(mean)
}
