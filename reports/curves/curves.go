package curves

import (
	"cmp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// Chart shows the sides of one workload under one kind of load.
type Chart struct {
	Benchmark string             // address
	Values    []result.AxisValue // coordinates that distinguish it from the other charts of its benchmark
	Load      Load
	Lines     []Line
	// Latencies are the figures to draw over the load. PerUser and PerGPU are drawn against each
	// other, and Throughput is the total. Each is nil if no point has it.
	Latencies                   []Figure
	PerUser, PerGPU, Throughput *Figure
	// WithoutGPUs names the lines with an unknown number of GPUs, which prevent PerGPU.
	WithoutGPUs []string
	Limits      []Limit
	declared    metric.Declared // metrics that the document describes itself
	// Unplaced is the number of cells that have no place on the axis, because their load is
	// unlimited.
	Unplaced int
}

// Line is one side, or one configuration if the document compares no sides.
type Line struct {
	Name     string
	Role     Role
	Points   []Point // by load
	Capacity *Capacity
	// Searched lines contain the loads that searches tried, most of them in one launch.
	Searched bool
}

// Role is the role of a line in the comparison of the document.
type Role int

// The roles.
const (
	Other Role = iota
	Base
	Head
)

// String returns "base" or "head", "" for other lines.
func (r Role) String() string { return [...]string{"", "base", "head"}[r] }

// Limit is a limit of a gate or of an objective of a search.
type Limit struct {
	Metric string
	Op     result.Operator
	Value  float64
}

// Of returns the charts of a document, in the order of its benchmarks.
func Of(doc *result.Document) []Chart {
	var out []Chart
	for i := range doc.Benchmarks {
		b := &doc.Benchmarks[i]
		out = append(out, ofBenchmark(doc, b)...)
	}
	return out
}

func ofBenchmark(doc *result.Document, b *result.Benchmark) []Chart {
	sides := comparedBy(doc, b)
	samples, unplaced := placed(doc, b)
	var out []Chart
	for _, group := range groupBy(samples, func(s sample) string { return s.shape + "\x00" + s.load.Name }) {
		for _, chart := range sides.charts(group) {
			chart.Benchmark, chart.declared = b.Addr, doc.Measures.Declared()
			chart.Unplaced = unplaced
			chart.limits(doc)
			chart.figures()
			out = append(out, chart)
		}
	}
	return out
}

// comparison is the compared axis of a benchmark, "" for none, with the roles of its values and what to call the sides
// that have them.
type comparison struct {
	axis  string
	roles map[string]Role
	names map[string]string
}

// comparedBy finds the axis that the document compares in a benchmark.
func comparedBy(doc *result.Document, b *result.Benchmark) comparison {
	c := comparison{roles: map[string]Role{}}
	add := func(axis, base, head string) {
		if c.axis == "" && slices.Contains(b.Axes, axis) {
			c.axis = axis
		}
		if c.axis == axis && axis != "" {
			c.roles[base] = Base
			if _, ok := c.roles[head]; !ok {
				c.roles[head] = Head
			}
		}
	}
	for _, s := range doc.Sides {
		add(s.Axis, s.Base, s.Head)
	}
	for _, p := range doc.Pairings {
		if p.Benchmark == b.Addr {
			add(p.Axis, p.Base, p.Head)
		}
	}
	if len(c.roles) > 2 { // several heads: only colours distinguish them
		clear(c.roles)
	}
	if c.axis == "" {
		return c
	}
	c.names = map[string]string{}
	for _, cell := range b.Cells {
		value, _ := result.SplitAxis(cell.Values, c.axis)
		if _, ok := c.names[value]; !ok {
			c.names[value] = doc.NameOf(c.axis, value)
		}
	}
	return c
}

// maxLines is the largest number of configurations in one chart.
const maxLines = 6

// charts groups points under one kind of load into lines and charts. Axes that follow the load do
// not count as coordinates.
func (c comparison) charts(samples []sample) []Chart {
	follows := followers(samples, c.axis)
	rest := func(s sample) (side string, values []result.AxisValue) {
		for _, v := range s.cell.Values {
			switch {
			case v.Name == c.axis:
				side = v.Value
			case !follows[v.Name]:
				values = append(values, v)
			}
		}
		return side, values
	}
	coordinates := func(s sample) string { _, v := rest(s); return result.Coordinates(v, "\x00") }
	var out []Chart
	if c.axis != "" {
		for _, group := range groupBy(samples, coordinates) {
			chart := chartOf(group, func(s sample) string { side, _ := rest(s); return side })
			_, chart.Values = rest(group[0])
			for i := range chart.Lines {
				l := &chart.Lines[i]
				l.Role, l.Name = c.roles[l.Name], cmp.Or(c.names[l.Name], l.Name)
			}
			out = append(out, chart)
		}
		return rising(out)
	}
	shared := sharedValues(samples)
	name := func(s sample) string {
		_, values := rest(s)
		values = slices.DeleteFunc(slices.Clone(values), func(v result.AxisValue) bool { return shared[v] })
		return cmp.Or(result.Coordinates(values, " "), "measured")
	}
	if lines := groupBy(samples, name); len(lines) > maxLines {
		for _, group := range lines {
			chart := chartOf(group, name)
			_, chart.Values = rest(group[0])
			out = append(out, chart)
		}
		return rising(out)
	}
	return rising([]Chart{chartOf(samples, name)})
}

// chartOf makes a chart of points, one line for each name.
func chartOf(samples []sample, name func(sample) string) Chart {
	chart := Chart{Load: samples[0].load}
	for _, group := range groupBy(samples, name) {
		line := Line{Name: name(group[0])}
		for _, s := range group {
			line.Points = append(line.Points, s.point)
		}
		slices.SortStableFunc(line.Points, func(a, b Point) int { return cmp.Compare(a.Load, b.Load) })
		line.Capacity = capacityOf(group)
		line.Searched = group[0].searched
		chart.Lines = append(chart.Lines, line)
	}
	return chart
}

// rising removes the charts in which no line has two loads.
func rising(charts []Chart) []Chart {
	return slices.DeleteFunc(charts, func(c Chart) bool {
		return !slices.ContainsFunc(c.Lines, func(l Line) bool {
			return len(l.Points) > 1 && l.Points[0].Load < l.Points[len(l.Points)-1].Load
		})
	})
}

// followers returns the axes whose values correspond one to one to loads: the axis of the load
// itself, whatever its name, and axes that were scaled with it.
func followers(samples []sample, compared string) map[string]bool {
	type link struct {
		load  map[string]float64
		value map[float64]string
		not   bool
	}
	axes := map[string]*link{}
	for _, s := range samples {
		for _, v := range s.cell.Values {
			l := axes[v.Name]
			if l == nil {
				l = &link{load: map[string]float64{}, value: map[float64]string{}}
				axes[v.Name] = l
			}
			load, known := l.load[v.Value]
			value, taken := l.value[s.point.Load]
			l.not = l.not || known && load != s.point.Load || taken && value != v.Value
			l.load[v.Value], l.value[s.point.Load] = s.point.Load, v.Value
		}
	}
	out := map[string]bool{}
	for name, l := range axes {
		out[name] = name != compared && !l.not && len(l.load) > 1
	}
	return out
}

// sharedValues returns the coordinates that all points have.
func sharedValues(samples []sample) map[result.AxisValue]bool {
	count := map[result.AxisValue]int{}
	for _, s := range samples {
		for _, v := range s.cell.Values {
			count[v]++
		}
	}
	out := map[result.AxisValue]bool{}
	for v, n := range count {
		out[v] = n == len(samples)
	}
	return out
}

// groupBy groups samples with equal keys, in the order of first appearance.
func groupBy(samples []sample, key func(sample) string) [][]sample {
	var out [][]sample
	at := map[string]int{}
	for _, s := range samples {
		k := key(s)
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], s)
	}
	return out
}

