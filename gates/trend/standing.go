package trend

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/servegate/pipeline/gates/metric"
)

// Condition tells what to do about a series.
type Condition string

// The conditions of a series.
const (
	// Short: too few values to look for changes.
	Short Condition = "short"
	// Steady: nothing to do.
	Steady Condition = "steady"
	// Suspicious: only the last value is outside the prediction from the others. It becomes a
	// regression if the next one is as bad.
	Suspicious Condition = "suspected"
	// Regressed: worse than the reference by the threshold or more. The reason is a confirmed
	// change, two last values outside the prediction from the others, or a creep: a small loss each
	// time. In each case the difference is significant after correction for the number of series
	// and of values.
	Regressed Condition = "regressed"
)

// leastValues is the least number of values for a condition other than Short: two segments.
const leastValues = 2 * MinSegment

// Standing compares the end of a series with the reference level.
type Standing struct {
	Condition Condition `json:"condition"`
	// Reference is the level to compare with: the best one since the beginning of the series, or
	// since an accepted value. Losses in small steps add up against it.
	Reference float64 `json:"reference"`
	// Level is the level of the last segment. Change is its change against the reference, as in a
	// change point.
	Level  float64 `json:"level"`
	Change float64 `json:"change"`
	// Threshold is the smallest change for the worse that counts, as in a change point: the margin,
	// or twice the noise if that is more.
	Threshold float64 `json:"threshold"`
	// Start is the index of the first value that counts: 0, or where the accepted level began.
	Start int `json:"start"`
	// Since is the index at which a regression began, −1 if there is none.
	Since int `json:"since" bounds:"-1,"`
	// Creep is true if the regression is not a step: the last five values are worse than the first
	// ten of the reference. Level and Reference are then the means of these.
	Creep bool `json:"creep,omitempty"`
	// ReferenceStart is the index of the first value of the reference, ReferenceEnd the index after
	// the last. Later values that drifted away are not included.
	ReferenceStart int `json:"reference_start"`
	ReferenceEnd   int `json:"reference_end"`
	// Recovered is the index at which the last regression ended, −1 if none has.
	Recovered int `json:"recovered" bounds:"-1,"`
	// Regressions counts those since the beginning, or since an accepted value.
	Regressions int `json:"regressions"`
}

// Terms are the parameters for judging a series.
type Terms struct {
	// Margin is the smallest loss that counts: a ratio less one on the log scale, a share of the
	// reference otherwise.
	Margin float64
	// Accepted is the index of the value at which the series starts anew, −1 for none.
	Accepted int
	// Together is the number of series that are judged together: a finding must be significant
	// after correction for all of them. 0 means 1.
	Together int
}

// falseFindings is the probability that any of the series judged together is found regressed
// although nothing changed. TestFleetWithoutAChange counts the results over a quarter of nights.
const falseFindings = 0.05

// leastGain is the least number of values that are better than the reference, at one level or several in a row, before the
// worst of these levels becomes the reference. A machine that is quiet for a week is not an improvement of the code.
const leastGain = 10

// leastCorrelation is the least correlation of neighbours that a significance test assumes. A short
// series, cut where it seems to have changed, shows less correlation than it has.
const leastCorrelation = 0.35

// level returns the significance that a finding in one of n values needs.
func (t Terms) level(n int) float64 { return falseFindings / float64(max(t.Together, 1)*n) }

// Stand returns the standing of a series.
func Stand(m metric.Metric, values []float64, s Series, terms Terms) (Standing, error) {
	x, err := onScale(m.Scale, values)
	if err != nil {
		return Standing{}, fmt.Errorf("standing of %s: %w", m.ID, err)
	}
	if !(terms.Margin > 0) || math.IsInf(terms.Margin, 0) {
		return Standing{}, fmt.Errorf("standing of %s: the margin is %g; it must be above 0, for example 0.05", m.ID, terms.Margin)
	}
	if terms.Accepted >= len(x) {
		return Standing{}, fmt.Errorf("standing of %s: value %d of %d is accepted", m.ID, terms.Accepted, len(x))
	}
	w := &walk{m: m, Terms: terms, noise: s.Noise, phi: s.Correlation, x: x}
	w.split(s.ChangePoints)
	first := w.begin(terms.Accepted)
	w.refer(first)
	w.level = w.reference
	w.out = Standing{Condition: Steady, Start: w.cuts[first], Since: -1, Recovered: -1}
	for i := first + 1; i < len(w.cuts)-1; i++ {
		w.step(i)
	}
	w.creep()
	return w.end(), nil
}

// walk goes through the segments of a series.
type walk struct {
	m metric.Metric
	Terms
	noise, phi float64
	x          []float64 // on the scale of comparison
	cuts       []int     // ends of the segments
	// tail is the index at which suspected values begin, len(x) if there are none.
	tail             int
	reference, level float64
	// from and to are the ends of the reference segment.
	from, to int
	// gain is the first segment from which on all are better than the reference.
	gain int
	out  Standing
}

// refer makes a segment the reference.
func (w *walk) refer(segment int) {
	w.from, w.to = w.cuts[segment], w.cuts[segment+1]
	w.reference, w.gain = w.mean(segment), segment+1
}

// referBetter makes the worst of the better levels up to a segment the reference, once they have enough values.
func (w *walk) referBetter(segment int) {
	for w.gain <= segment && w.cuts[segment+1]-w.cuts[w.gain] >= leastGain {
		worst := w.gain
		for i := w.gain + 1; i <= segment; i++ {
			if w.worse(w.mean(i)) >= w.worse(w.mean(worst)) {
				worst = i
			}
		}
		w.refer(worst)
	}
}

