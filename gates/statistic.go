package gates

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
)

// statistic is what a test says of one comparison, on the scale of the test, worse
// positive.
type statistic struct {
	// n is the number of repeats, or of the smaller side's values.
	n                int
	shift, se, df, t float64
	exact, rounded   bool
	greater, less    float64
	lower, upper     float64
	// noise extrapolates to other numbers of repeats.
	noise noise
}

// noise is what powers are computed from: n repeats have a standard error of sd/√n with
// slope·(n−1) + prior degrees of freedom.
type noise struct{ sd, slope, prior float64 }

// paired is the noise of differences of standard deviation sd.
func paired(sd float64) noise { return noise{sd: sd, slope: 1} }

// df are the degrees of freedom of n repeats.
func (v noise) df(n int) float64 { return v.slope*float64(n-1) + v.prior }

// se is the standard error of n repeats.
func (v noise) se(n int) float64 { return v.sd / math.Sqrt(float64(n)) }

// sample is the data of one comparison on the scale of the test, worse positive.
type sample struct {
	// d are the differences of pairs, by repeat; repeats their numbers.
	d       []float64
	repeats []int
	// base and head are the two sides of an unpaired comparison.
	base, head []float64
	// floor is the size of what float64 rounds off in them, and step that of what whoever
	// measured has rounded off; 0 if nothing shows that.
	floor, step float64
}

// unpaired says that the test sets the two sides against each other as wholes.
func (t Test) unpaired() bool {
	return t == Welch || t == MannWhitney || t == Permutation || t == Prediction
}

// sample brings the comparison's data to the scale of its test, and returns both sides'
// values as measured. An error names the first value that has no place on the scale.
func (c Comparison) sample() (x sample, base, head []float64, err error) {
	pairs := slices.SortedFunc(slices.Values(c.Pairs), func(a, b Pair) int { return cmp.Compare(a.Repeat, b.Repeat) })
	for _, p := range pairs {
		base, head = append(base, p.Base), append(head, p.Head)
		x.repeats = append(x.repeats, p.Repeat)
	}
	if !c.test().unpaired() {
		x.d, x.floor, err = differences(c.Metric, pairs)
		if err == nil {
			x.step = stepOf(c.Metric, base, head)
		}
		return x, base, head, err
	}
	if c.Unpaired != nil {
		base, head = c.Unpaired.Base, c.Unpaired.Head
	}
	x.base, err = signed(c.Metric, "base", base)
	if err != nil {
		return x, base, head, err
	}
	x.head, err = signed(c.Metric, "head", head)
	x.floor = roundingOf(c.Metric.Scale, base, head)
	return x, base, head, err
}

// size is the number of repeats.
func (x sample) size() int { return max(len(x.d), min(len(x.base), len(x.head))) }

// shift estimates the difference where no test is possible.
func (x sample) shift() float64 {
	if len(x.d) > 0 {
		return mean(x.d)
	}
	return mean(x.head) - mean(x.base)
}

// settings are what all tests of a judgement share.
type settings struct {
	alpha float64 // of each bound, one-sided
	seed  uint64
	plan  planner
}

// statistic carries out a test.
func (t Test) statistic(x sample, set settings) (statistic, error) {
	switch t {
	case SignFlip, MaxT:
		return signFlips(x, set)
	case Welch:
		return welch(x, set)
	case MannWhitney:
		return ranks(x, set)
	case Permutation:
		return permuted(x, set)
	case Prediction:
		return prediction(x, set)
	}
	test, err := pairedT(x.d, x.floor)
	if err != nil {
		return statistic{}, err
	}
	test.rounded(x.step)
	return test.statistic(set.plan.critical(test.DF, set.alpha)), nil
}

// statistic of a t-test with the critical value of its bounds.
func (r TTest) statistic(critical float64) statistic {
	s := statistic{
		n: r.N, shift: r.Mean, se: r.SE, df: r.DF, t: r.T, exact: r.Exact, rounded: r.Bias > 0,
		greater: r.Greater, less: r.Less, noise: paired(r.SD),
	}
	s.lower, s.upper = r.bounds(critical)
	return s
}

// apply fills a statistic into the decision.
func (e *entry) apply(s statistic) {
	e.Tested, e.stat = true, s
	e.D, e.SE, e.DF, e.T, e.Exact = s.shift, s.se, s.df, s.t, s.exact
	e.P, e.PBetter = s.greater, s.less
	e.Change = fromScale(e.Metric.Scale, worse(e.Metric)*e.D)
	e.Worse = e.D > e.sample.floor
	e.Unbounded = math.IsInf(s.lower, 0) || math.IsInf(s.upper, 0)
	lower, upper := s.lower, s.upper
	if e.Metric.Direction == metric.HigherIsBetter {
		lower, upper = -upper, -lower
	}
	e.Lower, e.Upper = finite(e.Metric.Scale, lower), finite(e.Metric.Scale, upper)
}

// finite is fromScale for bounds, with the ends of the scale for infinities.
func finite(s metric.Scale, d float64) float64 {
	return fromScale(s, max(-math.MaxFloat64, min(d, math.MaxFloat64)))
}

// mean is the arithmetic mean; NaN of nothing.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// signed brings values to the scale of the test with worse positive.
func signed(m metric.Metric, side string, values []float64) ([]float64, error) {
	x := make([]float64, len(values))
	for i, v := range values {
		if err := usable(m.Scale, v); err != nil {
			return nil, fmt.Errorf("the %s's value %d %w", side, i+1, err)
		}
		if m.Scale == metric.Log {
			v = math.Log(v)
		}
		x[i] = worse(m) * v
	}
	return x, nil
}

// roundingOf is the size of what float64 rounds off in differences of values.
func roundingOf(s metric.Scale, sides ...[]float64) float64 {
	floor := 0.0
	for _, side := range sides {
		for _, v := range side {
			if s == metric.Log {
				v = max(1, math.Abs(math.Log(v))) // unlike a quotient, a logarithm has its own size
			}
			floor = max(floor, rounding*math.Abs(v))
		}
	}
	return floor
}
