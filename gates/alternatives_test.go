package gates_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/servegate/pipeline/gates"
)

// byTest gives a comparison another test.
func byTest(c gates.Comparison, t *gates.Test) gates.Comparison {
	c.Test = t
	return c
}

func TestVerdictsOfTheOtherTests(t *testing.T) {
	up := ratios(0.4, 1.10, 1.11, 1.09, 1.10, 1.12, 1.08, 1.10, 1.11)
	same := ratios(0.4, 1.01, 0.99, 1.002, 1.012, 0.985, 1.001, 0.991, 1.004)
	tests := map[string]struct {
		test  *gates.Test
		pairs []gates.Pair
		want  gates.Verdict
	}{
		"flips, slower":         {gates.SignFlip, up, gates.Regression},
		"flips, same":           {gates.SignFlip, same, gates.Pass},
		"flips, too few":        {gates.SignFlip, up[:4], gates.Inconclusive},
		"max-T, slower":         {gates.MaxT, up, gates.Regression},
		"max-T, same":           {gates.MaxT, same, gates.Pass},
		"Welch, slower":         {gates.Welch, up, gates.Regression},
		"Welch, same":           {gates.Welch, same, gates.Pass},
		"ranks, slower":         {gates.MannWhitney, up, gates.Regression},
		"ranks, same":           {gates.MannWhitney, same, gates.Pass},
		"ranks, too few":        {gates.MannWhitney, same[:2], gates.Inconclusive},
		"splits, slower":        {gates.Permutation, up, gates.Regression},
		"splits, same":          {gates.Permutation, same, gates.Pass},
		"splits, too few":       {gates.Permutation, same[:2], gates.Inconclusive},
		"splits, nothing":       {gates.Permutation, nil, gates.Missing},
		"splits, all the same":  {gates.Permutation, ratios(0.4, 1, 1, 1, 1, 1, 1, 1, 1), gates.Pass},
		"ranks, one":            {gates.MannWhitney, same[:1], gates.Inconclusive},
		"ranks, nothing":        {gates.MannWhitney, nil, gates.Missing},
		"Welch, no logarithm":   {gates.Welch, ratios(0.4, 1, 0, 1), gates.Invalid},
		"flips, not a number":   {gates.SignFlip, ratios(0.4, 1, math.NaN(), 1), gates.Invalid},
		"flips, all the same":   {gates.SignFlip, ratios(0.4, 1, 1, 1, 1, 1, 1, 1, 1), gates.Pass},
		"ranks, all the same":   {gates.MannWhitney, ratios(0.4, 1, 1, 1, 1, 1, 1, 1, 1), gates.Pass},
		"Welch, constant sides": {gates.Welch, ratios(0.4, 1.2, 1.2, 1.2, 1.2), gates.Regression},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := judgeOne(t, byTest(comparison(t, "ttft.p99", tt.pairs), tt.test))
			if d.Verdict != tt.want {
				t.Errorf("%s: %s, want %s", d.Verdict, d.Reason, tt.want)
			}
			if d.Outcome != nil && d.Outcome.Exact && tt.test == gates.SignFlip {
				t.Error("the p value of sign flips has been taken as exact")
			}
			if _, err := json.Marshal(d); err != nil {
				t.Errorf("a decision must be writable: %v", err)
			}
		})
	}
}

func TestTooFewValuesForAnIntervalAreNamed(t *testing.T) {
	d := judgeOne(t, byTest(comparison(t, "ttft.p99", ratios(1, 1.01, 0.99, 1.002, 0.998)), gates.SignFlip))
	if !d.Outcome.Interval.Unbounded || !strings.Contains(d.Reason, "4 repeats are too few for an interval by sign_flip") {
		t.Errorf("unbounded %v: %s", d.Outcome.Interval.Unbounded, d.Reason)
	}
	if d.Outcome.Interval.Lower != -1 || d.Outcome.Interval.Upper != math.MaxFloat64 {
		t.Errorf("bounds %g … %g, want those of the scale", d.Outcome.Interval.Lower, d.Outcome.Interval.Upper)
	}
	if needPairs(d) < 5 {
		t.Errorf("%d repeats would decide, but 5 are the least for 0.05", needPairs(d))
	}
}

