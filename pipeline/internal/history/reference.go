package history

import (
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/gates/trend"
)

// MinSeries is the least number of sessions in which changes are looked for.
const MinSeries = 6

// A long history is searched for changes in its first and its newest sessions: the first
// ones are what a creep is held against.
const (
	oldestSearched = 20
	newestSearched = 100
)

// keepReference leaves out the sessions that are not of the level which counts: those after
// a loss that was not accepted, at once or creeping, and those before the last gain. A
// baseline of all of them would follow what it is there to find.
func (w *Window) keepReference(q Query, out *tally) {
	m, ok := q.Measures.Declared().Lookup(q.Metric)
	if !ok || q.Margin <= 0 {
		return
	}
	searched := slices.Clone(w.Points)
	if n := len(searched); n > oldestSearched+newestSearched {
		searched = slices.Delete(searched, oldestSearched, n-newestSearched)
	}
	values := make([]float64, len(searched))
	for i, p := range searched {
		values[i] = p.Value
	}
	from, to := reference(m, values, q.Margin)
	if to == from {
		return
	}
	first, last := searched[from], searched[to-1]
	w.Points = slices.DeleteFunc(w.Points, func(p Point) bool {
		other := p.Time.Before(first.Time) || p.Time.After(last.Time)
		if other {
			out.add("of another level than the one that counts (" + first.ID + " to " + last.ID + ")")
		}
		return other
	})
}

// reference is the range of the values that stand for the level which counts. After a gain
// it stays with the level before until the new one has enough sessions for a verdict.
func reference(m metric.Metric, values []float64, margin float64) (from, to int) {
	from, to = 0, len(values)
	for end := len(values); end >= MinSeries; {
		found, err := trend.Detect(m, values[:end])
		if err != nil {
			break // a value without a place on the metric's scale
		}
		s, err := trend.Stand(m, values[:end], found, trend.Terms{Margin: margin, Accepted: -1})
		if err != nil {
			break
		}
		if end == len(values) {
			from, to = s.ReferenceStart, s.ReferenceEnd
		}
		if s.ReferenceEnd-s.ReferenceStart >= gates.MinSessions {
			return s.ReferenceStart, s.ReferenceEnd
		}
		if s.ReferenceStart == 0 {
			break
		}
		end = s.ReferenceStart
	}
	return from, to
}
