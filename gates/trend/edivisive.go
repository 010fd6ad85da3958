package trend

import "math"

// split is a change between two parts of a segment, x[:at] and x[at:], with the statistic q.
// Without a split q is −Inf.
type split struct {
	at int
	q  float64
}

// bestSplit returns the split of x into parts of at least least points with the largest
//
//	Q = 2/(n+m)·ΣΣ|x_i − y_j| − 2m/((n+m)(n−1))·Σ|x_i − x_k| − 2n/((n+m)(m−1))·Σ|y_j − y_k|
//
// for a left part of n points x and a right part of m points y; sums over pairs i < k. This is
// nm/(n+m) times the energy distance of the parts with exponent 1. The parts reach to the ends of
// the segment: a second change is found after the first one. work must have room for 2·len(x)
// values.
func bestSplit(x []float64, least int, work []float64) split {
	before, after := work[:len(x)], work[len(x):2*len(x)] // Σ|x_i − x_k| over i < k, and over i > k
	clear(after)
	for k, v := range x {
		sum := 0.0
		for i, w := range x[:k] {
			d := math.Abs(w - v)
			sum += d
			after[i] += d
		}
		before[k] = sum
	}
	total, right := 0.0, 0.0
	for k := range x {
		total += before[k]
		right += after[k]
	}
	best := split{q: math.Inf(-1)}
	left, points := 0.0, float64(len(x))
	for k := range x {
		if k >= least && len(x)-k >= least {
			n, m := float64(k), points-float64(k)
			between := total - left - right
			if q := 2 / points * (between - m/(n-1)*left - n/(m-1)*right); q > best.q {
				best = split{k, q}
			}
		}
		left += before[k]
		right -= after[k]
	}
	return best
}
