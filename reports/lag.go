package reports

import (
	"maps"
	"slices"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/svg"
)

// lag returns the 99th percentile of the lag of a run's sends, in seconds.
func lag(r *result.Run) (float64, bool) {
	x, ok := r.Audit["lag_p99_s"].(float64)
	return x, ok
}

// lagOfRuns draws the client's lag in each run of the sides of c.
func (v *view) lagOfRuns(c *comparison) []model.Part {
	chart := svg.Lines{
		ID: c.anchor + "-lag", Title: "Lag of the client's sends in each run",
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
	if len(chart.Series) == 0 {
		return nil
	}
	return []model.Part{{Title: model.Plain("Lag of the client"), Charts: []model.Chart{chart}}}
}

// lags draws, for each repeat, the median and the largest lag over its runs.
func (v *view) lags() (model.Chart, bool) {
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
	return chart, len(mid.Points) > 0
}