// TestAPValueAtItsLevel: a p value of counts that equals its level rejects, as [gates.CanReject] says.
func TestAPValueAtItsLevel(t *testing.T) {
	for _, tt := range []struct {
		test    *gates.Test
		repeats int
		alpha   float64
	}{{gates.SignFlip, 5, 1. / 32}, {gates.MannWhitney, 3, 1. / 20}, {gates.MannWhitney, 5, 1. / 252}, {gates.Permutation, 4, 1. / 70},
		{gates.Permutation, 9, 1. / 48620}} {
		c := byTest(comparison(t, "ttft.p99", ratios(1, 1.10, 1.11, 1.09, 1.12, 1.08, 1.13, 1.07, 1.14, 1.06)[:tt.repeats]), tt.test)
		d := judge(t, gates.Family{Alpha: tt.alpha, Comparisons: []gates.Comparison{c}}).Comparisons[0]
		if d.Verdict != gates.Regression || d.Outcome.Interval.Unbounded {
			t.Errorf("%s of %d: %s, p = %g at %g, unbounded %v: %s", tt.test, tt.repeats, d.Verdict, d.Outcome.P, tt.alpha,
				d.Outcome.Interval.Unbounded, d.Reason)
		}
	}
}

// TestDetectableChangeOfWelch: equal spreads have the degrees of freedom of both sides.
func TestDetectableChangeOfWelch(t *testing.T) {
	c := byTest(comparison(t, "ttft.p99", nil), gates.Welch)
	base := []float64{0.97, 1.02, 1.03, 0.99}
	c.Unpaired = &gates.Samples{Base: base}
	for _, v := range base {
		c.Unpaired.Head = append(c.Unpaired.Head, 1.01*v)
	}
	d := judgeOne(t, c)
	want := math.Expm1(gates.DetectableChange(7, d.Outcome.SE*math.Sqrt(7), 0.05, gates.Power)) // 6 degrees of freedom
	if math.Abs(d.Outcome.Interval.MDE-want) > 1e-12 {
		t.Errorf("%g is found, want %g: %+v", d.Outcome.Interval.MDE, want, d.Outcome)
	}
}

func TestUnpairedValuesOfDifferentNumbers(t *testing.T) {
	for _, test := range []*gates.Test{gates.Welch, gates.MannWhitney, gates.Permutation} {
		c := byTest(comparison(t, "output_throughput.mean", nil), test)
		c.Unpaired = &gates.Samples{Base: []float64{100, 101, 99, 100.5, 99.5, 100.2}, Head: []float64{90, 91, 89, 90.5}}
		d := judgeOne(t, c)
		if d.Verdict != gates.Regression || d.N != 4 || d.Difference.Change > -0.09 || d.Difference.Change < -0.11 {
			t.Errorf("%s: %s with n = %d and %+.3f: %s", test, d.Verdict, d.N, d.Difference.Change, d.Reason)
		}
		if !(d.Outcome.Interval.Lower < d.Difference.Change && d.Difference.Change < d.Outcome.Interval.Upper) {
			t.Errorf("%s: %g not in %g … %g", test, d.Difference.Change, d.Outcome.Interval.Lower, d.Outcome.Interval.Upper)
		}
		c.Unpaired = &gates.Samples{Base: []float64{1, 2}}
		if d := judgeOne(t, c); d.Verdict != gates.Missing || d.Reason != "the head has no value" {
			t.Errorf("%s without values: %s: %s", test, d.Verdict, d.Reason)
		}
	}
}

