package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/curves"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/svg"
)

// The bounds of curves.
const (
	maxCurvePoints = 200 // of a line
	maxCurveRows   = 100 // of the table
	maxCurveLines  = 6
	maxLimits      = 4 // of a figure
)

func (v *view) curves() model.Section { return v.page.curvesSection() }

// curvesSection has as many curves as there is room for.
func (p *pageView) curvesSection() model.Section {
	shown := p.curves[:min(len(p.curves), p.size.curves)]
	s := model.Section{Title: model.Plain("Curves over the load")}
	for i := range shown {
		s.Parts = append(s.Parts, curvePart(&shown[i], fmt.Sprintf("curve%d", i+1), i == 0))
	}
	if n := len(p.curves) - len(shown); n > 0 {
		s.Omitted = []model.Line{model.Plain(humanize.Count(n, "more workload") + " left out here; report --format curves has all.")}
	}
	return s
}

// curvePart draws one workload.
func curvePart(c *curves.Chart, id string, open bool) model.Part {
	d := curveDrawing{c: c, id: id}
	p := model.Part{ID: id, Open: open, Title: model.Code(c.Name()), Summary: model.Plain(c.Load.Title), Parts: d.latencies()}
	if charts := d.throughput(); len(charts) > 0 {
		p.Parts = append(p.Parts, model.Part{Title: model.Plain("Throughput"), Charts: charts})
	}
	table := curveTable(c).First(maxCurveRows)
	p.Parts = append(p.Parts, model.Part{Title: model.Plain("The points in figures"), Tables: []model.Table{table}})
	for _, note := range curveNotes(c) {
		p.Footnotes = append(p.Footnotes, model.Plain(note))
	}
	return p
}

// curveNotes say what the dots, bands and bars are, and what is missing.
func curveNotes(c *curves.Chart) []string {
	fewest, largest := math.MaxInt, 0
	overloaded, intervals := false, false
	for _, l := range c.Lines {
		for _, p := range l.Points {
			fewest, largest = min(fewest, len(p.Launches)), max(largest, len(p.Launches))
			overloaded = overloaded || p.Overloaded()
			intervals = intervals || len(p.Launches) >= curves.Fewest
		}
	}
	launches := humanize.Count(largest, "launch")
	if fewest < largest {
		launches = fmt.Sprintf("%d to %s", fewest, launches)
	}
	notes := []string{"Dots: geometric means over launches, " + launches + " behind each."}
	if largest == 1 {
		notes[0] = "Dots: one launch each, or results of which nothing says what launch they are of, so that nothing says how much they vary."
	}
	if intervals {
		notes[0] += fmt.Sprintf(" Bands, and bars beside dots of throughput: %g %% interval of that mean with the launch as the unit "+
			"(Student's t on the log scale), for each dot by itself, where there are %d launches or more.",
			100*curves.Confidence, curves.Fewest)
		if slices.ContainsFunc(c.Lines, func(l curves.Line) bool { return l.Role != curves.Other }) {
			notes[0] += " Gates compare launches in pairs, which is sharper than two bands."
		}
	} else {
		notes[0] += fmt.Sprintf(" There is no band: it takes %d launches.", curves.Fewest)
	}
	if slices.ContainsFunc(c.Lines, func(l curves.Line) bool { return l.Searched && l.Launches() > 1 }) {
		notes[0] = fmt.Sprintf("Dots: what each launch measured at the loads that its search tried; at a load of several launches their "+
			"geometric mean. Lines: mean over launches of each launch's own curve, straight between its loads on log scales, where %d launches or "+
			"more reach. Bands: %g %% interval of that mean with the launch as the unit (Student's t on the log scale), at each load by itself.",
			curves.Fewest, 100*curves.Confidence)
	}
	if k := capacityWords(c); k != "" {
		notes = append(notes, k)
	}
	if overloaded {
		notes = append(notes,
			"At dots with a red edge more was asked than the server could answer: the wait grows with the length of the run there.")
	}
	if n := len(c.WithoutGPUs); n > 0 && c.Throughput != nil {
		notes = append(notes, "Tokens per second and GPU are not drawn: nothing says how many GPUs served "+
			humanize.List(c.WithoutGPUs[:min(n, maxCurveLines)])+".")
	}
	if slices.ContainsFunc(c.Lines, func(l curves.Line) bool { return len(l.Points) > maxCurvePoints }) {
		notes = append(notes, fmt.Sprintf("Of each line %d points are drawn, evenly spread; report --format curves has all.", maxCurvePoints))
	}
	if c.Unplaced > 0 {
		notes = append(notes, humanize.Count(c.Unplaced, "cell")+" without a bound on the load cannot be placed, and left out.")
	}
	return notes
}

