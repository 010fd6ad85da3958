package gates_test

import (
	"math"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// Slow runs of the head that are void and measured again do not make a file green: with the
// head at its margin, and every run slower than usual measured again until the cap.
func TestMeasuringSlowRunsAgainDoesNotPass(t *testing.T) {
	const files, most = 600, 4
	s := newSimulator(6)
	green, blind := 0, 0
	for range files {
		c := s.comparison(0, 12, 0, 0)
		draw := func(k int) (gates.Pair, bool) {
			z := s.rng.NormFloat64()
			return gates.Pair{Repeat: k, Base: 1, Head: math.Exp(worseIs(c.Metric) * (math.Log(1.05) + 0.02*z))}, z > 0.5
		}
		for k := range c.Pairs {
			pair, slow := draw(k)
			if first := pair; slow && len(c.Voided) < most {
				c.Voided = append(c.Voided, first)
				pair, _ = draw(k)
			}
			c.Pairs[k] = pair
		}
		if passes(t, c) {
			green++
		}
		c.Voided = nil
		if passes(t, c) {
			blind++
		}
	}
	atMost(t, "green at the margin with slow runs measured again", green, files, 0.05)
	if blind < files/10 {
		t.Errorf("only %d of %d pass where the void runs are forgotten: the simulation tests nothing", blind, files)
	}
}

func passes(t *testing.T, c gates.Comparison) bool {
	t.Helper()
	p, err := gates.Sequence{Family: gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}}, Looks: fiveLooks, Ended: true}.Judge()
	if err != nil {
		t.Fatal(err)
	}
	v := p.Judgement.Comparisons[0].Verdict
	return v == gates.Pass || v == gates.Improvement
}

// Slow runs of the base that are void and measured again do not make a file red: with equal sides, and every run of the
// base slower than usual measured again until the cap.
func TestMeasuringSlowRunsOfTheBaseAgainIsNoRegression(t *testing.T) {
	const files, most = 600, 4
	s := newSimulator(7)
	red, blind := 0, 0
	verdict := func(c gates.Comparison) gates.Verdict {
		return judge(t, gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}}).Comparisons[0].Verdict
	}
	for range files {
		c := s.comparison(0, 8, 0, 0)
		c.Margin = 0.02
		draw := func(k int) (gates.Pair, bool) {
			z := s.rng.NormFloat64()
			head := math.Exp(worseIs(c.Metric) * 0.03 * s.rng.NormFloat64())
			return gates.Pair{Repeat: k, Base: math.Exp(worseIs(c.Metric) * 0.03 * z), Head: head}, z > 0.3
		}
		for k := range c.Pairs {
			pair, slow := draw(k)
			if first := pair; slow && len(c.VoidedBase) < most {
				c.VoidedBase = append(c.VoidedBase, first)
				pair, _ = draw(k)
			}
			c.Pairs[k] = pair
		}
		if verdict(c) == gates.Regression {
			red++
		}
		c.VoidedBase = nil
		if verdict(c) == gates.Regression {
			blind++
		}
	}
	atMost(t, "red with slow runs of the base measured again", red, files, 0.05)
	if blind < files/12 {
		t.Errorf("only %d of %d are red where the void runs are forgotten: the simulation tests nothing", blind, files)
	}
}

// TestVoidedRunsAtTheirEdges: what was measured at first counts if it changes the verdict, and only then.
func TestVoidedRunsAtTheirEdges(t *testing.T) {
	same, slower := ratios(1, 1.001, 0.999, 1, 1.001), ratios(1, 1.10, 1.11, 1.09, 1.10)
	base := func(v float64) []gates.Pair { return []gates.Pair{{1, v, 1.10}} }
	for name, tt := range map[string]struct {
		pairs, voided, voidedBase []gates.Pair
		others                    int // in the family
		want                      gates.Verdict
	}{
		"the head, as fast":                   {same, []gates.Pair{{1, 1, 1.002}}, nil, 0, gates.Pass},
		"the head, at the margin":             {everywhere(4, 1), everywhere(4, 1.05), nil, 0, gates.Inconclusive},
		"the head, not measured":              {same, []gates.Pair{{1, 1, math.NaN()}}, nil, 0, gates.Inconclusive},
		"the base, as fast":                   {slower, nil, base(1), 4, gates.Regression},
		"the base, not measured":              {slower, nil, base(math.NaN()), 0, gates.Inconclusive},
		"the base, below the margin":          {ratios(1, 1.06, 1.061, 1.059, 1.06), nil, []gates.Pair{{1, 1.04, 1.06}}, 0, gates.Inconclusive},
		"the base, significant by itself":     {slower, nil, base(1.078), 0, gates.Regression},
		"the base, not after Holm":            {slower, nil, base(1.078), 4, gates.Inconclusive},
		"the base, of a change that is small": {ratios(1, 1.02, 1.021, 1.019, 1.02), nil, []gates.Pair{{1, 1.2, 1.02}}, 0, gates.Pass},
	} {
		f := gates.Family{Comparisons: []gates.Comparison{comparison(t, "ttft.p99", tt.pairs)}}
		f.Comparisons[0].Voided, f.Comparisons[0].VoidedBase, f.Comparisons[0].Unrounded = tt.voided, tt.voidedBase, true
		for _, id := range []string{"ttft.p50", "ttft.p90", "tpot.p50", "tpot.p99"}[:tt.others] {
			f.Comparisons = append(f.Comparisons, comparison(t, id, same))
		}
		if d := judge(t, f).Comparisons[0]; d.Verdict != tt.want {
			t.Errorf("%s: %s, want %s: %s", name, d.Verdict, tt.want, d.Reason)
		}
	}
}
