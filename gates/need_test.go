package gates_test

import (
	"math"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// The number of repeats that would decide does so about as often as it is meant to, over
// true changes and spreads as they come, and never much less often for one kind of noise.
func TestTheRepeatsThatWouldDecideDoSo(t *testing.T) {
	const sessions = 1200
	all, right := 0, 0
	for _, sd := range []float64{0.02, 0.04, 0.08} {
		s := newSimulator(uint64(1000 * sd))
		here, rightHere := 0, 0
		for range sessions {
			n := 4 + 2*s.rng.IntN(3)
			change := 0.10 * s.rng.Float64()
			c := s.comparison(0, 400, change, sd)
			pairs := c.Pairs
			c.Pairs = pairs[:n]
			d := judge(t, gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}}).Comparisons[0]
			if d.Verdict != gates.Inconclusive || needPairs(d) == 0 || needPairs(d) > len(pairs) {
				continue
			}
			here++
			c.Pairs = pairs[:needPairs(d)]
			if judge(t, gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}}).Comparisons[0].Verdict != gates.Inconclusive {
				rightHere++
			}
		}
		share := float64(rightHere) / float64(here)
		t.Logf("SD %g: %d of %d (%.1f %%)", sd, rightHere, here, 100*share)
		if math.Abs(share-gates.Power) > 0.10 {
			t.Errorf("SD %g: the number is right in %.1f %% of %d sessions", sd, 100*share, here)
		}
		all, right = all+here, right+rightHere
	}
	if share := float64(right) / float64(all); math.Abs(share-gates.Power) > 0.05 {
		t.Errorf("the number is right in %.1f %% of %d sessions", 100*share, all)
	}
}
