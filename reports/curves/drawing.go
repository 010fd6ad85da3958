package curves

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/svg"
)

// drawing draws the charts of one workload.
type drawing struct {
	c     *Chart
	id    string
	drawn int
}

func (d *drawing) nextID() string {
	d.drawn++
	return fmt.Sprintf("%s-%d", d.id, d.drawn)
}

// lines calls draw for each line to draw, with its class.
func (d *drawing) lines(draw func(class string, l Line)) {
	for i, l := range d.c.Lines[:min(len(d.c.Lines), maxCurveLines)] {
		class := fmt.Sprintf("s%d", i+1)
		if l.Role != Other {
			class = l.Role.String()
		}
		l.Points = thinned(l.Points)
		draw(class, l)
	}
}

// thinned returns at most maxCurvePoints points, evenly spread, with the first and the last.
func thinned(points []Point) []Point {
	if len(points) <= maxCurvePoints {
		return points
	}
	out := make([]Point, maxCurvePoints)
	for i := range out {
		out[i] = points[i*(len(points)-1)/(maxCurvePoints-1)]
	}
	return out
}

// latencies returns the charts over the load, grouped by quantity.
func (d *drawing) latencies() []model.Part {
	var out []model.Part
	at := map[string]int{}
	for _, f := range d.c.Latencies {
		label := f.Quantity() + " over the load"
		i, ok := at[label]
		if !ok {
			i, at[label] = len(out), len(out)
			out = append(out, model.Part{Title: model.Plain(label)})
		}
		out[i].Charts = append(out[i].Charts, d.overLoad(f))
	}
	return out
}

// throughput returns the chart of the total over the load, and one per GPU against per user. If the
// number of GPUs is unknown, the second has the total instead.
func (d *drawing) throughput() []model.Chart {
	if d.c.Throughput == nil {
		return nil
	}
	out := []model.Chart{d.overLoad(*d.c.Throughput)}
	if d.c.PerUser == nil {
		return out
	}
	if d.c.PerGPU != nil {
		return append(out, d.against(*d.c.PerUser, *d.c.PerGPU, "tok/s per GPU"))
	}
	return append(out, d.against(*d.c.PerUser, *d.c.Throughput, "tok/s in all"))
}

// overLoad draws a figure over the load.
func (d *drawing) overLoad(f Figure) svg.Lines {
	s := d.scale(f)
	chart := svg.Lines{
		ID: d.nextID(), Title: f.Label + " over the " + strings.TrimSuffix(d.c.Load.Title, ", "+d.c.Load.Unit),
		Desc: "Dots: means over launches; band: 95 % interval of the mean over launches.",
		X:    d.loadAxis(),
		Y:    svg.Axis{Title: axisTitle(f, s), Format: humanize.Exact, Zero: true},
	}
	var values []float64
	d.lines(func(class string, l Line) {
		series := svg.Series{Name: l.Name, Class: class, Dots: true}
		for _, p := range l.Points {
			e, ok := p.Estimate(f)
			if !ok {
				continue
			}
			low, high := e.Value, e.Value
			if e.Interval() {
				low, high = e.Lower, e.Upper
			}
			values = append(values, e.Value*s.Factor)
			series.Points = append(series.Points, svg.Point{
				X: p.Load, Y: e.Value * s.Factor, Low: low * s.Factor, High: high * s.Factor, Tip: d.tip(l, p, s.Value(e.Value), e), Mark: markOf(p),
			})
		}
		chart.Series = append(chart.Series, withTrend(series, l, overTrend(l, f, s.Factor))...)
		d.capacity(&chart, class, l)
	})
	chart.Y.Kind = tallAxis(values)
	d.limits(&chart, f, s, values)
	return chart
}

