package gates_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// everywhere are pairs of bases with all digits whose heads are one ratio apart.
func everywhere(n int, ratio float64) []gates.Pair {
	pairs := make([]gates.Pair, n)
	for i := range pairs {
		base := 1 / (2.1 + 0.3*float64(i))
		pairs[i] = gates.Pair{Repeat: i + 1, Base: base, Head: base * ratio}
	}
	return pairs
}

// TestExactlyAtTheMargin: an estimate at the margin is far enough, and a bound there excludes nothing.
func TestExactlyAtTheMargin(t *testing.T) {
	for name, tt := range map[string]struct {
		repeats int
		ratio   float64
		strict  bool
		want    gates.Verdict
	}{
		"worse":                   {4, 1.05, false, gates.Regression},
		"worse, in too few pairs": {2, 1.05, false, gates.Inconclusive},
		"worse, strict":           {4, 1.05, true, gates.Inconclusive},
		"better":                  {4, 1 / 1.05, false, gates.Improvement},
		"better, strict":          {4, 1 / 1.05, true, gates.Pass},
	} {
		c := comparison(t, "ttft.p99", everywhere(tt.repeats, tt.ratio))
		c.Strict, c.Unrounded = tt.strict, true
		d := judgeOne(t, c)
		if d.Verdict != tt.want || d.Need != nil && d.Need.N <= d.N {
			t.Errorf("%s: %s, need %+v, want %s: %s", name, d.Verdict, d.Need, tt.want, d.Reason)
		}
	}
}

// TestAnImprovementPasses: what is significantly better is none if the bound of a later attempt does not exclude the margin.
func TestAnImprovementPasses(t *testing.T) {
	f := gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{comparison(t, "ttft.p99", ratios(1, 0.94, 0.93, 0.95))}}
	first := judge(t, f).Comparisons[0]
	f.PassAlpha = gates.AttemptAlpha(0.05, 20)
	if later := judge(t, f).Comparisons[0]; first.Verdict != gates.Improvement || later.Verdict != gates.Inconclusive {
		t.Errorf("%s, then %s: %s", first.Verdict, later.Verdict, later.Reason)
	}
}

// TestAgreementThatCannotFall: launches of the base that agree in no more than the margin show no loss. A distance has no such end.
func TestAgreementThatCannotFall(t *testing.T) {
	for _, tt := range []struct {
		metric string
		base   float64
		want   gates.Verdict
	}{
		{"agreement.share", 0.04, gates.Invalid},
		{"agreement.share", 0.06, gates.Pass},
		{"logprob_difference.mean", 0.04, gates.Pass},
	} {
		c := comparison(t, tt.metric, []gates.Pair{{1, tt.base, tt.base}, {2, tt.base, tt.base}, {3, tt.base, tt.base}})
		if d := judgeOne(t, c); d.Verdict != tt.want {
			t.Errorf("%s of %g: %s: %s", tt.metric, tt.base, d.Verdict, d.Reason)
		}
		c.Pairs = c.Pairs[:1]
		if d := judgeOne(t, c); d.Verdict != gates.Inconclusive {
			t.Errorf("%s of %g in one repeat: %s: %s", tt.metric, tt.base, d.Verdict, d.Reason)
		}
	}
}

