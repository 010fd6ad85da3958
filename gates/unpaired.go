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

// Welch is Welch's t-test, which compares the sides without pairs.
var Welch = &Test{
	Name: "welch", Design: Unpaired, Run: welch,
	Doc: "t for sides that are not paired by repeat",
}

// MannWhitney is a test by ranks; its difference is the Hodges–Lehmann shift.
var MannWhitney = &Test{
	Name: "mann_whitney", Design: Unpaired, LeastP: oneSplit,
	Doc: "ranks, for sides that are not paired by repeat",
	Run: withWelch(rankSum),
}

// oneSplit returns the probability of one of all splits of 2n values into halves, 1/C(2n, n).
func oneSplit(n int) float64 {
	p := 1.0
	for i := 1; i <= n; i++ {
		p *= float64(i) / float64(n+i)
	}
	return p
}

// welch tests the difference of the means of two samples by Welch's t-test, which allows different
// variances (B. L. Welch, Biometrika 34, 1947), as scipy.stats.ttest_ind(head, base,
// equal_var=False) of SciPy 1.17 does. It needs two values on each side.
func welch(x Sample, set Settings) (Statistic, error) {
	base, head := float64(len(x.Base)), float64(len(x.Head))
	n := min(len(x.Base), len(x.Head))
	if n < 2 {
		return Statistic{}, fmt.Errorf("%w with %s of a side; measure at least 2", ErrTooFew, repeats(n))
	}
	baseMean, baseSD := meanSD(x.Base)
	headMean, headSD := meanSD(x.Head)
	if math.IsNaN(baseSD+headSD) || math.IsInf(baseSD+headSD, 0) {
		return Statistic{}, errors.New("a value is not a finite number; leave it out")
	}
	s := Statistic{Shift: headMean - baseMean, DF: base + head - 2}
	b, h := baseSD*baseSD/base, headSD*headSD/head
	s.Noise.SD = math.Hypot(baseSD, headSD)
	se := math.Sqrt(b + h)
	constant := se <= math.Max(x.Floor, rounding*math.Abs(s.Shift))
	if constant {
		s.exact(x.Floor)
	}
	if bias := s.rounded(x.Rounding, float64(n)); s.Rounded {
		s.bound(bias, tCritical(set.Alpha, s.DF)*s.SE)
	} else if !constant {
		s.DF = (b + h) * (b + h) / (b*b/(base-1) + h*h/(head-1))
		s.student(se)
		s.bound(0, tCritical(set.Alpha, s.DF)*s.SE)
	}
	s.tied(x, len(x.Base), len(x.Head))
	// Each further repeat adds a value to both sides, so the degrees of freedom grow in proportion
	// to n − 1.
	s.Noise = Noise{SD: s.SE * math.Sqrt(float64(n)), Slope: s.DF / float64(n-1)}
	return s, nil
}

// rankSum tests two samples by the Wilcoxon–Mann–Whitney test. It is exact, ties included, up to 25
// values a side (50 without ties); beyond, it uses the normal approximation with continuity
// correction. Shift is the Hodges–Lehmann estimate, the median of all differences of a head and a
// base value. Its bounds are order statistics of these differences (J. Hodges and E. Lehmann, Ann.
// Math. Statist. 34, 1963).
func rankSum(x Sample, set Settings) (Statistic, error) {
	base, head := x.Base, x.Head
	if min(len(base), len(head)) < 1 {
		return Statistic{}, fmt.Errorf("%w without values on both sides; measure at least 1 repeat", ErrTooFew)
	}
	if slices.ContainsFunc(slices.Concat(base, head), math.IsNaN) {
		return Statistic{}, errors.New("a value is not a number; leave it out")
	}
	// Compute both tails as lower tails, which are summed and not subtracted from 1.
	less, err := stats.MannWhitneyUTest(head, base, stats.LocationLess)
	if errors.Is(err, stats.ErrSamplesEqual) {
		return Statistic{Greater: 1, Less: 1}, nil
	}
	if err != nil {
		return Statistic{}, fmt.Errorf("ranks of both sides: %w", err)
	}
	greater, err := stats.MannWhitneyUTest(base, head, stats.LocationLess)
	if err != nil {
		return Statistic{}, fmt.Errorf("ranks of both sides: %w", err)
	}
	s := Statistic{Greater: x.share(greater.P), Less: x.share(less.P), Lower: math.Inf(-1), Upper: math.Inf(1)}
	differences := make([]float64, 0, len(base)*len(head))
	for _, h := range head {
		for _, b := range base {
			differences = append(differences, h-b)
		}
	}
	slices.Sort(differences)
	s.Shift = quantile(differences, 0.5)
	if c := rankOfBound(len(base), len(head), set.Alpha); c >= 1 {
		s.Lower, s.Upper = differences[c-1], differences[len(differences)-c]
	}
	return s, nil
}

// share rounds a p value of the exact test to the quotient of two counts that it is, so that a
// value equal to a level is not above it by rounding.
func (x Sample) share(p float64) float64 {
	base, head := len(x.Base), len(x.Head)
	if max(base, head) <= stats.MannWhitneyTiesExactLimit {
		splits := math.Round(combin.GeneralizedBinomial(float64(base+head), float64(base)))
		p = math.Round(p*splits) / splits
	}
	return min(1, p)
}

// rankOfBound returns C = 1 + max{u: P(U ≤ u) ≤ alpha}, so that the C-th smallest and the C-th
// largest difference bound the shift. It returns 0 if there is no such u.
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

// withWelch adds Welch's standard error, for planning, to a test that does not use t.
func withWelch(test func(Sample, Settings) (Statistic, error)) func(Sample, Settings) (Statistic, error) {
	return func(x Sample, set Settings) (Statistic, error) {
		t, err := welch(x, set)
		if err != nil {
			return t, err
		}
		s, err := test(x, set)
		s.SE, s.DF, s.T, s.Noise = t.SE, t.DF, t.T, t.Noise
		return s, err
	}
}
