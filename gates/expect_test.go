package gates_test

import (
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// better is a comparison of one metric whose head is faster by a share in every repeat, give
// or take a little, and that has to be.
func better(gain, margin float64, n int) gates.Comparison {
	c := expects(newSimulator(0).comparison(0, n, 0, 0), margin)
	c.Metric = newSimulator(0).lowerIsBetter()
	for k := range c.Pairs {
		wobble := 0.004 * float64(k%3-1)
		c.Pairs[k] = gates.Pair{Repeat: k + 1, Base: 1, Head: math.Exp(wobble) / (1 + gain)}
	}
	return c
}

func TestAnExpectedImprovementIsShownOrNot(t *testing.T) {
	tests := map[string]struct {
		c       gates.Comparison
		want    gates.Verdict
		refuted bool
	}{
		"by more than nothing":             {better(0.02, 0, 6), gates.Improvement, false},
		"by more than the margin":          {better(0.08, 0.05, 6), gates.Improvement, false},
		"by just the margin":               {better(0.05, 0.05, 6), gates.Inconclusive, false},
		"by half the margin":               {better(0.025, 0.05, 6), gates.Inconclusive, true},
		"by what two repeats cannot show":  {better(0.003, 0, 2), gates.Inconclusive, false},
		"no change at all":                 {better(0, 0, 6), gates.Inconclusive, false},
		"slower":                           {better(-0.02, 0, 6), gates.Regression, false},
		"slower by less than the margin":   {better(-0.02, 0.05, 6), gates.Regression, false},
		"one repeat":                       {better(0.5, 0, 1), gates.Inconclusive, false},
		"exactly the margin, to the digit": {exactly(0.05), gates.Inconclusive, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := judge(t, gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{tt.c}}).Comparisons[0]
			if d.Verdict != tt.want || d.Refuted != tt.refuted {
				t.Errorf("%s, refuted %v: %s", d.Verdict, d.Refuted, d.Reason)
			}
			if d := judgeOne(t, byTest(tt.c, gates.Welch)); (d.Verdict == gates.Improvement) != (tt.want == gates.Improvement) {
				t.Errorf("by Welch's test %s: %s", d.Verdict, d.Reason)
			}
		})
	}
}

// exactly is a head that is faster by the margin in every repeat, without any spread.
func exactly(margin float64) gates.Comparison {
	c := better(margin, margin, 6)
	for k := range c.Pairs {
		c.Pairs[k].Head = 1 / (1 + margin)
	}
	return c
}

// A further attempt has less of alpha, as it has for a pass.
func TestAFurtherAttemptShowsLess(t *testing.T) {
	c := better(0.005, 0, 6)
	f := gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}}
	first := judge(t, f).Comparisons[0]
	f.PassAlpha = gates.AttemptAlpha(0.05, 9)
	ninth := judge(t, f).Comparisons[0]
	if first.Verdict != gates.Improvement || ninth.Verdict != gates.Inconclusive || ninth.Outcome.PBetter != first.Outcome.PBetter {
		t.Errorf("%s, then %s", first.Verdict, ninth.Verdict)
	}
}

// An improvement has to hold with what was measured before the head's runs were measured again.
func TestAnExpectedImprovementHoldsWithWhatWasMeasuredAtFirst(t *testing.T) {
	c := better(0.02, 0, 6)
	c.Voided = []gates.Pair{{Repeat: 3, Base: 1, Head: 1.1}}
	f := gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}}
	if d := judge(t, f).Comparisons[0]; d.Verdict != gates.Inconclusive ||
		!strings.Contains(d.Reason, "with what was measured at first") {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
	f.Comparisons[0].Voided[0].Head = math.NaN()
	if d := judge(t, f).Comparisons[0]; d.Verdict != gates.Inconclusive {
		t.Errorf("not measured at first, %s: %s", d.Verdict, d.Reason)
	}
}

// What cannot come about is not waited for, and what can is.
func TestAnImprovementThatIsExcludedEndsTheSequence(t *testing.T) {
	for gain, stop := range map[float64]bool{0: true, 0.05: false, 0.1: true} {
		s := gates.Sequence{Family: gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{better(gain, 0.05, 4)}}, Looks: fiveLooks}
		p, err := s.Judge()
		if err != nil || p.Stop != stop {
			t.Errorf("gain %g: stop %v, %v", gain, p.Stop, err)
		}
	}
}

// The power that a plan states for an expected improvement is that of the judgement.
func TestAnExpectedImprovementHasItsPower(t *testing.T) {
	in := gates.NewProspect(fiveLooks, 0.05, 0.05, 1, gates.Rule{})
	in.Expect = gates.ExpectImprovement
	for _, margin := range []float64{0, 0.03} {
		gain := in.Detectable(0.02, math.Log1p(margin), gates.Power)
		s := newSimulator(12)
		shown := 0
		for i := range simulatedFiles() {
			f := gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{expects(s.comparison(i, 12, -gain, 0.02), margin)}}
			p, err := gates.Sequence{Family: f, Looks: fiveLooks}.Judge()
			if err != nil {
				t.Fatal(err)
			}
			if p.Judgement.Comparisons[0].Verdict == gates.Improvement {
				shown++
			}
		}
		if power := float64(shown) / float64(simulatedFiles()); math.Abs(power-gates.Power) > 0.06 {
			t.Errorf("margin %g: a gain of %.4f is shown in %.3f of files, want %.1f", margin, gain, power, gates.Power)
		}
	}
}
