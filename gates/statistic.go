package gates

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
)

// Statistic is the result of a test, on the scale of the test, worse positive.
type Statistic struct {
	// Shift estimates the difference. SE is its standard error, DF the degrees of freedom and T =
	// Shift/SE. In tests that do not use t, these three only describe.
	Shift, SE, DF, T float64
	// Exact is set if the values have no spread, so that Shift has no error.
	Exact bool
	// Rounded is set if the values spread by less than the uncertainty of their printed digits.
	Rounded bool
	// Greater is the one-sided p value against a difference ≤ 0, Less against ≥ 0.
	Greater, Less float64
	// Lower and Upper bound the difference, each with one-sided confidence 1 − α. They are infinite
	// if there are too few values for a bound.
	Lower, Upper float64
	// Contradicted is set if the pairs spread by more than the known spread allows.
	Contradicted bool
	// Correlation of consecutive sessions of a history, 0 if they are independent or not sessions.
	Correlation float64
	// Restless is set if the launches of a session spread more than its history allows.
	Restless bool
	// Noise extrapolates to other numbers of repeats.
	Noise Noise
}

// Noise is the basis of power computations: n repeats have a standard error of SD/√n with
// Slope·(n−1) + Prior degrees of freedom.
type Noise struct {
	SD, Slope, Prior float64
	// known is set if Prior is the weight of a known spread, which has its own critical values.
	known *Known
}

// paired returns the noise of differences of standard deviation sd.
func paired(sd float64) Noise { return Noise{SD: sd, Slope: 1} }

// df returns the degrees of freedom of n repeats.
func (v Noise) df(n int) float64 { return v.Slope*float64(n-1) + v.Prior }

// se returns the standard error of n repeats.
func (v Noise) se(n int) float64 { return v.SD / math.Sqrt(float64(n)) }

// Sample is the data of one comparison for its test: on the scale of the metric, worse positive.
type Sample struct {
	// Differences of the pairs of a paired comparison, by repeat; repeats holds their numbers.
	Differences []float64
	repeats     []int
	// Clusters and Known of the comparison.
	Clusters Clusters
	Known    *Known
	// Base and Head are the values of the two sides of an unpaired comparison.
	Base, Head []float64
	// Launches are the values of the launches of the single session on the head's side.
	Launches []float64
	// Floor is the size of float64 rounding in the values.
	Floor float64
	// Rounding is the uncertainty from the printed digits.
	Rounding Rounding
	// OfLaunch is set for values that launches have, not their runs: sizes, and answers.
	OfLaunch bool
}

// sample converts the comparison's data to the scale of its test. It also returns both sides'
// values as measured. The error names the first value that is not on the scale.
func (c Comparison) sample() (x Sample, base, head []float64, err error) {
	pairs := slices.SortedFunc(slices.Values(c.Pairs), func(a, b Pair) int { return cmp.Compare(a.Repeat, b.Repeat) })
	for _, p := range pairs {
		base, head = append(base, p.Base), append(head, p.Head)
		x.repeats = append(x.repeats, p.Repeat)
	}
	x.Clusters, x.Known = c.Clusters, c.Known
	x.OfLaunch = c.Metric.Level == metric.LaunchLevel || c.Metric.Quality
	if c.test().Design == Paired {
		x.Differences, x.Floor, err = differences(c.Metric, pairs)
		if err == nil && c.Between > 0 {
			x.Clusters = c.amongBlocks(x.repeats, x.Differences)
		}
		if err == nil && !c.Unrounded {
			x.Rounding = roundingOfSides(c.Metric, c.Step, base, head)
		}
		return x, base, head, err
	}
	if c.Unpaired != nil {
		base, head = c.Unpaired.Base, c.Unpaired.Head
	}
	x.Base, err = signed(c.Metric, "base", base)
	if err != nil {
		return x, base, head, err
	}
	x.Head, err = signed(c.Metric, "head", head)
	if err == nil && c.Unpaired != nil {
		x.Launches, err = signed(c.Metric, "session", c.Unpaired.Launches)
	}
	x.Floor = roundingOf(c.Metric.Scale, base, head)
	switch {
	case err != nil || c.Unrounded:
	case c.test().Design == Unpaired:
		x.Rounding = roundingOfSides(c.Metric, c.Step, base, head)
	default:
		x.Rounding = roundingOfSessions(c.Metric, c.Step, base, head)
	}
	return x, base, head, err
}

// size returns the number of repeats.
func (x Sample) size() int { return max(len(x.Differences), min(len(x.Base), len(x.Head))) }

// shift estimates the difference if no test is possible.
func (x Sample) shift() float64 {
	if len(x.Differences) > 0 {
		return metric.Mean(x.Differences)
	}
	return metric.Mean(x.Head) - metric.Mean(x.Base)
}

// Settings holds what all tests of a judgement share.
type Settings struct {
	Alpha float64 // of each bound, one-sided
	Seed  uint64  // of random splits that replace the full set
	// overruled is set if today's pairs spread by more than their known spreads allow.
	overruled bool
}

// Critical returns the t with P(T > t) = α for Student's t with df degrees of freedom.
func (s Settings) Critical(df float64) float64 { return critical(df, s.Alpha) }

// apply copies a statistic into the decision.
func (e *entry) apply(s Statistic) {
	e.tested, e.stat = true, s
	e.D, e.SE, e.DF, e.T, e.Exact = s.Shift, s.SE, s.DF, s.T, s.Exact
	e.P, e.PBetter = s.Greater, s.Less
	e.Known, e.Contradicted = s.Noise.known, s.Contradicted
	e.Change = e.Metric.Scale.Change(worse(e.Metric) * e.D)
	e.Worse = e.D > e.sample.Floor
	lower, upper := s.Lower, s.Upper
	if e.Metric.Direction == metric.HigherIsBetter {
		lower, upper = -upper, -lower
	}
	e.Interval = &Interval{
		Lower: finite(e.Metric.Scale, lower), Upper: finite(e.Metric.Scale, upper),
		Unbounded: math.IsInf(lower, 0) || math.IsInf(upper, 0),
	}
}

// finite converts a bound from the scale of the test, with the ends of the scale for infinities.
func finite(s metric.Scale, d float64) float64 {
	return s.Change(max(-math.MaxFloat64, min(d, math.MaxFloat64)))
}

// signed converts values to the scale of the test, worse positive.
func signed(m metric.Metric, side string, values []float64) ([]float64, error) {
	x := make([]float64, len(values))
	for i, v := range values {
		if err := usable(m, v); err != nil {
			return nil, fmt.Errorf("the %s's value %d %w", side, i+1, err)
		}
		if m.Scale == metric.Log {
			v = math.Log(v)
		}
		x[i] = worse(m) * v
	}
	return x, nil
}

// roundingOf returns the size of float64 rounding in differences of values.
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