// TestDetectableChangeOfADecision: the smallest change that is found is stated whatever the other members do, and beyond the margin if an
// improvement is expected.
func TestDetectableChangeOfADecision(t *testing.T) {
	c := comparison(t, "ttft.p50", ratios(1, 1.01, 0.99, 1.03, 1.00))
	worse := comparison(t, "ttft.p99", ratios(1, 1.30, 1.31, 1.29, 1.30))
	d := judge(t, gates.Family{Comparisons: []gates.Comparison{c, worse}}).Comparisons[0]
	want := math.Expm1(gates.DetectableChange(4, 2*d.Outcome.SE, 0.05/2, gates.Power))
	if math.Abs(d.Outcome.Interval.MDE-want) > 1e-12 {
		t.Errorf("beside a regression %g is found, want %g", d.Outcome.Interval.MDE, want)
	}
	need := func(others ...float64) int {
		f := gates.Family{Comparisons: []gates.Comparison{comparison(t, "ttft.p50", ratios(1, 1.30, 1.02, 1.22, 0.99))}}
		for _, id := range []string{"ttft.p90", "ttft.p99", "tpot.p50", "tpot.p99", "itl.p99"} {
			f.Comparisons = append(f.Comparisons, comparison(t, id, ratios(1, others...)))
		}
		return needPairs(judge(t, f).Comparisons[0])
	}
	if beside, all := need(1.30, 1.31, 1.29, 1.30), need(1.01, 0.99, 1.00, 1.01); beside >= all {
		t.Errorf("beside regressions, which pass their level on, %d repeats would decide, and %d beside passes", beside, all)
	}
	c.Expect = gates.ExpectImprovement
	d = judgeOne(t, c)
	want = 1.05*math.Exp(gates.DetectableChange(4, 2*d.Outcome.SE, 0.05, gates.Power)) - 1
	if math.Abs(d.Outcome.Interval.MDE-want) > 1e-12 {
		t.Errorf("of an expected improvement %g is found, want %g", d.Outcome.Interval.MDE, want)
	}
}

// TestNeedOfAClaim checks that claims whose estimates are equally far from deciding need equally many repeats.
func TestNeedOfAClaim(t *testing.T) {
	need := func(ratio, margin float64, swap bool, change func(*gates.Comparison)) int {
		var heads []float64
		for _, wobble := range []float64{1.03, 0.96, 1.02, 1, 0.97, 1.02} {
			heads = append(heads, wobble*ratio)
		}
		c := comparison(t, "ttft.p99", ratios(1, heads...))
		for i, p := range c.Pairs {
			if swap {
				c.Pairs[i].Base, c.Pairs[i].Head = p.Head, p.Base
			}
		}
		c.Margin = metric.Margin(margin)
		change(&c)
		return needPairs(judgeOne(t, c))
	}
	strict := func(c *gates.Comparison) { c.Strict = true }
	better := func(c *gates.Comparison) { c.Expect = gates.ExpectImprovement }
	for _, ratio := range []float64{1.06, 1.07} {
		beyond, expected, shifted := need(ratio, 0.05, false, strict), need(ratio, 0.05, true, better), need(ratio/1.05, 0, true, better)
		if beyond < 20 || expected != beyond || shifted != beyond {
			t.Errorf("%g times as much: %d repeats for a bound beyond the margin, %d for an improvement beyond it, %d for one beyond its rest",
				ratio, beyond, expected, shifted)
		}
	}
}

// TestNeedOfATie: equal differences need as many repeats as the level that suffices whatever the other members do.
func TestNeedOfATie(t *testing.T) {
	f := gates.Family{}
	for i := range 5 {
		c := comparison(t, "ttft.p99", ratios(1, 1.3, 1.31, 1.29, 1.3, 1.3, 1.3))
		if c.ID = fmt.Sprint(i); i == 0 {
			c.Pairs, c.Expect, c.Unrounded = everywhere(2, 0.8), gates.ExpectImprovement, true
		}
		f.Comparisons = append(f.Comparisons, c)
	}
	if d := judge(t, f).Comparisons[0]; needPairs(d) != gates.FailingRuns(0.05/5) {
		t.Errorf("%s, %d repeats would decide: %s", d.Verdict, needPairs(d), d.Reason)
	}
}

// TestNeedIsWithinReachOfTheTest: no fewer repeats are advised than the test can decide with.
func TestNeedIsWithinReachOfTheTest(t *testing.T) {
	a, b := comparison(t, "ttft.p99", ratios(1, 1.1, 1.11, 1.09, 1.1)), comparison(t, "ttft.p50", ratios(1, 1, 1.01, 0.99, 1))
	a.Test, b.Test = gates.SignFlip, gates.SignFlip
	if d := judge(t, gates.Family{Comparisons: []gates.Comparison{a, b}}).Comparisons[0]; needPairs(d) != 6 { // 2⁻⁶ < 0.05/2 < 2⁻⁵
		t.Errorf("%s, %d repeats would decide: %s", d.Verdict, needPairs(d), d.Reason)
	}
}

