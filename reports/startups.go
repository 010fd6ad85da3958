package reports

import (
	"fmt"
	"maps"
	"slices"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/svg"
	"github.com/servegate/pipeline/reports/term"
)

// maxSeries is the maximum number of distinguishable lines in a chart.
const maxSeries = 6

// startups draws the time from start to ready of each launch.
func (v *view) startups() (model.Chart, bool) {
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
	return chart, len(chart.Series) > 0
}

// places returns the positions of repeats on an axis. Repeats that replace void runs have numbers above every plan's;
// they are placed directly after the others.
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

// lastName returns the end of an address, where addresses differ.
func lastName(addr string) string {
	const most = 14
	return term.CutLeft(escape.Text(model.ShortAddr(addr), 0), most)
}