// capacityWords are the capacities that searches found.
func capacityWords(c *curves.Chart) string {
	var parts []string
	interval := ""
	for _, l := range c.Lines {
		k := l.Capacity
		if k == nil {
			continue
		}
		text := humanize.Number(k.Value)
		switch {
		case k.Bound == result.AtLeast:
			text = "at least " + text
		case k.Bound == result.AtMost:
			text = "at most " + text
		case k.Interval():
			text += fmt.Sprintf(" (%s … %s)", humanize.Number(k.Lower), humanize.Number(k.Upper))
			interval = "; the zone is its 95 % interval, over launches"
			if k.OneLaunch {
				interval = "; the zone is its 95 % interval, of the fit of one launch"
			}
		}
		parts = append(parts, l.Name+" "+text)
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Dotted: the capacity, the highest load within all limits (%s): %s%s.", c.Load.Unit,
		strings.Join(parts, ", "), interval)
}

// curveDrawing draws the charts of one workload.
type curveDrawing struct {
	c     *curves.Chart
	id    string
	drawn int
}

func (d *curveDrawing) nextID() string {
	d.drawn++
	return fmt.Sprintf("%s-%d", d.id, d.drawn)
}

// lines are those that are drawn, with their classes.
func (d *curveDrawing) lines(draw func(class string, l curves.Line)) {
	for i, l := range d.c.Lines[:min(len(d.c.Lines), maxCurveLines)] {
		class := fmt.Sprintf("s%d", i+1)
		if l.Role != curves.Other {
			class = l.Role.String()
		}
		l.Points = thinned(l.Points)
		draw(class, l)
	}
}

// thinned are as many points as are drawn, evenly spread, the first and the last among them.
func thinned(points []curves.Point) []curves.Point {
	if len(points) <= maxCurvePoints {
		return points
	}
	out := make([]curves.Point, maxCurvePoints)
	for i := range out {
		out[i] = points[i*(len(points)-1)/(maxCurvePoints-1)]
	}
	return out
}

