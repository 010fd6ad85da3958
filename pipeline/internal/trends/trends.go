// Package trends prepares a history for reports: the series of each metric of each cell, with their condition
// and acceptances. It is separate from package history, which knows no reports.
package trends

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/gates/trend"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/pairing"
	"github.com/servegate/pipeline/reports/series"
	"github.com/servegate/pipeline/steps/probe"
)

// Query selects what of a history is reported.
type Query struct {
	// Branch of the sessions, "" for all.
	Branch string
	// Metrics and Cell (a label or a hash) to report, all if empty.
	Metrics []string
	Cell    string
	// Simulated selects simulated sessions instead of real ones.
	Simulated bool
	// Margin returns the margin of a metric, as a ratio less one.
	Margin func(metric string) float64
	// Now decides whether acceptances have expired.
	Now time.Time
}

// A series is retired if this many later sessions lack it, and if its age is this many of its usual intervals.
// Thus a weekly benchmark beside nightly ones is late only after weeks.
const (
	retiredAfter     = 10
	retiredIntervals = 4
	// unknownInterval is the interval of a series with one session.
	unknownInterval = 7 * 24 * time.Hour
)

// Of prepares a history. The series of one cell and metric on several machines are parts of one trend.
func Of(h *history.History, q Query) (*series.History, error) {
	out := &series.History{Schema: series.Schema, Branch: q.Branch, Simulated: q.Simulated}
	for _, file := range h.Quarantined {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the record %s is left out: %s", file.Name, file.Reason))
	}
	machines := fleets{}
	runs := q.collect(h, out, machines)
	without := machines.shared(out)
	out.Sessions = len(runs)
	together := 0
	for _, t := range out.Trends {
		together += len(t.Parts)
	}
	for i := range out.Trends {
		t := &out.Trends[i]
		for j := range t.Parts {
			if err := judge(h, t, &t.Parts[j], q, together, without); err != nil {
				return nil, err
			}
		}
		slices.SortStableFunc(t.Parts, func(a, b series.Part) int {
			return cmp.Or(a.Points[0].Time.Compare(b.Points[0].Time), cmp.Compare(a.Machine, b.Machine))
		})
		retire(t, runs)
	}
	slices.SortFunc(out.Trends, func(a, b series.Trend) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), pairing.Natural(a.Label, b.Label), cmp.Compare(a.Metric, b.Metric),
			cmp.Compare(a.Key, b.Key))
	})
	return out, nil
}

// collect sorts the values of the sessions into series, and returns the time of each session. A change of
// machine starts a new part, because it is not a change of the code.
func (q Query) collect(h *history.History, out *series.History, machines fleets) map[string]time.Time {
	runs := map[string]time.Time{}
	trends, parts := map[string]int{}, map[string]int{}
	for r := range h.Sessions(q.Branch) {
		declared := r.Measures.Declared()
		for _, c := range r.Cells {
			if (r.Simulated != "") != q.Simulated || q.Cell != "" && q.Cell != c.Label && q.Cell != c.Hash {
				continue
			}
			for _, id := range slices.Sorted(maps.Keys(c.Metrics)) {
				m, ok := declared.Lookup(id)
				if !ok || len(q.Metrics) > 0 && !slices.Contains(q.Metrics, id) {
					continue
				}
				key := trendKey(c, id, r.Simulated, r.Measures.Definition(id))
				i, ok := trends[key]
				if !ok {
					i = len(out.Trends)
					trends[key] = i
					out.Trends = append(out.Trends, series.Trend{
						Key: key, Benchmark: c.Benchmark, Cell: c.Hash, Label: c.Label, Model: c.Model, Simulated: r.Simulated, Metric: id,
						MetricLabel: m.Label, Unit: string(m.Unit), Direction: string(m.Direction), Scale: string(m.Scale), Margin: q.Margin(id),
					})
				}
				t := &out.Trends[i]
				at := key + probe.HardKey(r.Machine)
				j, ok := parts[at]
				if !ok {
					j = len(t.Parts)
					parts[at] = j
					t.Parts = append(t.Parts, series.Part{Machine: machineName(r.Machine)})
				}
				t.Parts[j].Points = append(t.Parts[j].Points, series.Point{Run: r.ID, Time: r.Time.UTC(), Commit: r.Source.Commit,
					Dirty: r.Source.Dirty, Value: c.Metrics[id]})
				runs[r.ID] = r.Time
				machines.add(probe.HardKey(r.Machine), machineName(r.Machine), measured{i, j}, r.ID, r.Time)
				if out.First.IsZero() || r.Time.Before(out.First) {
					out.First = r.Time
				}
				if r.Time.After(out.Last) {
					out.Last = r.Time
				}
			}
		}
	}
	return runs
}

