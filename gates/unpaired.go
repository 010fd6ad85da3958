package gates

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/combin"
)

// Welch's t sets the sides against each other without their pairs.
var Welch = &Test{
	Name: "welch", Design: Unpaired, Run: welch,
	Doc: "t for sides that are not paired by repeat",
}

// MannWhitney's test by ranks takes the Hodges–Lehmann shift for the difference.
var MannWhitney = &Test{
	Name: "mann_whitney", Design: Unpaired, LeastP: oneSplit,
	Doc: "ranks, for sides that are not paired by repeat",
	Run: func(x Sample, set Settings) (Statistic, error) {
		return withWelch(x, set, func() (twoSample, error) { return rankSum(x.Base, x.Head, set.Alpha) })
	},
}

// oneSplit is the chance of one of all splits of 2n values into halves, 1/C(2n, n).
func oneSplit(n int) float64 {
	p := 1.0
	for i := 1; i <= n; i++ {
		p *= float64(i) / float64(n+i)
	}
	return p
}

// twoSample is the result of a test of two samples against each other.
type twoSample struct {
	NBase, NHead int
	// Shift is how much the head is above the base: the difference of means, for rankSum
	// the Hodges–Lehmann shift.
	Shift float64
	// SE of the difference of means, Welch's degrees of freedom and T.
	SE, DF, T float64
	// U counts the pairs of a head and a base value where the head's is larger, ties
	// as one half. It is the statistic of rankSum, 0 for the others.
	U float64
	// Greater is the one-sided p value against a shift ≤ 0, Less against ≥ 0.
	Greater, Less float64
	// Lower and Upper bound the shift, each with one-sided confidence 1 − alpha; infinite
	// where rankSum or permutations have too few values for that.
	Lower, Upper float64
	// Exact is true where neither side has any spread: see TTest.Exact.
	Exact bool
	// Random is true where random splits stood for all of them in permutations.
	Random bool
}

// welchT tests the difference of the means of two samples by Welch's t-test, which takes
// the variances as different (B. L. Welch, Biometrika 34, 1947), as
// scipy.stats.ttest_ind(head, base, equal_var=False) of SciPy 1.17 does. It needs two
// values on each side. Differences up to floor are rounding.
func welchT(base, head []float64, floor, alpha float64) (twoSample, error) {
	r := twoSample{NBase: len(base), NHead: len(head)}
	if n := min(r.NBase, r.NHead); n < 2 {
		return r, fmt.Errorf("%w with %s of a side; measure at least 2", ErrTooFew, repeats(n))
	}
	baseMean, baseSD := meanSD(base)
	headMean, headSD := meanSD(head)
	r.Shift = headMean - baseMean
	if math.IsNaN(baseSD+headSD) || math.IsInf(baseSD+headSD, 0) {
		return r, errors.New("a value is not a finite number; leave it out")
	}
	b, h := baseSD*baseSD/float64(r.NBase), headSD*headSD/float64(r.NHead)
	if math.Sqrt(b+h) <= math.Max(floor, rounding*math.Abs(r.Shift)) {
		r.exact(floor)
		return r, nil
	}
	r.SE = math.Sqrt(b + h)
	r.T = r.Shift / r.SE
	r.DF = (b + h) * (b + h) / (b*b/float64(r.NBase-1) + h*h/float64(r.NHead-1))
	r.Greater, r.Less = tSurvival(r.T, r.DF), tSurvival(-r.T, r.DF)
	width := tCritical(alpha, r.DF) * r.SE
	r.Lower, r.Upper = r.Shift-width, r.Shift+width
	return r, nil
}

// exact sets the limits for a spread of zero.
func (r *twoSample) exact(floor float64) {
	limit := TTest{Mean: r.Shift}
	limit.exact(floor)
	r.Exact, r.Greater, r.Less = true, limit.Greater, limit.Less
	r.DF = float64(r.NBase + r.NHead - 2)
	r.Lower, r.Upper = r.Shift, r.Shift
}

