package gates

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// rounding is the relative size below which a difference is the rounding of float64
// arithmetic and not a measurement. A clock of nanoseconds is coarser on any run of
// less than a quarter of an hour.
const rounding = 1e-12

// ErrTooFew is wrapped by the errors of tests that need more values.
var ErrTooFew = errors.New("no test is possible")

// PairedTTest is Student's t on the differences of the pairs.
var PairedTTest = &Test{
	Name: "paired_t", moderates: true,
	Doc: "t on the differences of the repeats, of logarithms for times and rates",
	Run: func(x Sample, set Settings) (Statistic, error) {
		r, err := pairedT(x.Differences, x.Floor)
		if err != nil {
			return Statistic{}, err
		}
		r.rounded(x.Step)
		return r.statistic(set.Critical(r.DF)), nil
	},
}

// TTest is the result of a t-test of a mean against zero.
type TTest struct {
	N int
	// Mean, standard deviation (divisor n − 1) and standard error of the mean.
	Mean, SD, SE float64
	// DF is n − 1, T is Mean/SE.
	DF, T float64
	// Greater is the one-sided p value against mean ≤ 0, Less against mean ≥ 0.
	Greater, Less float64
	// Exact is true where all values are equal. There is no t then: SD, SE and T are 0,
	// and the p values are their limits, 0 and 1 by the sign of the mean, both 1 for
	// a mean of zero.
	Exact bool
	// Bias is by how much the mean can be off because values were rounded, where they spread
	// by less than that; 0 otherwise. The p values hold for the least favourable one.
	Bias float64
}

// PairedT tests the mean of the differences d against zero by Student's t with n − 1
// degrees of freedom, as scipy.stats.ttest_rel of SciPy 1.17 does. It needs two finite
// values.
func PairedT(d []float64) (TTest, error) {
	return pairedT(d, 0)
}

// pairedT is PairedT where differences up to floor, in the unit of d, are rounding.
func pairedT(d []float64, floor float64) (TTest, error) {
	if len(d) < 2 {
		return TTest{}, fmt.Errorf("%w with %s; measure at least 2", ErrTooFew, repeats(len(d)))
	}
	r := TTest{N: len(d), DF: float64(len(d) - 1)}
	r.Mean, r.SD = meanSD(d)
	if math.IsNaN(r.SD) || math.IsInf(r.SD, 0) {
		return TTest{}, errors.New("a difference is not a finite number; leave its pair out")
	}
	if r.SD <= math.Max(floor, rounding*math.Abs(r.Mean)) {
		r.exact(floor)
		return r, nil
	}
	r.SE = r.SD / math.Sqrt(float64(r.N))
	r.T = r.Mean / r.SE
	r.Greater, r.Less = tSurvival(r.T, r.DF), tSurvival(-r.T, r.DF)
	return r, nil
}

// exact sets the limits for a spread of zero.
func (r *TTest) exact(floor float64) {
	r.Exact, r.SD, r.Greater, r.Less = true, 0, 1, 1
	switch {
	case r.Mean > floor:
		r.Greater = 0
	case r.Mean < -floor:
		r.Less = 0
	}
}

// bounds are the one-sided bounds of the mean, critical standard errors from it. With
// tCritical of alpha each has confidence 1 − alpha.
func (r TTest) bounds(critical float64) (lower, upper float64) {
	return r.Mean - r.Bias - critical*r.SE, r.Mean + r.Bias + critical*r.SE
}

// meanSD returns the mean and the standard deviation with divisor n − 1, in two passes.
func meanSD(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	var squares, rest float64
	for _, v := range x {
		squares += (v - mean) * (v - mean)
		rest += v - mean // what rounding left in the mean
	}
	n := float64(len(x))
	return mean, math.Sqrt((squares - rest*rest/n) / (n - 1))
}

// tSurvival is P(T > t) for Student's t. The lower tail is used, because 1 − CDF would
// lose the digits of small p values.
func tSurvival(t, df float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: df}.CDF(-t)
}

// tCritical is the t with P(T > t) = alpha. A Newton step brings gonum's quantile, good
// to ten digits, to full precision.
func tCritical(alpha, df float64) float64 {
	dist := distuv.StudentsT{Sigma: 1, Nu: df}
	t := -dist.Quantile(alpha)
	return t + (tSurvival(t, df)-alpha)/dist.Prob(t)
}

// repeats is n with its noun.
func repeats(n int) string {
	if n == 1 {
		return "1 repeat"
	}
	return fmt.Sprintf("%d repeats", n)
}
