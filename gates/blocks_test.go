package gates_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"pgregory.net/rapid"
)

// TestPropertyWhatABlockAddsToBothSidesCancels: the same pairs on other nodes, each slower
// or faster as a whole, are decided the same.
func TestPropertyWhatABlockAddsToBothSidesCancels(t *testing.T) {
	tb := t
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 16).Draw(t, "pairs")
		factor := []float64{1, rapid.Float64Range(0.5, 2).Draw(t, "a"), rapid.Float64Range(0.5, 2).Draw(t, "b")}
		blocks := map[int]string{}
		here, there := make([]gates.Pair, n), make([]gates.Pair, n)
		for i := range n {
			// No two values are the same, as rounded ones would be.
			base := rapid.Float64Range(0.01, 10).Draw(t, "base") * (1 + 1e-6*float64(i))
			head := base * rapid.Float64Range(0.8, 1.25).Draw(t, "ratio")
			at := i % len(factor)
			here[i] = gates.Pair{Repeat: i + 1, Base: base, Head: head}
			there[i] = gates.Pair{Repeat: i + 1, Base: base * factor[at], Head: head * factor[at]}
			blocks[i+1] = string(rune('a' + at))
		}
		x := judgeOne(tb, comparison(tb, "ttft.p50", here))
		other := comparison(tb, "ttft.p50", there)
		other.Blocks = blocks
		y := judgeOne(tb, other)
		if x.Verdict != y.Verdict || math.Abs(x.Outcome.D-y.Outcome.D) > 1e-12 || math.Abs(x.Outcome.P-y.Outcome.P) > 1e-6 {
			t.Fatalf("%s (d %g, p %g) became %s (d %g, p %g)", x.Verdict, x.Outcome.D, x.Outcome.P, y.Verdict, y.Outcome.D, y.Outcome.P)
		}
	})
}

// TestAChangeThatDependsOnTheBlockIsShown by the means of the blocks.
func TestAChangeThatDependsOnTheBlockIsShown(t *testing.T) {
	pairs := ratios(1, 1.080, 1.001, 1.085, 0.998, 1.078, 1.003, 1.081, 1.002)
	c := comparison(t, "ttft.p50", pairs)
	c.Blocks = map[int]string{}
	for i, p := range pairs {
		c.Blocks[p.Repeat] = []string{"n1", "n2"}[i%2]
	}
	d := judgeOne(t, c)
	want := "the change is not the same everywhere (F test, p = 9e-09): +8.1 % on n1 (4 repeats), +0.1 % on n2 (4 repeats)"
	if got := strings.Join(d.Warnings, "\n"); !strings.Contains(got, want) {
		t.Errorf("warnings %q, want %q", got, want)
	}
}

// TestEqualBlocksSeldomDiffer: p values of the F test are uniform where nothing differs.
// With three blocks the law has a closed form, (1 + 2F/df)^(-df/2), which is set against.
func TestEqualBlocksSeldomDiffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	const files = 4000
	differing := 0
	for range files {
		pairs, blocks := make([]gates.Pair, 12), map[int]string{}
		for i := range pairs {
			base := math.Exp(0.05 * rng.NormFloat64())
			pairs[i] = gates.Pair{Repeat: i + 1, Base: base, Head: base * math.Exp(0.02*rng.NormFloat64())}
			blocks[i+1] = string(rune('a' + i%3))
		}
		c := comparison(t, "ttft.p50", pairs)
		c.Blocks = blocks
		d := judgeOne(t, c)
		if strings.Contains(strings.Join(d.Warnings, " "), "not the same everywhere") != (closedForm(pairs) < 0.001) {
			t.Fatalf("p = %g, and the warnings are %q", closedForm(pairs), d.Warnings)
		}
		if closedForm(pairs) < 0.001 {
			differing++
		}
	}
	if differing > 14 { // 4 are due, and more than 14 come by chance with 1e-4
		t.Errorf("%d of %d files show a difference of equal blocks", differing, files)
	}
}

// closedForm is the p value of three equal blocks whose pairs take turns.
func closedForm(pairs []gates.Pair) float64 {
	var sums [3]float64
	total := 0.0
	for i, p := range pairs {
		d := math.Log(p.Head / p.Base)
		sums[i%3] += d
		total += d
	}
	n := float64(len(pairs))
	within, between := 0.0, 0.0
	for i, p := range pairs {
		d := math.Log(p.Head/p.Base) - sums[i%3]/(n/3)
		within += d * d
	}
	for _, s := range sums {
		d := s/(n/3) - total/n
		between += n / 3 * d * d
	}
	df := n - 3
	f := between / 2 / (within / df)
	return math.Pow(1+2*f/df, -df/2)
}