// trendKey identifies the series of a cell and metric on any machine. For a metric declared in the file, each
// definition starts a new series.
func trendKey(c history.Cell, metric, simulated, definition string) string {
	of := fmt.Appendf(nil, "pipeline:series\x00%q %q %q %q", c.Hash, metric, c.Model, simulated)
	if definition != "" {
		of = fmt.Appendf(of, " %q", definition)
	}
	sum := sha256.Sum256(of)
	return hex.EncodeToString(sum[:8])
}

func machineName(facts map[string]string) string {
	if gpu := facts["gpu_name"]; gpu != "" && gpu != probe.Unavailable {
		return facts["gpu_count"] + "× " + gpu
	}
	return cmp.Or(facts["cpu_model"], "unknown")
}

// judge finds the change points of a part, and its condition, without the points of some sessions. It corrects for
// the number of parts judged together.
func judge(h *history.History, t *series.Trend, p *series.Part, q Query, together int, without map[string]bool) error {
	p.Accepted = acceptance(h, t, p, q.Now)
	at := kept(p, without)
	values := make([]float64, len(at))
	for i, k := range at {
		values[i] = p.Points[k].Value
	}
	m := metricOf(t)
	if len(values) == 0 {
		p.Standing = trend.Standing{Condition: trend.Short, Since: -1, Recovered: -1}
		return nil
	}
	if m.Scale == metric.Log && slices.Min(values) <= 0 {
		p.Standing = trend.Standing{Condition: trend.Short, Since: -1, Recovered: -1} // ratios need positive values
		return nil
	}
	var found trend.Series
	var err error
	if len(values) >= history.MinSeries {
		if found, err = trend.Detect(m, values); err != nil {
			return fmt.Errorf("%s: %w", t.Label, err)
		}
	}
	terms := trend.Terms{Margin: t.Margin, Accepted: -1, Together: together}
	if p.Accepted != nil {
		i, _ := slices.BinarySearch(at, p.Accepted.Index)
		terms.Accepted = min(i, len(at)-1)
	}
	if p.Standing, err = trend.Stand(m, values, found, terms); err != nil {
		return fmt.Errorf("%s: %w", t.Label, err)
	}
	start := p.Start
	restore(&p.Standing, at)
	p.Noise = found.Noise
	for _, c := range found.ChangePoints {
		p.Changes = append(p.Changes, series.Change{
			Index: at[c.Index], State: c.State, Before: c.Before, After: c.After, Change: c.Change, Worse: c.Worse, P: c.P,
			Accepted: terms.Accepted >= 0 && c.Index <= start,
		})
	}
	return nil
}

// acceptance returns the last valid annotation that accepts a session of the series as the new level. A session
// outside the series, for example of a pull request, stands for the first session after it.
func acceptance(h *history.History, t *series.Trend, p *series.Part, now time.Time) *series.Acceptance {
	var last *series.Acceptance
	for _, r := range h.Acceptances(t.Cell, t.Metric) {
		if r.Annotation.Expired(now) {
			continue
		}
		at := slices.IndexFunc(p.Points, func(v series.Point) bool { return v.Run == r.Annotation.Run })
		if at < 0 && !r.Annotation.Measured.IsZero() {
			at = slices.IndexFunc(p.Points, func(v series.Point) bool { return !v.Time.Before(r.Annotation.Measured) })
		}
		if at >= 0 && (last == nil || at >= last.Index) {
			last = &series.Acceptance{ID: r.ID, Index: at, Time: r.Time.UTC(), Reason: r.Annotation.Reason, Author: r.Annotation.Author}
		}
	}
	return last
}

// retire marks the parts that many later sessions did not measure, because the machine or benchmark no longer
// exists.
func retire(t *series.Trend, sessions map[string]time.Time) {
	for i := range t.Parts {
		p := &t.Parts[i]
		last, newest, later := p.Points[len(p.Points)-1].Time, time.Time{}, 0
		for _, at := range sessions {
			if at.After(last) {
				later++
			}
			if at.After(newest) {
				newest = at
			}
		}
		interval := unknownInterval
		if n := len(p.Points); n > 1 {
			interval = last.Sub(p.Points[0].Time) / time.Duration(n-1)
		}
		p.Retired = later >= retiredAfter && newest.Sub(last) > retiredIntervals*interval
	}
}
