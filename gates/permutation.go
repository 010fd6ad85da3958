package gates

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/combin"
)

const (
	// exactSplits is the largest number of splits that are all visited: 10 and 10 values have
	// 184,756.
	exactSplits = 200_000
	// randomSplits is the number of random splits visited instead of more than exactSplits.
	randomSplits = 99_999
)

// Permutation tests by splitting the values of both sides anew.
var Permutation = &Test{
	Name: "permutation", Design: Unpaired,
	Doc: "all splits of the values, for sides that are not paired by repeat",
	LeastP: func(n int) float64 {
		if p := oneSplit(n); p >= 1.0/exactSplits {
			return p
		}
		return 1.0 / (randomSplits + 1)
	},
	Run: withWelch(permutations),
}

// permutations tests the difference of the means of two samples by splitting all values anew. It
// only assumes that they could have come in any order (E. J. G. Pitman, Suppl. J. R. Statist. Soc.
// 4, 1937). Up to 10 and 10 values, all splits are counted, ties included. Beyond 200,000 splits it
// draws 99,999 random ones and adds the observed one.
//
// A split that exchanges a subset of the head for one of the base of the same size is as extreme as
// the data exactly if the head's subset has a mean no larger. Bounds of the shift are therefore
// order statistics of the differences of such means, and agree with the p values, as in
// [signFlips].
func permutations(x Sample, set Settings) (Statistic, error) {
	base, head := len(x.Base), len(x.Head)
	if min(base, head) < 1 {
		return Statistic{}, fmt.Errorf("%w without values on both sides; measure at least 1 repeat", ErrTooFew)
	}
	s := Statistic{Shift: x.shift()}
	if math.IsNaN(s.Shift) || math.IsInf(s.Shift, 0) {
		return s, errors.New("a value is not a finite number; leave it out")
	}
	if combin.GeneralizedBinomial(float64(base+head), float64(base)) > exactSplits {
		s.count(randomExchanges(x.Base, x.Head, set.Seed), x.Floor, set.Alpha)
	} else {
		s.count(allExchanges(x.Base, x.Head), x.Floor, set.Alpha)
	}
	return s, nil
}

// allExchanges returns the differences of the means of all subsets of the head and all subsets of
// the base of the same size, without the empty ones.
func allExchanges(base, head []float64) []float64 {
	most := min(len(base), len(head))
	ofBase, ofHead := sumsBySize(base, most), sumsBySize(head, most)
	var all []float64
	for k := 1; k <= most; k++ {
		all = slices.Grow(all, len(ofBase[k])*len(ofHead[k]))
		for _, h := range ofHead[k] {
			for _, b := range ofBase[k] {
				all = append(all, (h-b)/float64(k))
			}
		}
	}
	return all
}

// sumsBySize returns the sums of all subsets of x with up to most members, by number of members.
func sumsBySize(x []float64, most int) [][]float64 {
	sums := make([][]float64, most+1)
	sums[0] = []float64{0}
	for _, v := range x {
		for k := most; k > 0; k-- {
			for _, s := range sums[k-1] {
				sums[k] = append(sums[k], s+v)
			}
		}
	}
	return sums
}

// randomExchanges returns the exchanges of random splits, without the observed one.
func randomExchanges(base, head []float64, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, uint64(len(base)+len(head))))
	order := make([]int, len(base)+len(head))
	for i := range order {
		order[i] = i
	}
	all := make([]float64, 0, randomSplits)
	for len(all) < randomSplits {
		// The first places are the new base. Values of the head among them were exchanged, and so
		// were values of the base outside them.
		into, taken := 0.0, 0
		for i := range base {
			k := i + rng.IntN(len(order)-i)
			order[i], order[k] = order[k], order[i]
			if order[i] >= len(base) {
				into += head[order[i]-len(base)]
				taken++
			}
		}
		if taken == 0 {
			continue
		}
		out := 0.0
		for _, o := range order[len(base):] {
			if o < len(base) {
				out += base[o]
			}
		}
		all = append(all, (into-out)/float64(taken))
	}
	return all
}

// nth returns the k-th smallest number of x, from 0. It reorders x (C. A. R. Hoare, Comm. ACM 4,
// 1961, algorithm 65).
func nth(x []float64, k int) float64 {
	low, high := 0, len(x)-1
	for low < high {
		pivot := x[low+(high-low)/2]
		i, j := low, high
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for pivot < x[j] {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return x[k]
		}
	}
	return x[k]
}
