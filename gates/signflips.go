package gates

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
)

const (
	// exactFlips is the largest number of pairs whose 2ⁿ sign flips are all visited.
	exactFlips = 16
	// randomFlips stand for them beyond.
	randomFlips = 99_999
)

// leastFlips is the least number of repeats of tests by sign flips: with fewer their p values
// are too coarse for any family, and their intervals too wide.
const leastFlips = 8

// SignFlip flips the signs of the pairs' differences.
var SignFlip = &Test{
	Name: "sign_flip", LeastRepeats: leastFlips, LeastP: oneFlip, Run: signFlips,
	Doc: "sign flips, for symmetric differences of any shape, from 8 repeats on",
}

// oneFlip is the chance of one of all flips of n differences, or of the random ones.
func oneFlip(n int) float64 {
	if n > exactFlips {
		return 1.0 / (randomFlips + 1)
	}
	return math.Ldexp(1, -n)
}

// flips is the result of a sign-flip test of a mean against zero.
type flips struct {
	N int
	// Mean of the differences.
	Mean float64
	// Greater is the one-sided p value against a centre of symmetry ≤ 0, Less against ≥ 0.
	Greater, Less float64
	// Lower and Upper bound the centre, each with one-sided confidence 1 − alpha or more;
	// infinite where n is too small for that.
	Lower, Upper float64
	// Random is true where random flips stood for all of them.
	Random bool
}

// flipSigns tests the mean of the differences d against zero by flipping their signs,
// which needs them to be symmetric about their centre and nothing else (R. A. Fisher, The
// Design of Experiments, 1935). Up to 16 differences all 2ⁿ flips are counted, ties
// included; beyond, 99,999 random ones, and the observed one is added to them (B. Phipson
// and G. Smyth, Statist. Appl. Genet. Mol. Biol. 9, 2010).
//
// A flip of the subset S is as extreme as the data exactly where the mean of S is ≤ 0,
// so that bounds are order statistics of subset means (J. Hartigan, J. Am. Statist.
// Assoc. 64, 1969) and agree with the p values. Differences up to floor are rounding.
func flipSigns(d []float64, floor, alpha float64, seed uint64) (flips, error) {
	if len(d) < 2 {
		return flips{}, fmt.Errorf("%w with %s; measure at least 2", ErrTooFew, repeats(len(d)))
	}
	r := flips{N: len(d), Mean: mean(d), Random: len(d) > exactFlips}
	if math.IsNaN(r.Mean) || math.IsInf(r.Mean, 0) {
		return flips{}, errors.New("a difference is not a finite number; leave its pair out")
	}
	means := subsetMeans(d, seed)
	total := float64(len(means) + 1) // with the flip of nothing, which is the data
	positive, negative := 1, 1
	for _, m := range means {
		if m <= floor {
			positive++
		}
		if m >= -floor {
			negative++
		}
	}
	r.Greater, r.Less = float64(positive)/total, float64(negative)/total

	r.Lower, r.Upper = math.Inf(-1), math.Inf(1)
	if k := int(alpha * total * (1 + rounding)); k >= 1 {
		r.Lower, r.Upper = nth(means, k-1), nth(means, len(means)-k)
	}
	return r, nil
}

// subsetMeans are the means of all subsets of d but the empty one, or of random ones.
func subsetMeans(d []float64, seed uint64) []float64 {
	if len(d) <= exactFlips {
		means := subsetSums(d)[1:]
		for i := range means {
			means[i] /= float64(bits.OnesCount(uint(i + 1)))
		}
		return means
	}
	rng := rand.New(rand.NewPCG(seed, uint64(len(d))))
	subset, means := make([]bool, len(d)), make([]float64, 0, randomFlips)
	for len(means) < randomFlips {
		drawSubset(rng, subset)
		sum, size := 0.0, 0
		for k, in := range subset {
			if in {
				sum += d[k]
				size++
			}
		}
		if size > 0 {
			means = append(means, sum/float64(size))
		}
	}
	return means
}

// drawSubset draws each member with a chance of one half.
func drawSubset(rng *rand.Rand, subset []bool) {
	var coins uint64
	for k := range subset {
		if k%64 == 0 {
			coins = rng.Uint64()
		}
		subset[k] = coins&1 == 1
		coins >>= 1
	}
}

// subsetSums are the sums of all subsets of d, by bit mask.
func subsetSums(d []float64) []float64 {
	sums := make([]float64, 1<<len(d))
	for i, v := range d {
		for mask := range 1 << i {
			sums[1<<i+mask] = sums[mask] + v
		}
	}
	return sums
}

// signFlips is the test of a sample. Its standard error is the t-test's, for planning.
func signFlips(x Sample, set Settings) (Statistic, error) {
	test, err := pairedT(x.Differences, x.Floor)
	if err != nil {
		return Statistic{}, err
	}
	r, err := flipSigns(x.Differences, x.Floor, set.Alpha, set.Seed)
	if err != nil {
		return Statistic{}, err
	}
	s := test.statistic(0)
	s.Exact = false
	s.Greater, s.Less, s.Lower, s.Upper = r.Greater, r.Less, r.Lower, r.Upper
	return s, nil
}
