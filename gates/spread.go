package gates

import "gonum.org/v1/gonum/stat/distuv"

// SpreadLevel is the probability up to which a difference of the spreads of two sides is reported, over all comparisons of a
// session that pass.
const SpreadLevel = 0.01

const (
	// leastSpread is the smallest number of pairs whose spreads are compared: with fewer no swap is rare enough.
	leastSpread = 5
	// swapLevel is the share of the swaps of sides up to which a difference of spreads is not their noise alone.
	swapLevel = 0.05
)

// SpreadTest returns how many times as much as the base's the values of the head spread, and the p value of Fisher's F test that they
// spread no more. The values are in pairs, on the scale of the test. The F test takes noise as normal, and calls sides with the same
// rare slow launches different in up to a quarter of sessions. So p is 1 if the sides could be swapped in some pairs, and differ as much
// in more than a twentieth of the swaps. It returns false for too few pairs, and for a base without spread.
func SpreadTest(base, head []float64) (ratio, p float64, ok bool) {
	if len(base) < leastSpread || len(head) != len(base) {
		return 0, 0, false
	}
	_, b := meanSD(base)
	_, h := meanSD(head)
	if !(b > 0) || !(h >= 0) {
		return 0, 0, false
	}
	ratio, p = h/b, 1
	swapped, err := signFlips(Sample{Differences: squaresBeyond(base, head)}, Settings{Alpha: 0.5})
	if err == nil && swapped.Greater <= swapLevel {
		p = distuv.F{D1: float64(len(head) - 1), D2: float64(len(base) - 1)}.Survival(ratio * ratio)
	}
	return ratio, p, true
}

// squaresBeyond returns, per pair, the squared distance of the head from its median, minus the base's from its own.
func squaresBeyond(base, head []float64) []float64 {
	b, h := median(base), median(head)
	out := make([]float64, len(base))
	for i := range out {
		out[i] = (head[i]-h)*(head[i]-h) - (base[i]-b)*(base[i]-b)
	}
	return out
}