// against draws one figure over another: each dot is a load.
func (d *drawing) against(x, y Figure, title string) svg.Lines {
	chart := svg.Lines{
		ID: d.nextID(), Title: y.Label + " against those of a user: each dot is a load",
		Desc: "Right is faster for a user, up is cheaper. Bars: 95 % intervals of the mean over launches.",
		X: svg.Axis{Title: "tok/s of a user: " + strings.TrimPrefix(x.Label, "Tokens per second of a user, "),
			Format: humanize.Exact, Zero: true},
		Y: svg.Axis{Title: title + ", output", Format: humanize.Exact, Zero: true},
	}
	d.lines(func(class string, l Line) {
		series := svg.Series{Name: l.Name, Class: class, Dots: true}
		for _, p := range l.Points {
			ex, okX := p.Estimate(x)
			ey, okY := p.Estimate(y)
			if !okX || !okY {
				continue
			}
			tip := d.tip(l, p, humanize.Number(ex.Value)+" tok/s of a user, "+humanize.Number(ey.Value)+" "+title, ey)
			series.Points = append(series.Points, svg.Point{X: ex.Value, Y: ey.Value, Low: ey.Value, High: ey.Value, Tip: tip, Mark: markOf(p)})
			if ex.Interval() {
				chart.Segments = append(chart.Segments, svg.Segment{X1: ex.Lower, Y1: ey.Value, X2: ex.Upper, Y2: ey.Value, Class: "whisker " + class})
			}
			if ey.Interval() {
				chart.Segments = append(chart.Segments, svg.Segment{X1: ex.Value, Y1: ey.Lower, X2: ex.Value, Y2: ey.Upper, Class: "whisker " + class})
			}
		}
		chart.Series = append(chart.Series, withTrend(series, l, againstTrend(l, x, y))...)
	})
	return chart
}

// withTrend returns the series of a line: through its dots, or for searches of several launches the
// trend, with the dots alone. Launches at different loads do not form a line through their dots.
func withTrend(dots svg.Series, l Line, trend []svg.Point) []svg.Series {
	switch {
	case len(dots.Points) == 0:
		return nil
	case !l.Searched || l.Launches() < 2:
		return []svg.Series{dots}
	}
	named := svg.Series{Name: dots.Name, Class: dots.Class, Points: trend}
	dots.Bare = true
	return []svg.Series{named, dots}
}

// overTrend returns the trend of a figure over the load.
func overTrend(l Line, f Figure, factor float64) []svg.Point {
	if !l.Searched {
		return nil
	}
	var out []svg.Point
	for _, t := range l.Trend(f) {
		low, high := t.Value, t.Value
		if t.Interval() {
			low, high = t.Lower, t.Upper
		}
		out = append(out, svg.Point{X: t.Load, Y: t.Value * factor, Low: low * factor, High: high * factor})
	}
	return out
}

// againstTrend returns the trend of one figure over another, at common loads.
func againstTrend(l Line, x, y Figure) []svg.Point {
	if !l.Searched {
		return nil
	}
	at := map[float64]float64{}
	for _, t := range l.Trend(x) {
		at[t.Load] = t.Value
	}
	var out []svg.Point
	for _, t := range l.Trend(y) {
		if v, ok := at[t.Load]; ok {
			out = append(out, svg.Point{X: v, Y: t.Value, Low: t.Value, High: t.Value})
		}
	}
	return out
}

// markOf returns the class of a dot whose server fell behind.
func markOf(p Point) string {
	if p.Overloaded() {
		return "overloaded"
	}
	return ""
}

// tip returns the text that appears when the pointer is at a dot.
func (d *drawing) tip(l Line, p Point, value string, e Estimate) string {
	text := fmt.Sprintf("%s at %s %s: %s, %s", l.Name, humanize.Exact(p.Load), d.c.Load.Unit, value, humanize.Count(e.N, "launch"))
	if p.Overloaded() {
		text += ", overloaded"
	}
	return text
}

