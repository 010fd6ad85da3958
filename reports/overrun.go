package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/svg"
)

// figure describes a chart over the time of a run.
type figure struct {
	title, axis string
	series      string   // name of the series
	sources     []string // in order of preference
	factor      float64
}

// figures lists the figures in the order of drawing.
var figures = []figure{
	{"Time to the first token over the run", "TTFT, ms", "ttft", []string{"client"}, 1e3},
	{"Requests in the batch over the run", "running", "running", []string{"metrics", "log"}, 1},
	{"Requests in the queue over the run", "waiting", "waiting", []string{"metrics", "log"}, 1},
	{"KV cache in use over the run", "KV cache, %", "kv_usage", []string{"metrics", "log"}, 100},
	{"Prefix cache hits over the run", "hits, %", "hit_rate", []string{"metrics", "log"}, 100},
	{"Generated tokens over the run", "tok/s", "generation_throughput", []string{"metrics", "log"}, 1},
	{"Lag of the client's sends over the run", "lag, ms", "lag", []string{"client"}, 1e3},
}

// Limits of charts over the time of a run.
const (
	maxRunCharts = 16 // of a comparison
	maxRunPoints = 40 // of a line
	maxPoints    = 2000
	maxMembers   = 8
	// maxMemberName exceeds the length that a block's name needs.
	maxMemberName = 60
)

// overRun draws what servers and client reported over the time of the runs of both sides. A deployment's members are
// drawn separately.
func (v *view) overRun(c *comparison) []model.Part {
	var parts []model.Part
	drawn := 0
	for _, member := range c.seriesMembers() {
		part := model.Part{Title: model.Plain("Over the time of a run")}
		if member != "" {
			part.Title[0].Text += ": " + escape.Text(member, maxMemberName)
		}
		for _, f := range figures {
			chart, zero := c.runChart(f, member, fmt.Sprintf("%s-t%d", c.anchor, drawn+1))
			if drawn < maxRunCharts && !zero {
				drawn++
				part.Charts = append(part.Charts, chart)
			}
		}
		if len(part.Charts) > 0 {
			parts = append(parts, part)
		}
	}
	return parts
}

// seriesMembers returns the members of deployments that have a figure, first "" for figures of the whole.
func (c *comparison) seriesMembers() []string {
	var members []string
	known := func(x result.Series) bool {
		return slices.ContainsFunc(figures, func(f figure) bool { return f.series == x.Name })
	}
	for _, s := range c.sides() {
		for _, r := range s.cell.Current() {
			for _, x := range r.Series {
				if known(x) && !slices.Contains(members, x.Member) && len(members) < maxMembers {
					members = append(members, x.Member)
				}
			}
		}
	}
	slices.Sort(members)
	return members
}

// runChart draws a figure of a member. It reports whether all values are zero.
func (c *comparison) runChart(f figure, member, id string) (chart svg.Lines, zero bool) {
	title := f.title
	if member != "" {
		title += ", " + member
	}
	chart = svg.Lines{
		ID: id, Title: title,
		Desc: "Line: median of the runs; band: smallest to largest run. Seconds count from the first planned request.",
		X:    svg.Axis{Title: "time of the run, s", Format: humanize.Exact}, Y: svg.Axis{Title: f.axis, Zero: true, Format: humanize.Exact},
	}
	largest := 0.0
	for _, s := range c.sides() {
		if points := overRuns(f.of(s.cell, member), f.factor); len(points) > 1 {
			chart.Series = append(chart.Series, svg.Series{Name: s.name, Class: s.class, Points: points})
			for _, p := range points {
				largest = max(largest, math.Abs(p.Low), p.High)
			}
		}
	}
	return chart, largest == 0
}

// of returns the figure's series in a cell's current successful runs.
func (f figure) of(cell *result.Cell, member string) []result.Series {
	var out []result.Series
	for _, r := range cell.Current() {
		if r.Status != result.RunOK || len(out) >= maxPairs {
			continue
		}
		var best *result.Series
		for i, s := range r.Series {
			rank := slices.Index(f.sources, s.Source)
			if s.Name != f.series || s.Member != member || rank < 0 || min(len(s.T), len(s.V)) == 0 {
				continue
			}
			if best == nil || rank < slices.Index(f.sources, best.Source) {
				best = &r.Series[i]
			}
		}
		if best != nil {
			out = append(out, *best)
		}
	}
	return out
}

// overRuns divides the time of the runs into equal parts, each with about one point of every run. For each part it
// returns the median, the smallest and the largest run.
func overRuns(runs []result.Series, factor float64) []svg.Point {
	lo, hi := math.Inf(1), math.Inf(-1)
	var lengths []float64
	for _, s := range runs {
		n := min(len(s.T), len(s.V), maxPoints)
		lengths = append(lengths, float64(n))
		for _, t := range s.T[:n] {
			lo, hi = min(lo, t), max(hi, t)
		}
	}
	slices.Sort(lengths)
	if len(runs) == 0 || median(lengths) < 2 { // one point per run is not a time series
		return nil
	}
	parts := min(max(2, int(median(lengths))), maxRunPoints)
	width := (hi - lo) / float64(parts)
	if !(width > 0) || !humanize.Finite(width) {
		return nil
	}
	values := make([][]float64, parts) // of the runs, by part
	for _, s := range runs {
		for part, v := range meansByPart(s, lo, width, parts) {
			if v *= factor; humanize.Finite(v) {
				values[part] = append(values[part], v)
			}
		}
	}
	var points []svg.Point
	for part, of := range values {
		if len(of) == 0 {
			continue
		}
		slices.SortFunc(of, cmp.Compare[float64])
		points = append(points, svg.Point{
			X: min(hi, lo+(float64(part)+0.5)*width), Y: median(of), Low: of[0], High: of[len(of)-1],
		})
	}
	return points
}

// meansByPart returns the mean of a series in each part of the time, NaN for a part without points.
func meansByPart(s result.Series, lo, width float64, parts int) []float64 {
	sums, counts := make([]float64, parts), make([]float64, parts)
	for i := range min(len(s.T), len(s.V), maxPoints) {
		part := max(0, min(parts-1, int((s.T[i]-lo)/width)))
		sums[part] += s.V[i]
		counts[part]++
	}
	for part := range sums {
		sums[part] /= counts[part] // 0/0 is NaN
	}
	return sums
}
