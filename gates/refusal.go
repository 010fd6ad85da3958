package gates

import (
	"fmt"
	"math"

	"github.com/servegate/pipeline/gates/metric"
)

// CanReject returns an error with advice if the one-sided test with n repeats (of each side) cannot
// reach alpha with any data. alpha is the corrected level: that of the group divided by its size. A
// t-test needs 2 repeats. n sign flips reach 2⁻ⁿ, the Mann–Whitney test and permutations 1/C(2n,
// n). A prediction interval does not depend on repeats.
func CanReject(test *Test, n int, alpha float64) error {
	p := test.leastP(n)
	if n >= 1 && p <= alpha {
		return nil
	}
	advice := "use at least " + repeats(leastRepeats(test, alpha))
	if p > 0 && p < 1 {
		advice += fmt.Sprintf(", or a level of at least %.3g", p)
	}
	return fmt.Errorf("%s with %s cannot reject at %.3g, however large the change: %s", test, repeats(n), alpha, advice)
}

// leastRepeats returns the smallest number of repeats that can reject at alpha.
func leastRepeats(test *Test, alpha float64) int {
	n := 1
	for test.leastP(n) > alpha && n < MaxPairs {
		n++
	}
	return n
}

// CheckNoise returns an error if the noise of a plan is above its margin: if n pairs of standard
// deviation sd (on the scale of the test: log ratios for times and rates) find a change of the
// margin with less than 80 % power at the level alpha. The error gives the number of pairs and the
// margin that would work.
func CheckNoise(m metric.Metric, n int, sd float64, margin metric.Margin, alpha float64) error {
	found := m.Scale.Change(DetectableChange(n, sd, alpha, Power))
	if found <= float64(margin) {
		return nil
	}
	advice := fmt.Sprintf("set a margin of at least %.3g", found)
	if math.IsInf(found, 1) {
		advice = "plan at least 2 repeats"
	}
	if need, err := NeedPairs(margin.On(m.Scale), sd, alpha, Power); err == nil {
		advice = fmt.Sprintf("plan %s, or %s", repeats(need), advice)
	}
	return fmt.Errorf("%s: with %s the smallest change found with 80 %% power is %.3g, above the margin of %.3g; %s", m.ID, repeats(n),
		found, margin, advice)
}