// limits adds the limits of the gates on the chart's cells and those of its searches.
func (c *Chart) limits(doc *result.Document) {
	cells := map[string]bool{}
	for _, l := range c.Lines {
		for _, p := range l.Points {
			cells[p.cell.Hash] = true
			for _, o := range p.objectives {
				c.addLimit(Limit{o.Metric, OperatorOf(o.Metric), o.Limit})
			}
		}
	}
	for _, g := range doc.Gates {
		for _, d := range g.Decisions {
			if g.Benchmark == c.Benchmark && d.Kind == result.KindAssert && d.Limit != nil && d.Metric != "" && cells[d.Cell] {
				c.addLimit(Limit{d.Metric, d.LimitOp, *d.Limit})
			}
		}
	}
}

func (c *Chart) addLimit(l Limit) {
	if !slices.Contains(c.Limits, l) {
		c.Limits = append(c.Limits, l)
	}
}

// LimitsOn returns the limits on a figure.
func (c *Chart) LimitsOn(f Figure) []Limit {
	return slices.DeleteFunc(slices.Clone(c.Limits), func(l Limit) bool { return l.Metric != f.ID })
}

// Name returns the chart's benchmark with the coordinates that distinguish it.
func (c *Chart) Name() string {
	return strings.TrimSpace(c.Benchmark + " " + result.Coordinates(c.Values, " "))
}