// Sides of very different spread have few degrees of freedom, of which fewer repeats have
// fewer still: what would decide is worked out all the same.
func TestUnequalSpreadsAreJudged(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		side := func(name string) []float64 {
			sd := math.Pow(10, -float64(rapid.IntRange(1, 6).Draw(rt, "spread of the "+name)))
			x := make([]float64, rapid.IntRange(2, 9).Draw(rt, "runs of the "+name))
			for i := range x {
				x[i] = math.Exp(sd * rapid.Float64Range(-1, 1).Draw(rt, name))
			}
			return x
		}
		for _, test := range []*gates.Test{gates.Welch, gates.MannWhitney, gates.Permutation} {
			c := byTest(comparison(t, "ttft.p99", nil), test)
			c.Unpaired = &gates.Samples{Base: side("base"), Head: side("head")}
			least := min(len(c.Unpaired.Base), len(c.Unpaired.Head))
			d := judgeOne(t, c)
			if needPairs(d) != 0 && needPairs(d) <= least {
				rt.Errorf("%s: %d of %d repeats would decide", test, needPairs(d), least)
			}
			if d.Outcome.SE > 0 && !(d.Outcome.Interval.MDE > 0) {
				rt.Errorf("%s: %+v", test, d)
			}
		}
	})
}

// A p value at most α and a lower bound beyond zero are the same statement.
func TestPropertyBoundsAgreeWithPValues(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string, n int) []float64 {
			x := make([]float64, n)
			for i := range x {
				x[i] = rapid.Float64Range(-1, 1).Draw(rt, name) + 1e-9*float64(i) // no ties
			}
			return x
		}
		alpha := []float64{0.0125, 0.05, 0.1, 0.3}[rapid.IntRange(0, 3).Draw(rt, "alpha")]
		n := rapid.IntRange(2, 10).Draw(rt, "n")
		d := draw("d", n)
		flips, err := gates.SignFlips(d, alpha, 1)
		if err != nil {
			rt.Fatal(err)
		}
		if (flips.Greater <= alpha) != (flips.Lower > 0) || (flips.Less <= alpha) != (flips.Upper < 0) {
			rt.Errorf("flips at %g: %+v", alpha, flips)
		}
		base, head := draw("base", n), draw("head", rapid.IntRange(2, 10).Draw(rt, "m"))
		ranks, err := gates.RankSum(base, head, alpha)
		if err != nil {
			rt.Fatal(err)
		}
		if !slices.ContainsFunc(head, func(h float64) bool { return slices.Contains(base, h) }) &&
			((ranks.Greater <= alpha) != (ranks.Lower > 0) || (ranks.Less <= alpha) != (ranks.Upper < 0)) {
			rt.Errorf("ranks at %g: %+v", alpha, ranks)
		}
		welch, err := gates.WelchT(base, head, alpha)
		if err != nil {
			rt.Fatal(err)
		}
		if (welch.Greater <= alpha) != (welch.Lower > 0) {
			rt.Errorf("Welch at %g: %+v", alpha, welch)
		}
	})
}

func TestRandomFlipsAreCloseToAllOfThem(t *testing.T) {
	s := newSimulator(21)
	d := make([]float64, 16)
	for i := range d {
		d[i] = 0.01 + 0.03*s.rng.NormFloat64()
	}
	exact, err := gates.SignFlips(d, 0.05, 1)
	if err != nil {
		t.Fatal(err)
	}
	// One difference of zero changes no flip's sum, but makes 17 of 16.
	random, err := gates.SignFlips(append(slices.Clone(d), 0), 0.05, 1)
	if err != nil {
		t.Fatal(err)
	}
	if se := math.Sqrt(exact.Greater * (1 - exact.Greater) / 99_999); math.Abs(random.Greater-exact.Greater) > 4*se+2e-5 {
		t.Errorf("p = %g by random flips, %g by all", random.Greater, exact.Greater)
	}
	again, err := gates.SignFlips(append(slices.Clone(d), 0), 0.05, 1)
	if err != nil {
		t.Fatal(err)
	}
	if again != random {
		t.Error("the same seed gives other flips")
	}
}

