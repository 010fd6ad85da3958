package gates

import (
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

// signFlips tests the mean of the differences against zero by flipping their signs,
// which needs them to be symmetric about their centre and nothing else (R. A. Fisher, The
// Design of Experiments, 1935). Up to 16 differences all 2ⁿ flips are counted, ties
// included; beyond, 99,999 random ones, and the observed one is added to them (B. Phipson
// and G. Smyth, Statist. Appl. Genet. Mol. Biol. 9, 2010).
//
// A flip of the subset S is as extreme as the data exactly where the mean of S is ≤ 0,
// so that bounds are order statistics of subset means (J. Hartigan, J. Am. Statist.
// Assoc. 64, 1969) and agree with the p values. The standard error is the t-test's, for planning.
func signFlips(x Sample, set Settings) (Statistic, error) {
	s, err := pairedT(x.Differences, x.Floor)
	if err != nil {
		return s, err
	}
	s.Exact = false
	s.count(subsetMeans(x.Differences, set.Seed), x.Floor, set.Alpha)
	return s, nil
}

// count sets the p values and bounds of a test that visits all rearrangements of the data, or
// random ones: shifts are what each but the data themselves exchanges, which is as extreme as
// the data where it is not above zero. Shifts up to floor are rounding. They are reordered.
func (s *Statistic) count(shifts []float64, floor, alpha float64) {
	total := float64(len(shifts) + 1)
	greater, less := 1, 1 // the data
	for _, d := range shifts {
		if d <= floor {
			greater++
		}
		if d >= -floor {
			less++
		}
	}
	s.Greater, s.Less = float64(greater)/total, float64(less)/total
	s.Lower, s.Upper = math.Inf(-1), math.Inf(1)
	if k := int(alpha * total * (1 + rounding)); k >= 1 {
		s.Lower, s.Upper = nth(shifts, k-1), nth(shifts, len(shifts)-k)
	}
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
