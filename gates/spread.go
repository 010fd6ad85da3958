package gates

import "gonum.org/v1/gonum/stat/distuv"

// SpreadLevel is the probability up to which a difference of the spreads of two sides is reported, over all comparisons of a
// session that pass.
const SpreadLevel = 0.01

// leastSpread is the smallest number of values of a side whose spread is compared.
const leastSpread = 4

// SpreadTest returns how many times as much as the base's the values of the head spread, and the p value of Fisher's F test that they
// spread no more. The values are on the scale of the test. It returns false for too few values, and for a base without spread.
func SpreadTest(base, head []float64) (ratio, p float64, ok bool) {
	if min(len(base), len(head)) < leastSpread {
		return 0, 0, false
	}
	_, b := meanSD(base)
	_, h := meanSD(head)
	if !(b > 0) || !(h >= 0) {
		return 0, 0, false
	}
	ratio = h / b
	return ratio, distuv.F{D1: float64(len(head) - 1), D2: float64(len(base) - 1)}.Survival(ratio * ratio), true
}