// TestNeedOfSessions checks how many sessions are said to decide an open comparison: as many as NeedSessions asks for the
// distance between the estimate and the margin, or zero.
func TestNeedOfSessions(t *testing.T) {
	wave := []float64{0.96, 0.97, 0.98, 0.99, 1.00, 1.01, 1.02, 1.03, 1.04, 1.05}
	// One session would decide if these were not correlated.
	c := comparison(t, "ttft.p99", nil)
	c.Test, c.Planned, c.Unpaired = gates.Prediction, 0, &gates.Samples{Base: wave, Head: []float64{0.96}}
	if d := judgeOne(t, c); needSessions(d) != 2 {
		t.Errorf("%s, %d sessions would decide", d.Verdict, needSessions(d))
	}
	history := []float64{0.96, 1.05, 0.98, 1.03, 0.97, 1.04, 1.00, 1.01, 0.99, 1.02, 0.95, 1.06, 0.98, 1.03, 0.97, 1.04,
		1.00, 1.01, 0.99, 1.02}
	sum, squares := 0.0, 0.0
	for _, v := range history {
		sum += math.Log(v) / 20
	}
	for _, v := range history {
		squares += (math.Log(v) - sum) * (math.Log(v) - sum)
	}
	of := func(effect float64) int {
		n, _ := gates.NeedSessions(effect, math.Sqrt(squares/19), 20, 0.05)
		return n
	}
	margin := math.Log(1.05)
	for name, tt := range map[string]struct {
		head   float64
		strict bool
		want   func(d float64) int
	}{
		"to pass":              {1.02, false, func(d float64) int { return of(margin - d) }},
		"to regress":           {1.06, false, of},
		"beyond the margin":    {1.09, true, func(d float64) int { return of(d - margin) }},
		"beyond by too little": {1.055, true, func(float64) int { return 0 }},
	} {
		c := comparison(t, "ttft.p99", nil)
		c.Strict, c.Test, c.Planned, c.Unpaired = tt.strict, gates.Prediction, 0, &gates.Samples{Base: history, Head: []float64{tt.head}}
		d := judgeOne(t, c)
		want := tt.want(d.Outcome.D)
		if d.Verdict != gates.Inconclusive || needSessions(d) != want || want == 1 {
			t.Errorf("%s: %s, %d sessions would decide, want %d: %s", name, d.Verdict, needSessions(d), want, d.Reason)
		}
	}
}

// TestClustersCount: an error that the pairs share bounds the change and its p values, if it is the larger one.
func TestClustersCount(t *testing.T) {
	c := comparison(t, "first_divergence.mean", []gates.Pair{{1, 10, 9}, {2, 11, 10.1}, {3, 10, 9.1}, {4, 12, 11}})
	alone := judgeOne(t, c).Outcome
	c.Clusters = gates.Clusters{SE: 1, DF: 10}
	o := judgeOne(t, c).Outcome
	width := tOf(0.05, 10)
	if alone.P > 0.001 || o.P < 0.15 || o.PBetter < 0.8 || o.SE != 1 || o.DF != 10 ||
		math.Abs(o.Interval.Lower-(-o.D-width)) > 1e-9 || math.Abs(o.Interval.Upper-(-o.D+width)) > 1e-9 {
		t.Errorf("%+v of clusters, %+v of pairs", o, alone)
	}
	for range 20 { // whatever the order of the map
		r := gates.Relative{1: {}, 2: {Pairs: make([]gates.Pair, 2)}, 3: {Pairs: make([]gates.Pair, 3)}, 4: {Pairs: make([]gates.Pair, 4)}}
		if n := len(r.All().Pairs); n != 4 {
			t.Errorf("all values are %d pairs", n)
		}
	}
}