func TestEmptySamplesAreRefused(t *testing.T) {
	if _, err := gates.SignFlips([]float64{1}, 0.05, 0); !errors.Is(err, gates.ErrTooFew) {
		t.Errorf("one difference: %v", err)
	}
	if _, err := gates.WelchT([]float64{1}, []float64{1, 2}, 0.05); !errors.Is(err, gates.ErrTooFew) {
		t.Errorf("one value: %v", err)
	}
	if _, err := gates.RankSum(nil, []float64{1, 2}, 0.05); !errors.Is(err, gates.ErrTooFew) {
		t.Errorf("no value: %v", err)
	}
	if _, err := gates.RankSum([]float64{math.NaN()}, []float64{1, 2}, 0.05); err == nil {
		t.Error("NaN was ranked")
	}
	if _, err := gates.WelchT([]float64{math.Inf(1), 2}, []float64{1, 2}, 0.05); err == nil {
		t.Error("infinity was tested")
	}
	if _, err := gates.PredictionT([]float64{1}, []float64{1}, 0.05); !errors.Is(err, gates.ErrTooFew) {
		t.Errorf("one session: %v", err)
	}
}

// correlated draws a family whose members share most of their noise.
func (s *simulator) correlated(test *gates.Test, members, n int, sd, shift float64) gates.Family {
	f := gates.Family{Alpha: 0.05}
	for i := range members {
		c := s.comparison(0, n, 0, 0)
		c.ID, c.Test = fmt.Sprint(i), test
		f.Comparisons = append(f.Comparisons, c)
	}
	for k := range n {
		common := s.rng.NormFloat64()
		for _, c := range f.Comparisons {
			noise := math.Sqrt(0.9)*common + math.Sqrt(0.1)*s.rng.NormFloat64()
			c.Pairs[k].Head = c.Pairs[k].Base * math.Exp(shift+sd*noise)
		}
	}
	return f
}

func TestMaxTHoldsItsLevelAndFindsMoreThanHolm(t *testing.T) {
	s := newSimulator(24)
	const trials = 200
	alarms := 0
	found := map[*gates.Test]int{}
	for range trials {
		for _, d := range judge(t, s.correlated(gates.MaxT, 10, 8, 0.03, 0)).Comparisons {
			if d.Outcome.PHolm <= d.Level {
				alarms++
				break
			}
		}
		moved := s.correlated(gates.MaxT, 10, 8, 0.05, math.Log(1.05))
		for _, test := range []*gates.Test{gates.MaxT, gates.SignFlip} {
			for i := range moved.Comparisons {
				moved.Comparisons[i].Test = test
			}
			for _, d := range judge(t, moved).Comparisons {
				if d.Outcome.PHolm <= d.Level {
					found[test]++
				}
			}
		}
	}
	atMost(t, "families with a false rejection by max-T", alarms, trials, 0.05)
	t.Logf("rejections of %d: %v", 10*trials, found)
	if found[gates.MaxT] <= found[gates.SignFlip] {
		t.Errorf("max-T finds %d, Holm over sign flips %d", found[gates.MaxT], found[gates.SignFlip])
	}
}

