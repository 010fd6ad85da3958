package gates

import (
	"fmt"
	"math"

	"github.com/servegate/pipeline/gates/metric"
)

// refusal reports that a test could not reject whatever the data, and what would help.
type refusal struct {
	Test  *Test
	N     int
	Alpha float64
	// NeedN is the smallest number of repeats that can reject at Alpha.
	NeedN int
	// NeedAlpha is the smallest level at which N repeats can reject; 0 if there is none.
	NeedAlpha float64
}

func (r *refusal) Error() string {
	msg := fmt.Sprintf("%s with %s cannot reject at %.3g, however large the change: use at least %s", r.Test, repeats(r.N), r.Alpha, repeats(r.NeedN))
	if r.NeedAlpha > 0 && r.NeedAlpha < 1 {
		msg += fmt.Sprintf(", or a level of at least %.3g", r.NeedAlpha)
	}
	return msg
}

// CanReject returns a *refusal if the one-sided test with n repeats (of each side)
// cannot reach alpha with any data. Alpha is the corrected level: that of the group
// divided by its size. A t-test needs 2 repeats; n sign flips reach 2⁻ⁿ, the
// Mann–Whitney test and permutations 1/C(2n, n). A prediction interval does not depend on repeats.
func CanReject(test *Test, n int, alpha float64) error {
	if n >= 1 && test.leastP(n) <= alpha {
		return nil
	}
	r := &refusal{Test: test, N: n, Alpha: alpha, NeedN: leastRepeats(test, alpha)}
	if p := test.leastP(n); p < 1 {
		r.NeedAlpha = p
	}
	return r
}

// leastRepeats is the smallest number of repeats that can reject at alpha.
func leastRepeats(test *Test, alpha float64) int {
	n := 1
	for test.leastP(n) > alpha && n < MaxPairs {
		n++
	}
	return n
}

// CheckNoise refuses a plan whose noise is above its margin: n pairs of standard
// deviation sd (on the scale of the test: of log ratios for times and rates) that
// find a change of the margin with less than 80 % power at the level alpha. The error
// names the number of pairs and the margin that would work.
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
	return fmt.Errorf("%s: with %s the smallest change found with 80 %% power is %.3g, above the margin of %.3g; %s", m.ID, repeats(n), found, margin, advice)
}
