package gates

// firstAttempt is the share of alpha that the first attempt at a change has. It is most of
// it: nearly all changes need no other, and those of a team that fixes what was found need
// few.
const firstAttempt = 0.8

// AttemptAlpha is the level at which the k-th attempt at the same change may pass, counted
// from 1, where the attempts before it are not part of its data:
//
//	α₁ = 0.8·α,  αₖ = 0.2·α/(k·(k − 1)) for k ≥ 2
//
// The levels of all attempts sum to alpha, however many there are, since 1/(k·(k − 1)) sums
// to 1. So the chance of a pass at any of them, with a comparison at or beyond its margin, is
// at most alpha: to measure again until it is green does not work. Attempts that are not
// counted, with k = 0, have all of alpha.
func AttemptAlpha(alpha float64, k int) float64 {
	switch {
	case k < 1:
		return alpha
	case k == 1:
		return firstAttempt * alpha
	}
	return (1 - firstAttempt) * alpha / (float64(k) * float64(k-1))
}
