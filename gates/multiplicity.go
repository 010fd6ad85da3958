package gates

import (
	"cmp"
	"slices"
)

// holmAdjust returns the p values adjusted by Holm's step-down procedure, in the order of p: for
// the i-th smallest of m, the largest of min(1, (m − j + 1)·p(j)) over j ≤ i. Rejecting adjusted
// values of at most α keeps the probability of any false rejection at α, whatever the dependence
// (S. Holm, Scand. J. Statist. 6, 1979). The p values are in [0, 1].
func holmAdjust(p []float64) []float64 {
	adjusted := make([]float64, len(p))
	largest := 0.0
	for rank, i := range order(p) {
		largest = max(largest, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = largest
	}
	return adjusted
}

// order returns the indices of p from the smallest value to the largest.
func order(p []float64) []int {
	indices := make([]int, len(p))
	for i := range indices {
		indices[i] = i
	}
	slices.SortStableFunc(indices, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	return indices
}
