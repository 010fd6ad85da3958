package reports_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// drawnSession judges a session of one metric whose head is worse by a mean and a spread on the scale of the metric.
func drawnSession(t *testing.T, r *rand.Rand, m metric.Metric, looks gates.Looks, mean, sd float64, margin metric.Margin) gates.Decision {
	t.Helper()
	if m.Direction == metric.HigherIsBetter {
		mean = -mean
	}
	c := gates.Comparison{ID: "0", Gate: "gate.g", Metric: m, Claim: gates.Claim{Margin: margin}, CanFail: true}
	for k := range looks[len(looks)-1] {
		p := gates.Pair{Repeat: k, Base: 0.5, Head: 0.5 + mean + sd*r.NormFloat64()}
		if m.Scale == metric.Log {
			p.Head = p.Base * math.Exp(p.Head-p.Base)
		}
		c.Pairs = append(c.Pairs, p)
	}
	p, err := gates.Sequence{Family: gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}}, Looks: looks}.Judge()
	if err != nil {
		t.Fatal(err)
	}
	return p.Judgement.Comparisons[0]
}

var passingMargin = lazyregexp.New(`or a margin of ([0-9.]+) (%|pp)`)

// TestMarginsThatPass: with the margin that an undecided session names, at least 70 % of sessions of the same pairs pass: of times,
// of rates, of which more is better, and of shares. -v prints the shares.
func TestMarginsThatPass(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	for _, id := range []string{"ttft.p99", "output_throughput.mean", "prefix_cache.hit_rate"} {
		m, _ := metric.Lookup(id)
		for _, looks := range []gates.Looks{{2}, {3}, {4}, {6}, {12}, {20}, {4, 6, 8, 10, 12}} {
			for _, sd := range []float64{0.03, 0.08} {
				for _, mean := range []float64{0, 0.03} {
					name := fmt.Sprintf("%s, looks %v, pairs that spread by %g %%, %+g %%", id, looks, 100*sd, 100*mean)
					t.Run(name, func(t *testing.T) {
						named, passed, sessions := 0, 0, 0
						for range 40 {
							got := drawnSession(t, r, m, looks, mean, sd, 0.05)
							if got.Verdict != gates.Inconclusive || got.Need == nil {
								continue
							}
							doc := inconclusive()
							g := &doc.Gates[0]
							d := &g.Decisions[0]
							d.Metric, d.Label, d.Unit, d.Direction, d.Scale = m.ID, m.Label, string(m.Unit), m.Direction, m.Scale
							d.Change, d.N, d.NeedPairs = new(got.Difference.Change), got.N, got.Need.N
							d.Lower, d.Upper = new(got.Outcome.Interval.Lower), new(got.Outcome.Interval.Upper)
							d.Verdict, d.Margin = result.Inconclusive, 0.05
							g.Decisions = g.Decisions[:1]
							found := passingMargin.FindStringSubmatch(string(written(t, "text", doc, reports.Options{Width: 1000})))
							if found == nil {
								continue // above 100 %, or the estimate is beyond the margin
							}
							named++
							margin, err := strconv.ParseFloat(found[1], 64)
							if err != nil || margin <= 5 {
								t.Fatalf("a margin of %s is named beside one of 5", found[1])
							}
							for range 25 {
								sessions++
								v := drawnSession(t, r, m, looks, mean, sd, metric.Margin(margin/100)).Verdict
								if v == gates.Pass || v == gates.Improvement {
									passed++
								}
							}
						}
						if sessions == 0 {
							return // all were decided
						}
						share := float64(passed) / float64(sessions)
						t.Logf("%d sessions name a margin; %.0f %% of others pass with it", named, 100*share)
						if share < 0.7 {
							t.Errorf("%.2f of sessions pass", share)
						}
					})
				}
			}
		}
	}
}