// split cuts the series at its confirmed change points. The suspected tail is a separate segment,
// with stricter conditions in step.
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

// begin returns the first segment that counts: that of the accepted value. A change point may be
// found one value late; of two segments that meet there it returns the one with the nearer level.
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
	return metric.Mean(w.x[w.cuts[segment]:w.cuts[segment+1]])
}

// worse returns by how much v is worse than the reference, on the scale of comparison.
func (w *walk) worse(v float64) float64 {
	if w.m.Direction == metric.LowerIsBetter {
		return v - w.reference
	}
	return w.reference - v
}

// threshold returns the threshold on the scale of comparison.
func (w *walk) threshold() float64 {
	if w.m.Scale == metric.Log {
		return w.atLeast(max(w.Margin, 2*w.noise))
	}
	return max(w.atLeast(w.Margin), 2*w.noise)
}

// atLeast converts a margin to the scale of comparison.
func (w *walk) atLeast(margin float64) float64 {
	if w.m.Scale == metric.Log {
		return math.Log1p(margin)
	}
	return margin * math.Abs(w.reference)
}

// step moves to the next segment.
func (w *walk) step(segment int) {
	from, to := w.cuts[segment], w.cuts[segment+1]
	level := w.mean(segment)
	bad := w.bad(level)
	if w.worse(level) >= 0 {
		w.gain = segment + 1
	}
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
	if bad && w.out.Condition != Regressed && !w.significant(from, to, level) {
		if w.out.Condition == Steady && to == len(w.x) {
			w.out.Condition = Suspicious
		}
		w.level = level
		return
	}
	w.level = level
	switch {
	case bad && w.out.Condition != Regressed:
		w.out.Condition, w.out.Since = Regressed, from
		w.out.Regressions++
	case !bad && w.out.Condition == Regressed:
		w.out.Condition, w.out.Since, w.out.Recovered = Steady, -1, from
	}
	if from != w.tail {
		w.referBetter(segment)
	}
}

// significant reports whether a segment's level is significantly worse than the reference,
// one-sided, by Student's t with the spread of values about their segments.
func (w *walk) significant(from, to int, level float64) bool {
	spread := search{x: w.x, cuts: w.cuts}
	phi := max(w.phi, leastCorrelation)
	se := spread.noise(phi) * math.Sqrt(varianceOfMean(to-from, phi)+varianceOfMean(w.to-w.from, phi))
	if se == 0 {
		return w.worse(level) > 0
	}
	n := float64(len(w.x))
	t := distuv.StudentsT{Sigma: 1, Nu: math.Max(2, n*(1-phi)/(1+phi)-float64(len(w.cuts)-1))}
	return t.CDF(-w.worse(level)/se) <= w.Terms.level(len(w.x))
}

// mended returns where the last segment begins that is better than the one before it; 0 if none is.
func (w *walk) mended() int {
	for i := len(w.cuts) - 2; i > 0; i-- {
		if w.worse(w.mean(i)) < w.worse(w.mean(i-1)) {
			return w.cuts[i]
		}
	}
	return 0
}

// creep looks for a slow loss since the reference level began, if no step was found.
func (w *walk) creep() {
	from := max(w.from, w.Accepted)
	if w.out.Condition == Regressed {
		return
	}
	x := make([]float64, 0, len(w.x)-from)
	for _, v := range w.x[from:] {
		x = append(x, w.worse(v))
	}
	c := findCreep(x, max(w.mended()-from, 0), w.atLeast(w.Margin), w.Terms.level(1))
	w.out.Regressions += c.begun
	if c.recovered >= 0 {
		w.out.Recovered = max(w.out.Recovered, from+c.recovered)
	}
	if c.since < 0 {
		return
	}
	anchor, newest := metric.Mean(w.x[from:from+creepAnchor]), metric.Mean(w.x[len(w.x)-creepNewest:])
	w.out.Condition, w.out.Since, w.out.Creep = Regressed, from+c.since, true
	w.from, w.to, w.reference, w.level = from, from+creepAnchor, anchor, newest
	w.noise = 0 // a creep inflates the spread about its segment, so only the margin applies
}

// bad reports whether v is worse than the reference by the threshold. A change of 0 is not, even if
// the threshold is 0 because the reference is.
func (w *walk) bad(v float64) bool {
	worse := w.worse(v)
	return worse > 0 && worse >= w.threshold()
}

// end returns the standing in the units of the metric.
func (w *walk) end() Standing {
	s := w.out
	if len(w.x) < leastValues {
		s.Condition = Short
	}
	s.Reference, s.Level = w.reference, w.level
	s.ReferenceStart, s.ReferenceEnd = w.from, min(w.to, w.tail)
	s.Change = w.m.Scale.Change(w.level - w.reference)
	s.Threshold = w.threshold()
	if w.m.Scale == metric.Log {
		s.Reference, s.Level = math.Exp(w.reference), math.Exp(w.level)
		// Half the throughput is +100 % for the margin, and −50 % for readers.
		if w.m.Direction == metric.HigherIsBetter {
			s.Threshold = -s.Threshold
		}
		s.Threshold = w.m.Scale.Change(s.Threshold)
	} else if w.m.Direction == metric.HigherIsBetter {
		s.Threshold = -s.Threshold
	}
	return s
}
