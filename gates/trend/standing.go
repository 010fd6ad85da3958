package trend

import (
	"fmt"
	"math"

	"github.com/servegate/pipeline/gates/metric"
)

// Condition is what there is to do about a series.
type Condition string

// The conditions of a series.
const (
	// Short: too few values to look for changes in.
	Short Condition = "short"
	// Steady: nothing to do.
	Steady Condition = "steady"
	// Suspicious: the last value alone is outside what the others predict, and would be a
	// regression if the next one were as bad.
	Suspicious Condition = "suspected"
	// Regressed: worse than the reference by the threshold or more, by a confirmed change
	// or in each of the last two values where these are outside what the others predict.
	Regressed Condition = "regressed"
)

// leastValues is how many values a condition other than Short takes: two segments.
const leastValues = 2 * MinSegment

// Standing is where the end of a series stands against the level that counts.
type Standing struct {
	Condition Condition `json:"condition"`
	// Reference is the level that counts: the best one since the beginning of the series,
	// or since what was accepted. A loss in small steps adds up against it.
	Reference float64 `json:"reference"`
	// Level is that of the last segment, and Change what it is against the reference, as a
	// change point states it.
	Level  float64 `json:"level"`
	Change float64 `json:"change"`
	// Threshold is the change for the worse that counts, as a change point states it: the
	// margin, or twice the noise where that is more.
	Threshold float64 `json:"threshold"`
	// Start is the index of the first value that counts: 0, or where the accepted level
	// began.
	Start int `json:"start"`
	// Since is the index at which a regression began, −1 if there is none.
	Since int `json:"since"`
	// Recovered is the index at which the last regression ended, −1 if none has.
	Recovered int `json:"recovered"`
	// Regressions that have begun since the beginning, or since what was accepted.
	Regressions int `json:"regressions"`
}

// Stand tells where a series stands. The margin is a ratio less one on the log scale, and
// a share of the reference otherwise. Accepted is the index of the value with which the
// series begins anew, −1 for none.
func Stand(m metric.Metric, values []float64, s Series, margin float64, accepted int) (Standing, error) {
	x, err := onScale(m.Scale, values)
	if err != nil {
		return Standing{}, fmt.Errorf("standing of %s: %w", m.ID, err)
	}
	if !(margin > 0) || math.IsInf(margin, 0) {
		return Standing{}, fmt.Errorf("standing of %s: the margin is %g; it must be above 0, for example 0.05", m.ID, margin)
	}
	if accepted >= len(x) {
		return Standing{}, fmt.Errorf("standing of %s: value %d of %d is accepted", m.ID, accepted, len(x))
	}
	w := &walk{m: m, margin: margin, noise: s.Noise, x: x}
	w.split(s.ChangePoints)
	first := w.begin(accepted)
	w.reference, w.level = w.mean(first), w.mean(first)
	w.out = Standing{Condition: Steady, Start: w.cuts[first], Since: -1, Recovered: -1}
	for i := first + 1; i < len(w.cuts)-1; i++ {
		w.step(i)
	}
	return w.end(), nil
}

// walk goes over the segments of a series.
type walk struct {
	m             metric.Metric
	margin, noise float64
	x             []float64 // on the scale of comparison
	cuts          []int     // ends of the segments
	// tail is where suspected values begin, len(x) if there are none.
	tail             int
	reference, level float64
	out              Standing
}

// split cuts the series at its confirmed change points; the suspected tail is a segment of
// its own, which step holds to more.
func (w *walk) split(points []ChangePoint) {
	w.cuts, w.tail = []int{0}, len(w.x)
	for _, c := range points {
		w.cuts = append(w.cuts, c.Index)
		if c.State == Suspected {
			w.tail = c.Index
		}
	}
	w.cuts = append(w.cuts, len(w.x))
}

// begin is the segment with which the series begins: that of the accepted value. A change
// point may be found one value late; of two segments that meet there it is the one whose
// level is the nearer.
func (w *walk) begin(accepted int) int {
	i := 0
	for i+2 < len(w.cuts) && w.cuts[i+1] <= accepted {
		i++
	}
	if accepted < 0 || i+2 >= len(w.cuts) || w.cuts[i+1] != accepted+1 {
		return i
	}
	if v := w.x[accepted]; math.Abs(v-w.mean(i+1)) < math.Abs(v-w.mean(i)) {
		return i + 1
	}
	return i
}

func (w *walk) mean(segment int) float64 {
	return mean(w.x[w.cuts[segment]:w.cuts[segment+1]])
}

// worse is by how much v is worse than the reference on the scale of comparison.
func (w *walk) worse(v float64) float64 {
	if w.m.Direction == metric.LowerIsBetter {
		return v - w.reference
	}
	return w.reference - v
}

// threshold on the scale of comparison.
func (w *walk) threshold() float64 {
	if w.m.Scale == metric.Log {
		return math.Log1p(max(w.margin, 2*w.noise))
	}
	return max(w.margin*math.Abs(w.reference), 2*w.noise)
}

// step takes the series to the next segment.
func (w *walk) step(segment int) {
	from, to := w.cuts[segment], w.cuts[segment+1]
	level := w.mean(segment)
	bad := w.bad(level)
	if from == w.tail {
		last := w.bad(w.x[to-1])
		if to-from < 2 || w.bad(w.x[from]) != last {
			if last && w.out.Condition == Steady {
				w.out.Condition = Suspicious
			}
			return
		}
		bad = last
	}
	w.level = level
	switch {
	case bad && w.out.Condition != Regressed:
		w.out.Condition, w.out.Since = Regressed, from
		w.out.Regressions++
	case !bad && w.out.Condition == Regressed:
		w.out.Condition, w.out.Since, w.out.Recovered = Steady, -1, from
	}
	if w.worse(level) < 0 && from != w.tail {
		w.reference = level
	}
}

// bad reports what is worse than the reference by the threshold. A change of 0 is none,
// even where the threshold is 0 because the reference is.
func (w *walk) bad(v float64) bool {
	worse := w.worse(v)
	return worse > 0 && worse >= w.threshold()
}

// end states the standing as people do.
func (w *walk) end() Standing {
	s := w.out
	if len(w.x) < leastValues {
		s.Condition = Short
	}
	s.Reference, s.Level = w.reference, w.level
	s.Change = fromScale(w.m.Scale, w.level-w.reference)
	s.Threshold = w.threshold()
	if w.m.Scale == metric.Log {
		s.Reference, s.Level = math.Exp(w.reference), math.Exp(w.level)
		// Half the throughput is +100 % for the margin, and −50 % for who reads it.
		if w.m.Direction == metric.HigherIsBetter {
			s.Threshold = -s.Threshold
		}
		s.Threshold = fromScale(w.m.Scale, s.Threshold)
	} else if w.m.Direction == metric.HigherIsBetter {
		s.Threshold = -s.Threshold
	}
	return s
}