// scale returns the unit of a figure over all lines.
func (d *drawing) scale(f Figure) humanize.Scale {
	smallest := math.Inf(1)
	d.lines(func(_ string, l Line) {
		for _, p := range l.Points {
			if e, ok := p.Estimate(f); ok {
				smallest = min(smallest, math.Abs(e.Value))
			}
		}
	})
	if f.Unit == string(metric.Seconds) && smallest < 1 { // axes that begin below a second use milliseconds
		smallest = max(smallest, 1e-3)
	}
	return humanize.ScaleFor(f.Unit, smallest)
}

func axisTitle(f Figure, s humanize.Scale) string {
	if s.Unit == "" {
		return f.Label
	}
	return f.Label + ", " + s.Unit
}

// capacity marks the load that a line's searches found.
func (d *drawing) capacity(chart *svg.Lines, class string, l Line) {
	k := l.Capacity
	if k == nil {
		return
	}
	tip := "capacity of " + l.Name + ": " + k.Bound.Sign() + humanize.Number(k.Value) + " " + d.c.Load.Unit
	chart.Segments = append(chart.Segments, svg.Segment{X1: k.Value, Y1: math.Inf(-1), X2: k.Value, Y2: math.Inf(1),
		Class: "capacity " + class, Tip: tip})
	if k.Interval() {
		chart.Zones = append(chart.Zones, svg.Zone{From: k.Lower, To: k.Upper, Class: class})
	}
}

// limits draws the limits on a figure, except those far above all values.
func (d *drawing) limits(chart *svg.Lines, f Figure, s humanize.Scale, values []float64) {
	on := d.c.LimitsOn(f)
	for _, l := range on[:min(len(on), maxLimits)] {
		y := l.Value * s.Factor
		tip := fmt.Sprintf("limit %s %s", l.Op.Sign(), s.Value(l.Value))
		if len(values) > 0 && y > 3*slices.Max(values) && chart.Y.Kind == svg.Linear {
			chart.Desc += " The " + tip + " is far above."
			continue
		}
		chart.Segments = append(chart.Segments, svg.Segment{X1: math.Inf(-1), Y1: y, X2: math.Inf(1), Y2: y, Class: "margin",
			Tip: tip, Label: tip})
	}
}

// loadAxis returns an axis with a tick at each load, if they are few and have room. It is
// logarithmic if the loads increase by factors rather than steps.
func (d *drawing) loadAxis() svg.Axis {
	var loads []float64
	d.lines(func(_ string, l Line) {
		for _, p := range l.Points {
			loads = append(loads, p.Load)
		}
	})
	slices.Sort(loads)
	loads = slices.Compact(loads)
	a := svg.Axis{Title: d.c.Load.Title, Format: humanize.Exact}
	if multiples(loads) {
		a.Kind = svg.Log
	}
	if apart(loads, a.Kind) {
		a.Ticks = loads
	}
	return a
}

// multiples reports whether sorted loads crowd at the lower end of a linear axis.
func multiples(loads []float64) bool {
	const third = 1.0/3 + 1e-9
	if len(loads) < 3 {
		return false
	}
	lo, hi := loads[0], loads[len(loads)-1]
	middle := loads[(len(loads)-1)/2]/2 + loads[len(loads)/2]/2
	return lo > 0 && hi >= 4*lo && (middle-lo)/(hi-lo) <= third
}

// apart reports whether ticks at all loads leave room for their labels.
func apart(loads []float64, kind svg.Kind) bool {
	const most, room = 9, 0.08 // of the width
	if len(loads) < 2 || len(loads) > most {
		return false
	}
	place := func(x float64) float64 { return x }
	if kind == svg.Log {
		place = math.Log
	}
	width := place(loads[len(loads)-1]) - place(loads[0])
	for i := 1; i < len(loads); i++ {
		if place(loads[i])-place(loads[i-1]) < room*width {
			return false
		}
	}
	return true
}

// tallAxis returns a logarithmic axis if values differ by orders of magnitude, like waits beyond
// saturation.
func tallAxis(values []float64) svg.Kind {
	const orders = 30
	if len(values) > 0 && slices.Min(values) > 0 && slices.Max(values) >= orders*slices.Min(values) {
		return svg.Log
	}
	return svg.Linear
}
