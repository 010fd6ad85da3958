package gates

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// rounding is the relative size below which a difference is the rounding of float64 and not a
// measurement. A nanosecond clock is coarser on any run of less than a quarter of an hour.
const rounding = 1e-12

// ErrTooFew is wrapped by the errors of tests that need more values.
var ErrTooFew = errors.New("no test is possible")

// PairedTTest is Student's t-test on the differences of the pairs.
var PairedTTest = &Test{
	Name: "paired_t", moderates: true,
	Doc: "t on the differences of the repeats, of logarithms for times and rates",
	Run: func(x Sample, set Settings) (Statistic, error) {
		s, err := pairedT(x.Differences, x.Floor)
		if err != nil {
			return s, err
		}
		bias := s.rounded(x.Rounding, float64(len(x.Differences)))
		s.tied(x, len(x.Differences), len(x.Differences))
		s.bound(bias, set.Critical(s.DF)*s.SE)
		if x.Known != nil {
			return x.Known.test(s, len(x.Differences), bias, set), nil
		}
		if x.Clusters.SE > 0 {
			s.cluster(x.Clusters, len(x.Differences), bias, set)
		}
		return s, nil
	},
}

// PairedT tests the mean of the differences d against zero by Student's t with n − 1 degrees of
// freedom, like scipy.stats.ttest_rel of SciPy 1.17. It needs two finite values, and sets no bounds.
func PairedT(d []float64) (Statistic, error) {
	return pairedT(d, 0)
}

// pairedT is PairedT, but treats differences up to floor, in the unit of d, as rounding.
func pairedT(d []float64, floor float64) (Statistic, error) {
	n := len(d)
	if n < 2 {
		return Statistic{}, fmt.Errorf("%w with %s; measure at least 2", ErrTooFew, repeats(n))
	}
	mean, sd := meanSD(d)
	if math.IsNaN(sd) || math.IsInf(sd, 0) {
		return Statistic{}, errors.New("a difference is not a finite number; leave its pair out")
	}
	s := Statistic{Shift: mean, DF: float64(n - 1), Noise: paired(sd)}
	if sd <= math.Max(floor, rounding*math.Abs(mean)) {
		s.Noise.SD = 0
		s.exact(floor)
	} else {
		s.student(s.Noise.se(n))
	}
	return s, nil
}

// student sets the p values of Student's t for a standard error.
func (s *Statistic) student(se float64) {
	s.SE, s.T = se, s.Shift/se
	s.Greater, s.Less = tSurvival(s.T, s.DF), tSurvival(-s.T, s.DF)
}

// exact sets the results for a spread of zero: by the sign of the shift the p values are 0 and 1,
// and both 1 for a shift of zero.
func (s *Statistic) exact(floor float64) {
	s.Exact, s.Greater, s.Less = true, 1, 1
	switch {
	case s.Shift > floor:
		s.Greater = 0
	case s.Shift < -floor:
		s.Less = 0
	}
	s.bound(0, 0)
}

// tied limits the p values of values without a spread to the largest chance that equal sides have of them. What a server
// counts has few different values: with two that are equally likely, each of n pairs has the same difference for the worse
// with a chance of 4⁻ⁿ. Sizes that are computed once in a launch are taken as exact.
func (s *Statistic) tied(x Sample, base, head int) {
	if s.Exact && !x.OfLaunch {
		least := runFloor(head, base)
		s.Greater, s.Less = max(s.Greater, least), max(s.Less, least)
	}
}

// bound sets one-sided bounds at a width from the shift, which may have a bias. If the width is
// tCritical of alpha standard errors, each bound has confidence 1 − alpha.
func (s *Statistic) bound(bias, width float64) {
	s.Lower, s.Upper = s.Shift-bias-width, s.Shift+bias+width
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
		rest += v - mean // the rounding error of the mean
	}
	n := float64(len(x))
	return mean, math.Sqrt((squares - rest*rest/n) / (n - 1))
}

// tSurvival returns P(T > t) for Student's t. It uses the lower tail, because 1 − CDF would lose
// the digits of small p values.
func tSurvival(t, df float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: df}.CDF(-t)
}

// tCritical returns the t with P(T > t) = alpha. A Newton step improves gonum's quantile, accurate
// to ten digits, to full precision.
func tCritical(alpha, df float64) float64 {
	dist := distuv.StudentsT{Sigma: 1, Nu: df}
	t := -dist.Quantile(alpha)
	return t + (tSurvival(t, df)-alpha)/dist.Prob(t)
}

// repeats returns n with its noun.
func repeats(n int) string {
	if n == 1 {
		return "1 repeat"
	}
	return fmt.Sprintf("%d repeats", n)
}