// TestBetweenMakesTheClaimOneAboutAllBlocks: the error of the blocks is added to that of the pairs, and
// blocks that differ by more than was given have what they show themselves.
func TestBetweenMakesTheClaimOneAboutAllBlocks(t *testing.T) {
	decide := func(pairs []gates.Pair, between float64) gates.Decision {
		c := comparison(t, "ttft.p50", pairs)
		c.Blocks, c.Between = map[int]string{}, between
		for i, p := range pairs {
			c.Blocks[p.Repeat] = []string{"n1", "n2"}[i%2]
		}
		return judgeOne(t, c)
	}
	alike := ratios(1, 1.081, 1.080, 1.085, 1.084, 1.078, 1.079, 1.082, 1.081)
	these, all := decide(alike, 0), decide(alike, 0.03)
	if want := math.Hypot(these.Outcome.SE, 0.03/math.Sqrt2); math.Abs(all.Outcome.SE-want) > 1e-12 {
		t.Errorf("standard error %g, want %g", all.Outcome.SE, want)
	}
	if these.Verdict != gates.Regression || all.Verdict != gates.Regression {
		t.Errorf("%s of these, and %s of all, want regressions", these.Verdict, all.Verdict)
	}
	// Blocks of one pair each show nothing of their own.
	single := comparison(t, "ttft.p50", alike)
	single.Between, single.Blocks = 0.03, map[int]string{}
	for _, p := range alike {
		single.Blocks[p.Repeat] = fmt.Sprint(p.Repeat)
	}
	own := these.Outcome.SE
	if o := judgeOne(t, single).Outcome; math.Abs(o.SE-math.Hypot(own, 0.03/math.Sqrt(8))) > 1e-12 || o.DF != 7 || all.Outcome.DF != 7 {
		t.Errorf("%+v and %+v", o, all.Outcome)
	}
	// Digits and equal pairs leave as much open as without blocks.
	digits := constantSides(t, 100, 101, 1, 5)
	digits.Between = 0.001
	equal := constantSides(t, 100, 146, 0, 5)
	equal.Between, equal.Unrounded = 0.001, true
	if a, b := judgeOne(t, digits).Outcome, judgeOne(t, equal).Outcome; a.P < 0.4 || b.Exact {
		t.Errorf("p = %g of what digits hide, exact %v of what blocks add to", a.P, b.Exact)
	}
	if gates.BetweenOf(lookup(t, "queue.mean"), 0.1) != 0 || gates.BetweenOf(lookup(t, "ttft.p50"), 0.1) != math.Log1p(0.1) {
		t.Error("a share of differences")
	}
	apart := ratios(1, 1.160, 1.001, 1.165, 0.998, 1.158, 1.003, 1.161, 1.002)
	these, all = decide(apart, 0), decide(apart, 0.03)
	if these.Verdict != gates.Regression || all.Verdict != gates.Inconclusive || all.Outcome.DF > 2 {
		t.Errorf("%s of these, and %s of all with %g degrees of freedom, want a regression, and inconclusive with about 1", these.Verdict,
			all.Verdict, all.Outcome.DF)
	}
	if !strings.Contains(all.Reason, "more machines would decide it") {
		t.Errorf("reason %q", all.Reason)
	}
	// A bound beyond the margin is open by the machines, too.
	for name, change := range map[string]func(c *gates.Comparison){
		"strict": func(c *gates.Comparison) { c.Strict = true },
		"improvement": func(c *gates.Comparison) {
			c.Expect = gates.ExpectImprovement
			for i, p := range c.Pairs {
				c.Pairs[i].Base, c.Pairs[i].Head = p.Head, p.Base
			}
		},
	} {
		c := comparison(t, "ttft.p50", ratios(1, 1.071, 1.070, 1.075, 1.074, 1.068, 1.069, 1.072, 1.071))
		c.Blocks, c.Between = map[int]string{}, 0.03
		for i, p := range c.Pairs {
			c.Blocks[p.Repeat] = []string{"n1", "n2"}[i%2]
		}
		change(&c)
		if d := judgeOne(t, c); d.Verdict != gates.Inconclusive || !strings.Contains(d.Reason, "more machines would decide it") {
			t.Errorf("%s: %s: %s", name, d.Verdict, d.Reason)
		}
	}
	wild := decide(ratios(1, 1.45, 1.45, 0.90, 0.90, 1.40, 1.42, 0.88, 0.92), 0.005)
	if wild.Verdict != gates.Inconclusive || !strings.Contains(wild.Reason, "more repeats would decide it") {
		t.Errorf("%s: %q", wild.Verdict, wild.Reason)
	}
	// Here the pairs are what is noisy, and the machines hardly matter.
	noisy := decide(ratios(1, 1.09, 1.08, 0.96, 0.95, 1.07, 1.06, 0.98, 0.99), 0.005)
	if noisy.Verdict != gates.Inconclusive || !strings.Contains(noisy.Reason, "more repeats would decide it") {
		t.Errorf("%s: %q", noisy.Verdict, noisy.Reason)
	}
}

// TestPropertyBetweenMakesNothingEasier: an error that is added to that of the pairs narrows no bound and lowers
// no p value, however few the pairs are and whatever a rounded clock hides.
func TestPropertyBetweenMakesNothingEasier(t *testing.T) {
	tb := t
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "pairs")
		heads := make([]float64, n)
		for i := range heads {
			heads[i] = 0.02 * math.Exp(rapid.Float64Range(-0.1, 0.1).Draw(t, "d"))
			if rapid.Bool().Draw(t, "rounded") {
				heads[i] = math.Round(heads[i]*1000) / 1000
			}
		}
		decide := func(between float64) gates.Decision {
			c := comparison(tb, "ttft.p50", ratios(0.02, heads...))
			c.Blocks, c.Between = map[int]string{}, between
			for i, p := range c.Pairs {
				c.Blocks[p.Repeat] = []string{"n1", "n2"}[i%2]
			}
			return judgeOne(tb, c)
		}
		these, all := decide(0), decide(rapid.Float64Range(1e-4, 0.05).Draw(t, "between"))
		if these.Outcome == nil || all.Outcome == nil {
			return
		}
		a, b := these.Outcome, all.Outcome
		if b.P < a.P-1e-9 && a.P < 0.5 || b.SE < a.SE-1e-12 {
			t.Fatalf("alone p %g, SE %g; with it p %g, SE %g", a.P, a.SE, b.P, b.SE)
		}
	})
}
