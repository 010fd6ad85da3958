package gates

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

const (
	// exactFlips is the largest number of pairs whose 2ⁿ sign flips are all visited.
	exactFlips = 16
	// randomFlips is the number of random flips visited for more pairs.
	randomFlips = 99_999
)

// leastFlips is the least number of repeats of tests by sign flips. With fewer, the p values are
// too coarse for any family and the intervals too wide.
const leastFlips = 8

// SignFlip tests by flipping the signs of the pairs' differences.
var SignFlip = &Test{
	Name: "sign_flip", LeastRepeats: leastFlips, LeastP: oneFlip, Run: signFlips,
	Doc: "sign flips, for symmetric differences of any shape, from 8 repeats on",
}

// oneFlip returns the probability of one flip among all flips of n differences, or the random ones.
func oneFlip(n int) float64 {
	if n > exactFlips {
		return 1.0 / (randomFlips + 1)
	}
	return math.Ldexp(1, -n)
}

// signFlips tests the mean of the differences against zero by flipping their signs. It only assumes
// that they are symmetric about their centre (R. A. Fisher, The Design of Experiments, 1935). Up to
// 16 differences, all 2ⁿ flips are counted, ties included. Beyond, it draws 99,999 random ones and
// adds the observed one (B. Phipson and G. Smyth, Statist. Appl. Genet. Mol. Biol. 9, 2010).
//
// A flip of the subset S is as extreme as the data exactly if the mean of S is ≤ 0. Bounds are
// therefore order statistics of subset means (J. Hartigan, J. Am. Statist. Assoc. 64, 1969) and
// agree with the p values. The standard error is the t-test's, for planning.
func signFlips(x Sample, set Settings) (Statistic, error) {
	s, err := pairedT(x.Differences, x.Floor)
	if err != nil {
		return s, err
	}
	s.Exact = false
	s.count(subsetMeans(x.Differences, set.Seed), x.Floor, set.Alpha)
	return s, nil
}

// count sets the p values and bounds of a test over all rearrangements of the data, or random ones.
// shifts holds one value for each rearrangement other than the data. It is as extreme as the data
// if its shift is not above zero; shifts up to floor are rounding. count reorders shifts.
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

// subsetMeans returns the means of all non-empty subsets of d, or of random ones.
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

// drawSubset draws each member with a probability of one half.
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

// subsetSums returns the sums of all subsets of d, by bit mask.
func subsetSums(d []float64) []float64 {
	sums := make([]float64, 1<<len(d))
	for i, v := range d {
		for mask := range 1 << i {
			sums[1<<i+mask] = sums[mask] + v
		}
	}
	return sums
}
