package gates

import "fmt"

// FisherExact returns the one-sided p value of Fisher's exact test that the first group's
// proportion x1/n1 is greater than the second's x2/n2: the probability, with all margins fixed, of
// x1 or more in the first group (scipy.stats.fisher_exact, alternative "greater"). Swap the groups
// for the other side.
func FisherExact(x1, n1, x2, n2 int) (float64, error) {
	for _, g := range [][2]int{{x1, n1}, {x2, n2}} {
		if g[0] < 0 || g[0] > g[1] {
			return 0, fmt.Errorf("%d of %d is not a proportion", g[0], g[1])
		}
	}
	return hypergeometricTail(x1, x1+x2, n1, n2), nil
}

// hypergeometricTail returns P(X ≥ k) if X of the hits are in the first group, of sizes n1 and n2.
// Weights are built by their ratios outwards from the mode and divided by their sum. This keeps all
// digits, unlike differences of log-gamma.
func hypergeometricTail(k, hits, n1, n2 int) float64 {
	lowest, highest := max(0, hits-n2), min(hits, n1)
	// ratio returns P(X = x+1) / P(X = x).
	ratio := func(x int) float64 {
		return float64(hits-x) / float64(x+1) * float64(n1-x) / float64(n2-hits+x+1)
	}
	mode := int(float64(hits+1) * float64(n1+1) / float64(n1+n2+2))
	mode = min(max(mode, lowest), highest)

	total, tail := 1.0, 0.0
	if mode >= k {
		tail = 1
	}
	for x, w := mode, 1.0; x < highest && w > 0; x++ {
		w *= ratio(x)
		total += w
		if x+1 >= k {
			tail += w
		}
	}
	for x, w := mode-1, 1.0; x >= lowest && w > 0; x-- {
		w /= ratio(x)
		total += w
		if x >= k {
			tail += w
		}
	}
	return min(1, tail/total)
}