// TestRoundingIsNoDifference: differences of values that float64 rounds are zero.
func TestRoundingIsNoDifference(t *testing.T) {
	a, b := 0.1, 0.2
	d := judgeOne(t, comparison(t, "queue.mean", []gates.Pair{{1, 0.3, a + b}, {2, 0.3, a + b}, {3, 0.3, a + b}}))
	if d.Difference.Worse || d.Outcome.P != 1 {
		t.Errorf("worse %v, p = %g", d.Difference.Worse, d.Outcome.P)
	}
	nearly := comparison(t, "ttft.p99", ratios(1, 1, 1+3e-16, 1, 1+3e-16))
	nearly.Test, nearly.Unrounded = gates.Welch, true
	if d := judgeOne(t, nearly); d.Difference.Worse {
		t.Errorf("%g is worse", d.Outcome.D)
	}
}

// TestSpreadTest: equal numbers of pairs have the closed form of F with 6 and 6 degrees of freedom, and one far value is a swap of sides.
func TestSpreadTest(t *testing.T) {
	base := []float64{0.01, -0.01, 0.02, -0.02, 0.015, -0.015, 0.001}
	var head, far []float64
	for i, v := range base {
		head, far = append(head, 5*v), append(far, v)
		if i == 0 {
			far[0] = 1
		}
	}
	ratio, p, ok := gates.SpreadTest(base, head)
	x := 1 / (1 + ratio*ratio)
	want := x * x * x * (10 - 15*x + 6*x*x)
	if !ok || math.Abs(ratio-5) > 1e-9 || math.Abs(p-want) > 1e-12 {
		t.Errorf("%g times as much, p = %g, want %g", ratio, p, want)
	}
	if ratio, p, ok = gates.SpreadTest(base, far); !ok || ratio < 10 || p != 1 {
		t.Errorf("one far value: %g times as much, p = %g", ratio, p)
	}
	if _, _, ok = gates.SpreadTest(make([]float64, 7), head); ok {
		t.Error("a base without a spread was compared")
	}
}

// TestFarRepeats: a repeat is named from 3.5 robust standard deviations on, by the side that is farther on the scale of the metric.
func TestFarRepeats(t *testing.T) {
	for far, want := range map[float64]bool{5: false, 6: true} { // the limit is 5.2
		var heads []float64
		for _, d := range []float64{-2, -1, 0, 1, far} {
			heads = append(heads, math.Exp(0.001*d))
		}
		d := judgeOne(t, comparison(t, "ttft.p99", ratios(1, heads...)))
		if strings.Contains(fmt.Sprint(d.Warnings), "far from the others") != want {
			t.Errorf("%g times the median distance: %q", far, d.Warnings)
		}
	}
	d := judgeOne(t, comparison(t, "ttft.p99", ratios(1, 1.1, 1.1, 1.1, 1.1, 1.101)))
	if strings.Contains(fmt.Sprint(d.Warnings), "far from") {
		t.Errorf("most are equal: %q", d.Warnings)
	}
	c := comparison(t, "ttft.p99", ratios(1000, 0.1, 0.1001, 0.0999, 0.1, 0.1002, 0.0998))
	c.Pairs[3].Base, c.Pairs[3].Head = 1050, 80 // the base is farther by itself, the head as a ratio
	if d := judgeOne(t, c); !strings.Contains(fmt.Sprint(d.Warnings), "repeat 4 is far from the others, by its head") {
		t.Errorf("%q", d.Warnings)
	}
}

// TestAnswersThatAreKnown: a prompt that the base did not answer is left out, log-probabilities that are known are closer than none, and
// as many prompts as differ, less one, inform about chance.
func TestAnswersThatAreKnown(t *testing.T) {
	a := gates.Answers{Prompts: 3, Repeats: []int{1, 2}, Alike: func(head bool, _, _, prompt int) (gates.Alike, bool) {
		return gates.Alike{Equal: !head, Tokens: 8 - prompt}, prompt < 2 || head
	}}
	r := a.Relate().Agreement.All()
	if len(r.Pairs) != 2 || r.Pairs[0].Base != 1 || r.Pairs[0].Head != 0 || r.Clusters.DF != 1 {
		t.Errorf("%+v", r)
	}
	known, unknown := gates.Alike{Tokens: 3, Nats: 0.1}, gates.Alike{Tokens: 3, Nats: math.NaN()}
	if !known.Closer(unknown) || unknown.Closer(known) {
		t.Error("unknown log-probabilities are closer")
	}
}
