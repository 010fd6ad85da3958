package gates

// firstAttempt is the share of alpha for the first attempt at a change. It is most of alpha,
// because nearly all changes need one attempt only.
const firstAttempt = 0.8

// AttemptAlpha returns the level at which the k-th attempt (from 1) at the same change may pass, if
// the earlier attempts are not part of its data:
//
//	α₁ = 0.8·α,  αₖ = 0.2·α/(k·(k − 1)) for k ≥ 2
//
// The levels of all attempts sum to alpha, because 1/(k·(k − 1)) sums to 1. If a comparison is at
// or beyond its margin, the chance that any attempt passes is therefore at most alpha: re-running
// until it passes does not help. Attempts that are not counted (k = 0) have all of alpha.
func AttemptAlpha(alpha float64, k int) float64 {
	switch {
	case k < 1:
		return alpha
	case k == 1:
		return firstAttempt * alpha
	}
	return (1 - firstAttempt) * alpha / (float64(k) * float64(k-1))
}