// Among one, max-T is the sign-flip test; beside others it has its part of the level.
func TestMaxTOfOneIsASignFlip(t *testing.T) {
	pairs := ratios(1, 1.02, 1.01, 0.995, 1.03, 1.00, 1.025, 1.011, 0.99, 1.02)
	one := judgeOne(t, byTest(comparison(t, "ttft.p99", pairs), gates.MaxT))
	flip := judgeOne(t, byTest(comparison(t, "ttft.p99", pairs), gates.SignFlip))
	if one.Outcome.PHolm != flip.Outcome.PHolm || one.Outcome.PBetterHolm != flip.Outcome.PBetterHolm || one.Outcome.P != flip.Outcome.P ||
		one.Outcome.Interval.Upper != flip.Outcome.Interval.Upper {
		t.Errorf("max-T %+v, sign flip %+v", one, flip)
	}
	expected := func(test *gates.Test) float64 {
		c := byTest(comparison(t, "ttft.p99", ratios(1, 0.93, 0.94, 0.92, 0.96, 0.93, 0.95, 0.94, 0.91)), test)
		c.Expect = gates.ExpectImprovement
		return judgeOne(t, c).Outcome.PBetterHolm
	}
	if a, b := expected(gates.MaxT), expected(gates.SignFlip); a != b {
		t.Errorf("an improvement beyond the margin: max-T %g, sign flip %g", a, b)
	}
	rounded := ratios(1, 1+2e-16, 1+4e-16, 1+2e-16, 1+4e-16, 1+2e-16, 1+4e-16, 1+2e-16, 1+4e-16)
	if o := judgeOne(t, byTest(comparison(t, "ttft.p99", rounded), gates.MaxT)).Outcome; o.PHolm != 1 || o.PBetterHolm != 1 {
		t.Errorf("rounding is a difference: %+v", o)
	}
	other := comparison(t, "tpot.mean", pairs)
	j := judge(t, gates.Family{Comparisons: []gates.Comparison{byTest(comparison(t, "ttft.p99", pairs), gates.MaxT), other}})
	if got, want := j.Comparisons[0].Outcome.PHolm, min(1, 2*flip.Outcome.P); math.Abs(got-want) > 1e-15 {
		t.Errorf("beside another: %g, want %g", got, want)
	}
	if got, want := j.Comparisons[1].Outcome.PHolm, min(1, 2*j.Comparisons[1].Outcome.P); math.Abs(got-want) > 1e-15 {
		t.Errorf("the other: %g, want %g", got, want)
	}
}

func TestMaxTAgainstBruteForce(t *testing.T) {
	s := newSimulator(25)
	f := s.correlated(gates.MaxT, 3, 8, 0.03, 0.015)
	statistic := func(c gates.Comparison, mask int) float64 {
		d := make([]float64, len(c.Pairs))
		for k, p := range c.Pairs {
			d[k] = math.Log(p.Head / p.Base)
			if mask>>k&1 == 1 {
				d[k] = -d[k]
			}
		}
		r, err := gates.PairedT(d)
		if err != nil {
			t.Fatal(err)
		}
		return r.T
	}
	order := slices.Clone(f.Comparisons)
	slices.SortFunc(order, func(a, b gates.Comparison) int { return cmp.Compare(statistic(b, 0), statistic(a, 0)) })
	want, largest := map[string]float64{}, 0.0
	for i, c := range order {
		reached := 0
		for mask := range 1 << 8 {
			if slices.ContainsFunc(order[i:], func(o gates.Comparison) bool { return statistic(o, mask) >= statistic(c, 0)-1e-9 }) {
				reached++
			}
		}
		largest = max(largest, float64(reached)/(1<<8))
		want[c.ID] = largest
	}
	for _, d := range judge(t, f).Comparisons {
		if d.Outcome.PHolm != want[d.ID] {
			t.Errorf("%s: adjusted p = %g, want %g", d.ID, d.Outcome.PHolm, want[d.ID])
		}
	}
}

func BenchmarkSignFlips16(b *testing.B) {
	d := make([]float64, 16)
	for i := range d {
		d[i] = math.Sin(float64(i))
	}
	for b.Loop() {
		if _, err := gates.SignFlips(d, 0.05, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMaxT20Of12(b *testing.B) {
	f := newSimulator(23).correlated(gates.MaxT, 20, 12, 0.03, 0)
	for b.Loop() {
		judge(b, f)
	}
}

func BenchmarkRankSum10v10(b *testing.B) {
	s := newSimulator(26)
	base, head := make([]float64, 10), make([]float64, 10)
	for i := range base {
		base[i], head[i] = s.rng.NormFloat64(), s.rng.NormFloat64()
	}
	for b.Loop() {
		if _, err := gates.RankSum(base, head, 0.05); err != nil {
			b.Fatal(err)
		}
	}
}