// rankSum tests two samples by the Wilcoxon–Mann–Whitney test, exactly and with ties up to
// 25 values a side (50 without ties; beyond, the normal approximation with continuity
// correction). Shift is the Hodges–Lehmann estimate, the median of all differences of a
// head and a base value, and its bounds are order statistics of these differences
// (J. Hodges and E. Lehmann, Ann. Math. Statist. 34, 1963).
func rankSum(base, head []float64, alpha float64) (twoSample, error) {
	r := twoSample{NBase: len(base), NHead: len(head)}
	if min(r.NBase, r.NHead) < 1 {
		return r, fmt.Errorf("%w without values on both sides; measure at least 1 repeat", ErrTooFew)
	}
	if slices.ContainsFunc(slices.Concat(base, head), math.IsNaN) {
		return r, errors.New("a value is not a number; leave it out")
	}
	// Both tails as lower tails, which are summed and not subtracted from 1.
	less, err := stats.MannWhitneyUTest(head, base, stats.LocationLess)
	if errors.Is(err, stats.ErrSamplesEqual) {
		r.U, r.Greater, r.Less = float64(r.NBase*r.NHead)/2, 1, 1
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("ranks of both sides: %w", err)
	}
	greater, err := stats.MannWhitneyUTest(base, head, stats.LocationLess)
	if err != nil {
		return r, fmt.Errorf("ranks of both sides: %w", err)
	}
	r.U, r.Greater, r.Less = less.U, r.share(greater.P), r.share(less.P)

	differences := make([]float64, 0, r.NBase*r.NHead)
	for _, h := range head {
		for _, b := range base {
			differences = append(differences, h-b)
		}
	}
	slices.Sort(differences)
	r.Shift = quantile(differences, 0.5)
	r.Lower, r.Upper = math.Inf(-1), math.Inf(1)
	if c := rankOfBound(r.NBase, r.NHead, alpha); c >= 1 {
		r.Lower, r.Upper = differences[c-1], differences[len(differences)-c]
	}
	return r, nil
}

// share is a p value of the exact test as the quotient of two counts that it is, so that one
// that equals a level is not above it by rounding.
func (r twoSample) share(p float64) float64 {
	if splits := combin.GeneralizedBinomial(float64(r.NBase+r.NHead), float64(r.NBase)); max(r.NBase, r.NHead) <= stats.MannWhitneyTiesExactLimit {
		splits = math.Round(splits)
		p = math.Round(p*splits) / splits
	}
	return min(1, p)
}

// rankOfBound is C = 1 + max{u: P(U ≤ u) ≤ alpha}, so that the C-th smallest and the C-th
// largest difference bound the shift; 0 if there is no such u.
func rankOfBound(base, head int, alpha float64) int {
	if base > stats.MannWhitneyExactLimit || head > stats.MannWhitneyExactLimit {
		n, m := float64(base), float64(head)
		return int(n*m/2 + mathext.NormalQuantile(alpha)*math.Sqrt(n*m*(n+m+1)/12))
	}
	dist := stats.UDist{N1: head, N2: base}
	c := 0
	for c < base*head && dist.CDF(float64(c)) <= alpha*(1+rounding) {
		c++
	}
	return c
}

// welch is the test of a sample by Welch's t.
func welch(x Sample, set Settings) (Statistic, error) {
	r, err := welchT(x.Base, x.Head, x.Floor, set.Alpha)
	if err != nil {
		return Statistic{}, err
	}
	return r.statistic(), nil
}

// withWelch is the result of a test by other means than t. Its standard error is Welch's, for
// planning.
func withWelch(x Sample, set Settings, test func() (twoSample, error)) (Statistic, error) {
	s, err := welch(x, set)
	if err != nil {
		return Statistic{}, err
	}
	r, err := test()
	if err != nil {
		return Statistic{}, err
	}
	s.Exact = false
	s.Shift, s.Greater, s.Less, s.Lower, s.Upper = r.Shift, r.Greater, r.Less, r.Lower, r.Upper
	return s, nil
}

// statistic of two samples. Each further repeat adds a value to both, and Welch's degrees of
// freedom grow in proportion to n − 1.
func (r twoSample) statistic() Statistic {
	n := min(r.NBase, r.NHead)
	return Statistic{
		Shift: r.Shift, SE: r.SE, DF: r.DF, T: r.T, Exact: r.Exact,
		Greater: r.Greater, Less: r.Less, Lower: r.Lower, Upper: r.Upper,
		Noise: Noise{SD: r.SE * math.Sqrt(float64(n)), Slope: r.DF / float64(max(n-1, 1))},
	}
}
