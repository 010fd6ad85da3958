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