// latencies are the charts over the load, those of one quantity together.
func (d *curveDrawing) latencies() []model.Part {
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

// throughput are the total over the load, and what a user sees over what a GPU gives, or over the
// total where nothing says how many GPUs there were.
func (d *curveDrawing) throughput() []model.Chart {
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
func (d *curveDrawing) overLoad(f curves.Figure) svg.Lines {
	s := d.scale(f)
	chart := svg.Lines{
		ID: d.nextID(), Title: f.Label + " over the " + strings.TrimSuffix(d.c.Load.Title, ", "+d.c.Load.Unit),
		Desc: "Dots: means over launches; band: 95 % interval of the mean over launches.",
		X:    d.loadAxis(),
		Y:    svg.Axis{Title: axisTitle(f, s), Format: humanize.Exact, Zero: true},
	}
	var values []float64
	d.lines(func(class string, l curves.Line) {
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
func (d *curveDrawing) against(x, y curves.Figure, title string) svg.Lines {
	chart := svg.Lines{
		ID: d.nextID(), Title: y.Label + " against those of a user: each dot is a load",
		Desc: "Right is faster for a user, up is cheaper. Bars: 95 % intervals of the mean over launches.",
		X: svg.Axis{Title: "tok/s of a user: " + strings.TrimPrefix(x.Label, "Tokens per second of a user, "),
			Format: humanize.Exact, Zero: true},
		Y: svg.Axis{Title: title + ", output", Format: humanize.Exact, Zero: true},
	}
	d.lines(func(class string, l curves.Line) {
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

// withTrend is a line as it is drawn: through its dots, and of searches of several launches beside
// them, where there is one. The dots of launches at loads of their own make no line.
func withTrend(dots svg.Series, l curves.Line, trend []svg.Point) []svg.Series {
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

// overTrend is the trend of a figure over the load.
func overTrend(l curves.Line, f curves.Figure, factor float64) []svg.Point {
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

// againstTrend is the trend of one figure over that of another, at the loads that both have.
func againstTrend(l curves.Line, x, y curves.Figure) []svg.Point {
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

// markOf is the class of a dot whose server fell behind.
func markOf(p curves.Point) string {
	if p.Overloaded() {
		return "overloaded"
	}
	return ""
}

// tip is what is shown to those who point at a dot.
func (d *curveDrawing) tip(l curves.Line, p curves.Point, value string, e curves.Estimate) string {
	text := fmt.Sprintf("%s at %s %s: %s, %s", l.Name, humanize.Exact(p.Load), d.c.Load.Unit, value, humanize.Count(e.N, "launch"))
	if p.Overloaded() {
		text += ", overloaded"
	}
	return text
}

// scale is the unit of a figure over all lines.
func (d *curveDrawing) scale(f curves.Figure) humanize.Scale {
	smallest := math.Inf(1)
	d.lines(func(_ string, l curves.Line) {
		for _, p := range l.Points {
			if e, ok := p.Estimate(f); ok {
				smallest = min(smallest, math.Abs(e.Value))
			}
		}
	})
	if f.Unit == string(metric.Seconds) && smallest < 1 { // what begins below a second has its ticks in milliseconds
		smallest = max(smallest, 1e-3)
	}
	return humanize.ScaleFor(f.Unit, smallest)
}

func axisTitle(f curves.Figure, s humanize.Scale) string {
	if s.Unit == "" {
		return f.Label
	}
	return f.Label + ", " + s.Unit
}

// capacity marks the load that a line's searches found.
func (d *curveDrawing) capacity(chart *svg.Lines, class string, l curves.Line) {
	k := l.Capacity
	if k == nil {
		return
	}
	tip := "capacity of " + l.Name + ": " + boundSign(k.Bound) + humanize.Number(k.Value) + " " + d.c.Load.Unit
	chart.Segments = append(chart.Segments, svg.Segment{X1: k.Value, Y1: math.Inf(-1), X2: k.Value, Y2: math.Inf(1),
		Class: "capacity " + class, Tip: tip})
	if k.Interval() {
		chart.Zones = append(chart.Zones, svg.Zone{From: k.Lower, To: k.Upper, Class: class})
	}
}

// limits draws those of a figure that are not far above all that was measured.
func (d *curveDrawing) limits(chart *svg.Lines, f curves.Figure, s humanize.Scale, values []float64) {
	on := d.c.LimitsOn(f)
	for _, l := range on[:min(len(on), maxLimits)] {
		y := l.Value * s.Factor
		tip := fmt.Sprintf("limit %s %s", operatorSign(l.Op), s.Value(l.Value))
		if len(values) > 0 && y > 3*slices.Max(values) && chart.Y.Kind == svg.Linear {
			chart.Desc += " The " + tip + " is far above."
			continue
		}
		chart.Segments = append(chart.Segments, svg.Segment{X1: math.Inf(-1), Y1: y, X2: math.Inf(1), Y2: y, Class: "margin",
			Tip: tip, Label: tip})
	}
}

// loadAxis has a tick at each load, where they are few and apart, and is logarithmic where the
// loads are multiples of each other rather than steps.
func (d *curveDrawing) loadAxis() svg.Axis {
	var loads []float64
	d.lines(func(_ string, l curves.Line) {
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
	return lo > 0 && hi >= 4*lo && (median(loads)-lo)/(hi-lo) <= third
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

// tallAxis is logarithmic where values differ by orders of magnitude, as waits do beyond
// saturation.
func tallAxis(values []float64) svg.Kind {
	const orders = 30
	if len(values) > 0 && slices.Min(values) > 0 && slices.Max(values) >= orders*slices.Min(values) {
		return svg.Log
	}
	return svg.Linear
}

// curveTable has the values that the charts draw.
func curveTable(c *curves.Chart) model.Table {
	figures := slices.Clone(c.Latencies)
	for _, f := range []*curves.Figure{c.PerUser, c.PerGPU, c.Throughput} {
		if f != nil {
			figures = append(figures, *f)
		}
	}
	t := model.Table{Columns: []model.Column{{Title: "line", Wrap: true}, {Title: c.Load.Title, Align: model.Right},
		{Title: "GPUs", Align: model.Right, Aside: true}, {Title: "launches", Align: model.Right}}}
	for _, f := range figures {
		t.Columns = append(t.Columns, model.Column{Title: f.Label, Align: model.Right})
	}
	for _, l := range c.Lines {
		for _, p := range l.Points {
			gpus := humanize.None
			if p.GPUs > 0 {
				gpus = fmt.Sprint(p.GPUs)
			}
			load := humanize.Exact(p.Load)
			if p.Overloaded() {
				load += " overloaded"
			}
			row := model.Row{Cells: []model.Line{model.Code(l.Name), model.Plain(load), model.Plain(gpus), model.Plain(fmt.Sprint(len(p.Launches)))}}
			for _, f := range figures {
				row.Cells = append(row.Cells, model.Plain(curveValue(p, f)))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// curveValue is an estimate with its interval.
func curveValue(p curves.Point, f curves.Figure) string {
	e, ok := p.Estimate(f)
	if !ok {
		return humanize.None
	}
	s := humanize.ScaleFor(f.Unit, e.Value)
	if !e.Interval() {
		return s.Value(e.Value)
	}
	return fmt.Sprintf("%s (%s … %s)", s.Value(e.Value), humanize.Number(e.Lower*s.Factor), humanize.Number(e.Upper*s.Factor))
}
