package trends

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/gates/trend"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/series"
)

// fleet is the history of machines of one kind.
type fleet struct {
	machine string
	runs    map[string]time.Time
	parts   []measured
}

// measured is a part of a trend, by their indices.
type measured struct{ trend, part int }

// fleets holds them by the hard facts of their machines.
type fleets map[string]*fleet

// add notes that a session measured a part.
func (f fleets) add(key, machine string, at measured, run string, when time.Time) {
	if f[key] == nil {
		f[key] = &fleet{machine: machine, runs: map[string]time.Time{}}
	}
	f[key].runs[run] = when
	if !slices.Contains(f[key].parts, at) {
		f[key].parts = append(f[key].parts, at)
	}
}

// shared returns the sessions in which most cells of a machine became worse together, and adds a
// warning for each episode. They count in no series: one cause outside of the cells is likelier
// than one in each.
func (f fleets) shared(h *series.History) map[string]bool {
	out := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(f)) {
		machine := f[key]
		runs := slices.SortedFunc(maps.Keys(machine.runs), func(a, b string) int { return machine.runs[a].Compare(machine.runs[b]) })
		for _, m := range trend.SharedMoves(machine.fleet(h, runs)) {
			for _, run := range runs[m.From:m.To] {
				out[run] = true
			}
			h.Warnings = append(h.Warnings, machine.warning(m, runs))
		}
	}
	return out
}

// fleet returns the values of a machine by session.
func (f *fleet) fleet(h *series.History, runs []string) trend.Fleet {
	at := make(map[string]int, len(runs))
	for i, run := range runs {
		at[run] = i
	}
	out := trend.Fleet{Sessions: len(runs)}
	for _, p := range f.parts {
		t := &h.Trends[p.trend]
		member := trend.Member{Unit: t.Benchmark + " " + t.Cell, Metric: metricOf(t), Margin: t.Margin, Values: map[int]float64{}}
		for _, v := range t.Parts[p.part].Points {
			member.Values[at[v.Run]] = v.Value
		}
		out.Series = append(out.Series, member)
	}
	return out
}

// warning describes an episode.
func (f *fleet) warning(m trend.Move, runs []string) string {
	date := func(i int) string { return f.runs[runs[i]].UTC().Format(time.DateOnly) }
	what := fmt.Sprintf("On %s %d of %d cells were worse together, by %s in the median, in %s from %s to %s.", f.machine, m.Worse, m.Cells,
		humanize.Percent(m.Change), humanize.Count(m.To-m.From, "session"), date(m.From), date(m.To-1))
	if m.Open {
		return what + fmt.Sprintf(" Such a move is taken for the machine's for %s, and is then judged like any other. If the code changed, "+
			"compare the commits before and after by pipeline bisect.", humanize.Count(trend.HeldSessions, "session"))
	}
	return what + " They recovered, so these sessions are taken for the machine's and count in no series."
}

// metricOf returns the metric of a trend.
func metricOf(t *series.Trend) metric.Metric {
	return metric.Metric{ID: t.Metric, Label: t.MetricLabel, Unit: metric.Unit(t.Unit), Direction: metric.Direction(t.Direction),
		Scale: metric.Scale(t.Scale)}
}

// kept returns the indices of the points that are not of the sessions left out.
func kept(p *series.Part, without map[string]bool) []int {
	out := make([]int, 0, len(p.Points))
	for i, v := range p.Points {
		if !without[v.Run] {
			out = append(out, i)
		}
	}
	return out
}

// restore converts the indices of a standing among the points that were judged to those among all.
func restore(s *trend.Standing, judged []int) {
	for _, i := range []*int{&s.Start, &s.Since, &s.ReferenceStart, &s.Recovered} {
		if *i >= 0 && *i < len(judged) {
			*i = judged[*i]
		}
	}
	if s.ReferenceEnd > 0 {
		s.ReferenceEnd = judged[s.ReferenceEnd-1] + 1
	}
}
