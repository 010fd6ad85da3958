package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/page"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/svg"
	"github.com/servegate/pipeline/reports/term"
)

// lag of a run's sends, in seconds.
func lag(r *result.Run) (float64, bool) {
	x, ok := r.Audit["lag_p99_s"].(float64)
	return x, ok
}

// lagChart has the client's lag in each run of the sides of c.
func (c *comparison) lagChart(id string) (template.HTML, bool) {
	chart := svg.Lines{
		ID: id, Title: "Lag of the client's sends in each run",
		Desc: "99th percentile of the lag behind the schedule. Where it is large, the client and not the server was measured.",
		X:    repeatAxis(), Y: svg.Axis{Title: "lag p99, ms", Zero: true, Format: humanize.Exact},
	}
	for _, s := range c.sides() {
		series := svg.Series{Name: s.name, Class: s.class, Dots: true}
		for _, r := range s.cell.Current() {
			if x, ok := lag(&r); ok && r.Status == result.RunOK && len(series.Points) < maxPairs {
				series.Points = append(series.Points, svg.Point{X: float64(r.Pair()), Y: x * 1e3})
			}
		}
		if len(series.Points) > 0 {
			sortPoints(series.Points)
			chart.Series = append(chart.Series, series)
		}
	}
	return page.Chart(chart), len(chart.Series) > 0
}

// sortPoints orders points by repeat: launches and runs are stored in the order in which
// they were made, those of repeats measured again at the end.
func sortPoints(points []svg.Point) {
	slices.SortStableFunc(points, func(a, b svg.Point) int { return cmp.Compare(a.X, b.X) })
}

// maxSeries is how many lines one chart can show apart.
const maxSeries = 6

// timelines are the charts of the whole session: start-up times and the client's lag.
func (v *view) timelines() []template.HTML {
	var charts []template.HTML
	for _, chart := range []func() (template.HTML, bool){v.startups, v.lags} {
		if c, ok := chart(); ok {
			charts = append(charts, c)
		}
	}
	return charts
}

// startups has the time from start to ready of each launch.
func (v *view) startups() (template.HTML, bool) {
	chart := svg.Lines{
		ID: "startup", Title: "Start-up time of each launch",
		Desc: "Seconds from start to ready, by repeat; launches that failed are left out.",
		X:    repeatAxis(), Y: svg.Axis{Title: "start-up, s", Zero: true, Format: humanize.Exact},
	}
	at, place := map[string]int{}, places(v.doc.Launches)
	for _, l := range v.doc.Launches {
		i, ok := at[l.Target]
		switch {
		case l.Startup <= 0:
			continue
		case !ok && len(at) == maxSeries:
			continue
		case !ok:
			i = len(at)
			at[l.Target] = i
			chart.Series = append(chart.Series, svg.Series{Name: lastName(l.Target), Class: fmt.Sprintf("s%d", i+1), Dots: true})
		}
		if s := &chart.Series[i]; len(s.Points) < maxTimeline {
			s.Points = append(s.Points, svg.Point{X: float64(place[l.Repeat]), Y: l.Startup * max(v.doc.TimeScale, 1)})
		}
	}
	for _, s := range chart.Series {
		sortPoints(s.Points)
	}
	if n := len(v.doc.Targets); n > maxSeries {
		chart.Desc += fmt.Sprintf(" Only the first %d of %d targets are drawn.", maxSeries, n)
	}
	return page.Chart(chart), len(chart.Series) > 0
}

// places are where repeats stand on an axis. Those that measured void runs again have numbers
// above every plan's, and stand right after the others.
func places(launches []result.Launch) map[int]int {
	at := map[int]int{}
	for _, l := range launches {
		at[l.Repeat] = l.Repeat
	}
	last := 0
	for _, n := range slices.Sorted(maps.Keys(at)) {
		last = min(n, last+1)
		at[n] = last
	}
	return at
}

// maxTimeline bounds the points of one line.
const maxTimeline = 500

// lags has, for each repeat, the median and the largest lag over its runs.
func (v *view) lags() (template.HTML, bool) {
	byRepeat := map[int][]float64{}
	v.eachRun(result.Cell.Current, func(_ cellAt, r *result.Run) {
		if x, ok := lag(r); ok && r.Status == result.RunOK {
			byRepeat[r.Pair()] = append(byRepeat[r.Pair()], x*1e3)
		}
	})
	mid, top := svg.Series{Name: "median run", Class: "s1", Dots: true}, svg.Series{Name: "worst run", Class: "s2", Dots: true}
	repeats := slices.Sorted(maps.Keys(byRepeat))
	for _, n := range repeats[:min(len(repeats), maxTimeline)] {
		values := byRepeat[n]
		slices.Sort(values)
		mid.Points = append(mid.Points, svg.Point{X: float64(n), Y: median(values)})
		top.Points = append(top.Points, svg.Point{X: float64(n), Y: values[len(values)-1]})
	}
	chart := svg.Lines{
		ID: "lag", Title: "Lag of the client's sends over the session",
		Desc:   "99th percentile of the lag behind the schedule in each run: the median and the largest over the runs of a repeat.",
		X:      repeatAxis(),
		Y:      svg.Axis{Title: "lag p99, ms", Zero: true, Format: humanize.Exact},
		Series: []svg.Series{mid, top},
	}
	return page.Chart(chart), len(mid.Points) > 0
}

func repeatAxis() svg.Axis { return svg.Axis{Title: "repeat", Format: wholeTick} }

// wholeTick labels whole numbers only.
func wholeTick(x float64) string {
	if x != float64(int(x)) {
		return ""
	}
	return fmt.Sprint(int(x))
}

// lastName is the end of an address, in which addresses differ.
func lastName(addr string) string {
	const most = 14
	return term.CutLeft(page.Clean(model.ShortAddr(addr), 0), most)
}
