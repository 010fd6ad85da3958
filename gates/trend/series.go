package trend

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/servegate/pipeline/gates/metric"
)

const (
	// suspicion is the two-sided level at which the last points are suspected.
	suspicion = 0.01
	// leastHistory is the least number of points before suspected ones.
	leastHistory = 10
)

// series returns the result of the search.
func (s *search) series(m metric.Metric) Series {
	early, p := s.retract()
	phi := s.correlation(s.cuts)
	r := Series{Correlation: phi, Noise: m.Scale.Change(s.noise(phi))}
	for i := 1; i < len(s.cuts)-1; i++ {
		c := s.change(m, s.cuts[i-1], s.cuts[i], s.cuts[i+1])
		c.State, c.P = Confirmed, s.p[s.cuts[i]]
		r.ChangePoints = append(r.ChangePoints, c)
	}
	at := early
	if at == 0 {
		at, p = s.suspect(phi)
	}
	if at > 0 {
		c := s.change(m, s.cuts[len(s.cuts)-2], at, len(s.x))
		c.State, c.P = Suspected, p
		r.ChangePoints = append(r.ChangePoints, c)
	}
	return r
}

// change describes a change at the index at between two ends.
func (s *search) change(m metric.Metric, from, at, to int) ChangePoint {
	before, after := metric.Mean(s.x[from:at]), metric.Mean(s.x[at:to])
	c := ChangePoint{Index: at, Before: before, After: after, Change: m.Scale.Change(after - before)}
	if m.Scale == metric.Log {
		c.Before, c.After = math.Exp(before), math.Exp(after)
	}
	c.Worse = c.Change > 0 == (m.Direction == metric.LowerIsBetter)
	return c
}

// retract removes a last change point that only one or two points support: if the step is large,
// they draw others into the smallest segment. It returns the index of the step, 0 if the change
// point stays.
func (s *search) retract() (at int, p float64) {
	if len(s.cuts) < 3 {
		return 0, 1
	}
	from, cut, to := s.cuts[len(s.cuts)-3], s.cuts[len(s.cuts)-2], len(s.x)
	x := s.x[from:]
	at = cut
	for later := to - MinSegment + 1; later < to; later++ {
		if squares(x, []int{0, later - from, len(x)}) < squares(x, []int{0, at - from, len(x)}) {
			at = later
		}
	}
	if at == cut {
		return 0, 1
	}
	p = s.p[cut]
	s.cuts = slices.Delete(s.cuts, len(s.cuts)-2, len(s.cuts)-1)
	return at, p
}

// suspect tests whether the last one or two points are outside the prediction from the points of
// their segment before them. It returns where they begin, 0 if they are inside.
func (s *search) suspect(phi float64) (at int, p float64) {
	from, to := s.cuts[len(s.cuts)-2], len(s.x)
	for _, k := range []int{2, 1} {
		n := to - k - from
		if n < leastHistory {
			continue
		}
		before, last := s.x[from:to-k], s.x[to-k:]
		// Use the noise of the points before only, because the last ones are being tested.
		trial := search{x: before, cuts: []int{0, len(before)}}
		se := trial.noise(phi) * math.Sqrt(varianceOfMean(k, phi)+varianceOfMean(n, phi))
		shift := metric.Mean(last) - metric.Mean(before)
		if se == 0 || math.Abs(last[0]-metric.Mean(before)) < math.Abs(shift)/2 {
			continue // the second point alone is outside
		}
		freedom := math.Max(2, float64(n)*(1-phi)/(1+phi)-1)
		t := distuv.StudentsT{Sigma: 1, Nu: freedom}
		if p := 2 * t.CDF(-math.Abs(shift/se)); p <= suspicion/2 { // two places are tried
			return to - k, p
		}
	}
	return 0, 1
}
