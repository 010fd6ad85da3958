// Package trends lays a history out for reports: the series of each metric of each cell, with
// where they stand and what was accepted. It is apart from the history, which knows no reports.
package trends

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/servegate/pipeline/reports/series"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/gates/trend"
	"github.com/servegate/pipeline/pipeline/internal/history"
)

// Query chooses what of a history is reported.
type Query struct {
	// Branch of the sessions, "" for all.
	Branch string
	// Metrics and Cell (a label or a hash) that count, all where they are empty.
	Metrics []string
	Cell    string
	// Simulated sessions instead of the real ones.
	Simulated bool
	// Margin of a metric, a ratio less one.
	Margin func(metric string) float64
	// Now decides whether acceptances have expired.
	Now time.Time
}

// A series that so many sessions have left out, and that is so many of its own usual
// intervals old, counts as one that is not measured any more. A weekly benchmark beside
// nightly ones is late only after weeks.
const (
	retiredAfter     = 10
	retiredIntervals = 4
	// unknownInterval is that of a series with one session.
	unknownInterval = 7 * 24 * time.Hour
)

// Of lays a history out. The series of one cell and metric on several machines are parts of
// one.
func Of(h *history.History, q Query) (*series.History, error) {
	all, err := h.SeriesOf(q.Branch, q.Metrics)
	if err != nil {
		return nil, err
	}
	out := &series.History{Schema: series.Schema, Branch: q.Branch, Simulated: q.Simulated}
	for _, file := range h.Quarantined {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the record %s is left out: %s", file.Name, file.Reason))
	}
	all = slices.DeleteFunc(all, func(s history.Series) bool {
		return (s.Simulated != "") != q.Simulated || q.Cell != "" && q.Cell != s.Label && q.Cell != s.Cell
	})
	runs := map[string]time.Time{}
	for _, s := range all {
		if err := addPart(out, h, s, q, len(all)); err != nil {
			return nil, err
		}
		for _, p := range s.Points {
			if out.First.IsZero() || p.At.Before(out.First) {
				out.First = p.At
			}
			if p.At.After(out.Last) {
				out.Last = p.At
			}
			runs[p.Run] = p.At
		}
	}
	out.Sessions = len(runs)
	for i := range out.Trends {
		retire(&out.Trends[i], runs)
	}
	slices.SortFunc(out.Trends, func(a, b series.Trend) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Key, b.Key))
	})
	return out, nil
}

// trendKey tells the series of a cell and metric from all others, on whatever machine.
func trendKey(s history.Series) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "pipeline:series\x00%q %q %q %q", s.Cell, s.MetricID, s.Model, s.Simulated))
	return hex.EncodeToString(sum[:8])
}

// addPart adds a series to the trend that it is a part of. A finding is corrected for how
// many series are judged together.
func addPart(out *series.History, h *history.History, s history.Series, q Query, together int) error {
	key := trendKey(s)
	i := slices.IndexFunc(out.Trends, func(t series.Trend) bool { return t.Key == key })
	if i < 0 {
		i = len(out.Trends)
		out.Trends = append(out.Trends, series.Trend{
			Key: key, Benchmark: s.Benchmark, Cell: s.Cell, Label: s.Label, Model: s.Model, Simulated: s.Simulated, Metric: s.MetricID,
			MetricLabel: s.Metric.Label, Unit: string(s.Metric.Unit), Direction: string(s.Metric.Direction), Scale: string(s.Metric.Scale),
			Margin: q.Margin(s.MetricID),
		})
	}
	part, err := newPart(h, s, q, together)
	if err != nil {
		return err
	}
	t := &out.Trends[i]
	t.Parts = append(t.Parts, part)
	slices.SortStableFunc(t.Parts, func(a, b series.Part) int { return a.Points[0].Time.Compare(b.Points[0].Time) })
	return nil
}

func newPart(h *history.History, s history.Series, q Query, together int) (series.Part, error) {
	p := series.Part{Machine: s.Machine, Noise: s.Noise, Accepted: acceptance(h, s, q.Now)}
	values := make([]float64, len(s.Points))
	for i, v := range s.Points {
		values[i] = v.Value
		p.Points = append(p.Points, series.Point{Run: v.Run, Time: v.At.UTC(), Commit: v.Commit, Value: v.Value})
	}
	if s.Metric.Scale == metric.Log && slices.Min(values) <= 0 {
		p.Standing = trend.Standing{Condition: trend.Short, Since: -1, Recovered: -1} // nothing to compare by ratios
		return p, nil
	}
	terms := trend.Terms{Margin: q.Margin(s.MetricID), Accepted: -1, Together: together}
	if p.Accepted != nil {
		terms.Accepted = p.Accepted.Index
	}
	var err error
	if p.Standing, err = trend.Stand(s.Metric, values, s.Found, terms); err != nil {
		return p, fmt.Errorf("%s: %w", s.Label, err)
	}
	for _, c := range s.Found.ChangePoints {
		p.Changes = append(p.Changes, series.Change{
			Index: c.Index, State: c.State, Before: c.Before, After: c.After, Change: c.Change, Worse: c.Worse, P: c.P, Accepted: terms.Accepted >= 0 && c.Index <= p.Start,
		})
	}
	return p, nil
}

// acceptance is the last annotation that makes a session of the series the level that counts from
// then on. A session that is not in the series, of a pull request for example, stands for
// the first one after it.
func acceptance(h *history.History, s history.Series, now time.Time) *series.Acceptance {
	var last *series.Acceptance
	for _, r := range h.Acceptances(s.Cell, s.MetricID) {
		if r.Annotation.Expired(now) {
			continue
		}
		at := slices.IndexFunc(s.Points, func(v history.Value) bool { return v.Run == r.Annotation.Run })
		if at < 0 && !r.Annotation.Measured.IsZero() {
			at = slices.IndexFunc(s.Points, func(v history.Value) bool { return !v.At.Before(r.Annotation.Measured) })
		}
		if at >= 0 && (last == nil || at >= last.Index) {
			last = &series.Acceptance{ID: r.ID, Index: at, Time: r.Time.UTC(), Reason: r.Annotation.Reason, Author: r.Annotation.Author}
		}
	}
	return last
}

// retire marks the parts that many later sessions have not measured: on machines that are
// gone, or of benchmarks that are.
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
