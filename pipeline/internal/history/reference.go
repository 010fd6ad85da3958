package history

import (
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/gates/trend"
)

// MinSeries is the least number of sessions in which changes are searched.
const MinSeries = 6

// In a long history, changes are searched in its first and its newest sessions. The first ones are
// the reference for a creep.
const (
	oldestSearched = 20
	newestSearched = 100
)

// keepReference removes the sessions outside the reference level: those after a loss that was not
// accepted, sudden or creeping, and those before the last gain. A baseline that included them would
// adapt to the losses that it should detect.
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

// reference returns the range of the values of the reference level. After a gain it stays at the
// previous level until the new one has enough sessions for a verdict.
func reference(m metric.Metric, values []float64, margin float64) (from, to int) {
	from, to = 0, len(values)
	for end := len(values); end >= MinSeries; {
		found, err := trend.Detect(m, values[:end])
		if err != nil {
			break // a value that is not on the metric's scale
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
