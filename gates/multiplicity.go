package gates

import (
	"cmp"
	"slices"
)

// Holm returns the p values adjusted by Holm's step-down procedure, in the order of p:
// for the i-th smallest of m, the largest of min(1, (m − j + 1)·p(j)) over j ≤ i.
// Rejecting where the adjusted value is at most α keeps the chance of any false
// rejection at α, whatever the dependence (S. Holm, Scand. J. Statist. 6, 1979). The p
// values are in [0, 1].
func Holm(p []float64) []float64 {
	adjusted := make([]float64, len(p))
	largest := 0.0
	for rank, i := range order(p) {
		largest = max(largest, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = largest
	}
	return adjusted
}

// BenjaminiHochberg returns the q values of p, in the order of p: for the i-th smallest
// of m, the smallest of m·p(j)/j over j ≥ i. Listing what is at most q keeps the expected
// share of false entries at q for independent and positively dependent tests (Y.
// Benjamini and Y. Hochberg, J. R. Statist. Soc. B 57, 1995). It is for lists that
// people read, not for gates.
func BenjaminiHochberg(p []float64) []float64 {
	adjusted := make([]float64, len(p))
	smallest := 1.0
	for rank, i := range slices.Backward(order(p)) {
		smallest = min(smallest, float64(len(p))*p[i]/float64(rank+1))
		adjusted[i] = smallest
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
