package gates_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// The levels of all attempts sum to alpha.
func TestAttemptsSumToAlpha(t *testing.T) {
	const alpha = 0.05
	sum, before := 0.0, math.Inf(1)
	for k := 1; k <= 100_000; k++ {
		level := gates.AttemptAlpha(alpha, k)
		if !(level > 0 && level < before) {
			t.Fatalf("attempt %d has the level %g after %g", k, level, before)
		}
		sum, before = sum+level, level
	}
	if sum > alpha || sum < 0.99999*alpha {
		t.Errorf("the levels sum to %g, want %g", sum, alpha)
	}
	if got := gates.AttemptAlpha(alpha, 0); got != alpha {
		t.Errorf("an attempt that is not counted has the level %g", got)
	}
}

// Whoever measures a change at its margin again until it is green finds it green in at most
// 5 % of all cases, looks included: 4.3 % of the 3,000 changes that -full draws. Without it
// there are fewer, and the bound is that of a binomial test at 5 %.
func TestGreenAfterTenAttempts(t *testing.T) {
	const margin, sd, alpha, tries = 0.05, 0.02, 0.05, 10
	changes := 150 // α/k would let 13 % of them in
	if *gates.Full {
		changes = 3000
	}
	m, _ := metric.Lookup("ttft.p50")
	rng := rand.New(rand.NewPCG(4, 2026))
	green := 0
	for range changes {
		for k := 1; k <= tries; k++ {
			if attempt(t, rng, m, margin, sd, gates.AttemptAlpha(alpha, k)) == gates.Pass {
				green++
				break
			}
		}
	}
	t.Logf("green at the margin after at most %d attempts: %.2f %% of %d changes", tries, 100*float64(green)/float64(changes), changes)
	most := alpha
	if !*gates.Full {
		most += 1.645 * math.Sqrt(alpha*(1-alpha)/float64(changes))
	}
	if share := float64(green) / float64(changes); share > most {
		t.Errorf("%.3f of the changes are green at the margin after %d attempts, want at most %.3f", share, tries, most)
	}
}

// attempt measures a change that is exactly at the margin, with looks after 4 to 12 pairs.
func attempt(t *testing.T, rng *rand.Rand, m metric.Metric, margin, sd, pass float64) gates.Verdict {
	t.Helper()
	c := gates.Comparison{ID: "c", Gate: "g", Metric: m, Claim: gates.Claim{Margin: metric.Margin(margin)}, CanFail: true}
	for n := range fiveLooks[len(fiveLooks)-1] {
		c.Pairs = append(c.Pairs, gates.Pair{Repeat: n + 1, Base: 1, Head: (1 + margin) * math.Exp(sd*rng.NormFloat64())})
	}
	// Looks after the one that decides are not taken.
	p := advance(t, gates.Sequence{Family: gates.Family{Alpha: 0.05, PassAlpha: pass, Comparisons: []gates.Comparison{c}}, Looks: fiveLooks})
	return p.Judgement.Comparisons[0].Verdict
}
