package gates_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// drawPairs draws 2 to 10 pairs around a true ratio. Shift and noise are on a grid, so
// that a spread is either zero or well above the rounding of float64.
func drawPairs(t *rapid.T) []gates.Pair {
	n := rapid.IntRange(2, 10).Draw(t, "n")
	shift := float64(rapid.IntRange(-200, 200).Draw(t, "shift")) / 1000
	sd := float64(rapid.IntRange(1, 100).Draw(t, "sd")) / 1000
	pairs := make([]gates.Pair, n)
	for i := range pairs {
		base := rapid.Float64Range(0.1, 10).Draw(t, "base")
		noise := float64(rapid.IntRange(-100, 100).Draw(t, "noise")) / 100
		pairs[i] = gates.Pair{Repeat: i, Base: base, Head: base * math.Exp(shift+sd*noise)}
	}
	return pairs
}

// drawFamily draws a family of 1 to 6 comparisons by paired t, lower and higher better.
func drawFamily(tb testing.TB, t *rapid.T) gates.Family {
	tb.Helper()
	return drawFamilyOf(tb, t, gates.PairedTTest)
}

// drawFamilyOf draws a family of 1 to 6 comparisons by any of some tests, in the common
// group, in one of their own, or outside of the family.
func drawFamilyOf(tb testing.TB, t *rapid.T, tests ...*gates.Test) gates.Family {
	tb.Helper()
	ids := []string{"ttft.p99", "tpot.mean", "output_throughput.mean", "itl.p50", "e2el.p90", "total_throughput.mean"}
	f := gates.Family{Alpha: 0.05}
	for _, id := range ids[:rapid.IntRange(1, len(ids)).Draw(t, "members")] {
		c := comparison(tb, id, drawPairs(t))
		c.Strict = rapid.Bool().Draw(t, "strict")
		c.Test = rapid.SampledFrom(tests).Draw(t, "test")
		c.CanFail = rapid.IntRange(0, 4).Draw(t, "fails") > 0
		if rapid.IntRange(0, 3).Draw(t, "shares") == 0 {
			c.Gate, c.Alpha = "gate.own", 0.02
		}
		f.Comparisons = append(f.Comparisons, c)
	}
	return f
}

// everyTest of paired values.
var everyTest = []*gates.Test{gates.PairedTTest, gates.SignFlip, gates.MaxT, gates.Welch, gates.MannWhitney, gates.Permutation}

var approximately = cmpopts.EquateApprox(1e-6, 1e-9)

func TestPropertyUnitsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := drawFamilyOf(t, rt, everyTest...)
		before := judge(t, f)
		scale := math.Pow(2, float64(rapid.IntRange(-20, 20).Draw(rt, "log2 scale")))
		for i := range f.Comparisons {
			f.Comparisons[i].Pairs = slices.Clone(f.Comparisons[i].Pairs)
			for k := range f.Comparisons[i].Pairs {
				f.Comparisons[i].Pairs[k].Base *= scale
				f.Comparisons[i].Pairs[k].Head *= scale
			}
		}
		after := judge(t, f)
		// T is D/SE. Without spread SE is half of the last digit of float64, which the scale moves.
		ignored := []cmp.Option{cmpopts.IgnoreFields(gates.Difference{}, "Base", "Head"), cmpopts.IgnoreFields(gates.Outcome{}, "T")}
		if diff := cmp.Diff(before, after, approximately, cmp.Options(ignored)); diff != "" {
			rt.Error(diff)
		}
	})
}

func TestPropertyOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := drawFamilyOf(t, rt, everyTest...)
		before := judge(t, f)
		f.Comparisons = rapid.Permutation(f.Comparisons).Draw(rt, "comparisons")
		for i, c := range f.Comparisons {
			f.Comparisons[i].Pairs = rapid.Permutation(c.Pairs).Draw(rt, "pairs")
		}
		after := judge(t, f)
		for _, d := range after.Comparisons {
			i := slices.IndexFunc(before.Comparisons, func(b gates.Decision) bool { return b.ID == d.ID })
			if diff := cmp.Diff(before.Comparisons[i], d); diff != "" {
				rt.Errorf("%s: %s", d.ID, diff)
			}
		}
	})
}

func TestPropertySwappingSidesMirrorsTheVerdict(t *testing.T) {
	mirror := map[gates.Verdict]gates.Verdict{gates.Regression: gates.Improvement, gates.Improvement: gates.Regression}
	rapid.Check(t, func(rt *rapid.T) {
		f := drawFamilyOf(t, rt, everyTest...)
		before := judge(t, f)
		for i := range f.Comparisons {
			f.Comparisons[i].Pairs = slices.Clone(f.Comparisons[i].Pairs)
			for k, p := range f.Comparisons[i].Pairs {
				f.Comparisons[i].Pairs[k].Base, f.Comparisons[i].Pairs[k].Head = p.Head, p.Base
			}
		}
		after := judge(t, f)
		for i, b := range before.Comparisons {
			a := after.Comparisons[i]
			if want, decided := mirror[b.Verdict]; decided && a.Verdict != want {
				rt.Errorf("%s was %s and is %s with the sides swapped", b.ID, b.Verdict, a.Verdict)
			}
			if _, decided := mirror[b.Verdict]; !decided && mirror[a.Verdict] != "" {
				rt.Errorf("%s was %s and is %s with the sides swapped", b.ID, b.Verdict, a.Verdict)
			}
			if math.Abs(a.Outcome.P-b.Outcome.PBetter) > 1e-9 || math.Abs(a.Outcome.PHolm-b.Outcome.PBetterHolm) > 1e-9 {
				rt.Errorf("%s: p values are not mirrored: %+v %+v", b.ID, b, a)
			}
		}
	})
}

// Every improvement is a regression with the sides swapped. The converse holds for
// requests only: where servers and requests disagree, what speaks against the head wins.
func TestPropertySwappingSidesMirrorsSuccess(t *testing.T) {
	runs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) gates.Run {
		sent := rapid.IntRange(1, 500).Draw(t, "sent")
		return gates.Run{Sent: sent, Failed: rapid.IntRange(0, min(sent, 20)).Draw(t, "failed"), ServerFailed: rapid.IntRange(0,
			9).Draw(t, "crash") == 0}
	}), 1, 6)
	number := func(runs []gates.Run) (crashed bool) {
		for i := range runs {
			runs[i].Repeat = i
			crashed = crashed || runs[i].ServerFailed
		}
		return crashed
	}
	rapid.Check(t, func(rt *rapid.T) {
		base, head := runs.Draw(rt, "base"), runs.Draw(rt, "head")
		crashed := number(base)
		crashed = number(head) || crashed
		ahead, back := judgeSuccess(t, base, head), judgeSuccess(t, head, base)
		if ahead.Verdict == gates.Improvement && back.Verdict != gates.Regression {
			rt.Errorf("%s (%s), swapped %s (%s)", ahead.Verdict, ahead.Reason, back.Verdict, back.Reason)
		}
		if !crashed && ahead.Verdict == gates.Regression && back.Verdict != gates.Improvement {
			rt.Errorf("%s (%s), swapped %s (%s)", ahead.Verdict, ahead.Reason, back.Verdict, back.Reason)
		}
	})
}

func TestPropertyHolm(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(rt, "p")
		holm := gates.Holm(p)
		for i := range p {
			if holm[i] < p[i] || holm[i] > 1 || holm[i] > float64(len(p))*p[i] {
				rt.Errorf("Holm of %g among %d is %g", p[i], len(p), holm[i])
			}
			for k := range p {
				if p[i] <= p[k] && holm[i] > holm[k] {
					rt.Errorf("order is lost: %g → %g, %g → %g", p[i], holm[i], p[k], holm[k])
				}
			}
		}
	})
}

// A smaller p value makes no adjusted one larger: more evidence for one comparison never
// takes a rejection from another.
func TestPropertyHolmIsMonotone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 20).Draw(rt, "p")
		before := gates.Holm(p)
		smaller := slices.Clone(p)
		i := rapid.IntRange(0, len(p)-1).Draw(rt, "member")
		smaller[i] *= rapid.Float64Range(0, 1).Draw(rt, "factor")
		for k, after := range gates.Holm(smaller) {
			if after > before[k] {
				rt.Errorf("%g became %g and the adjusted p of %g rose from %g to %g", p[i], smaller[i], p[k], before[k], after)
			}
		}
	})
}

// apart returns pairs of which no side has a value twice. What a clock measures does not repeat to the last digit, so
// that a value which does shows a grid, and its step leaves the difference of the sides unknown (see gates.Rounding).
func apart(pairs []gates.Pair) []gates.Pair {
	pairs = slices.Clone(pairs)
	for i := range pairs {
		by := 1 + 0.000137*float64(i) // no multiple of the grid of the noise
		pairs[i].Base, pairs[i].Head = pairs[i].Base*by, pairs[i].Head*by
	}
	return pairs
}

// One more pair exactly at the mean of the others is evidence for the same: at the same
// level it undoes no verdict. A pass can become an improvement. That holds for values that do not repeat: a pair whose
// value another pair has shows that values are rounded, of which the others showed nothing.
func TestPropertyAPairAtTheMeanUndoesNothing(t *testing.T) {
	decided := map[gates.Verdict]int{}
	rapid.Check(t, func(rt *rapid.T) {
		f := drawFamilyOf(t, rt, gates.PairedTTest, gates.SignFlip)
		for i := range f.Comparisons {
			f.Comparisons[i].Pairs = apart(f.Comparisons[i].Pairs)
		}
		before := judge(t, f).Comparisons
		const beyond = 20 // all that is drawn
		for i, d := range before {
			c := &f.Comparisons[i]
			c.Pairs = append(c.Pairs, gates.Pair{Repeat: 100, Base: beyond, Head: beyond * (1 + d.Difference.Change)})
		}
		for i, after := range judge(t, f).Comparisons {
			was := before[i]
			decided[was.Verdict]++
			if math.Abs(after.Difference.Change-was.Difference.Change) > 1e-9 {
				rt.Fatalf("%s: the mean moved from %g to %g", was.ID, was.Difference.Change, after.Difference.Change)
			}
			stands := after.Verdict == was.Verdict || was.Verdict == gates.Inconclusive || was.Verdict == gates.Pass &&
				after.Verdict == gates.Improvement
			if !stands {
				rt.Errorf("%s by %s was %s (%s) and is %s (%s)", was.ID, f.Comparisons[i].Test, was.Verdict, was.Reason, after.Verdict, after.Reason)
			}
		}
	})
	for _, v := range []gates.Verdict{gates.Pass, gates.Improvement, gates.Regression} {
		if decided[v] == 0 {
			t.Errorf("no %s was drawn: nothing is tested", v)
		}
	}
}

func TestPropertyVerdictsKeepTheirPromises(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := drawFamily(t, rt)
		for i, d := range judge(t, f).Comparisons {
			m := f.Comparisons[i].Margin.On(metric.Log)
			switch d.Verdict {
			case gates.Regression:
				if d.Outcome.D < m-1e-12 || d.Outcome.PHolm > d.Level {
					rt.Errorf("regression without grounds: %+v", d)
				}
			case gates.Improvement:
				if d.Outcome.D > -m+1e-12 || d.Outcome.PBetterHolm > d.Level {
					rt.Errorf("improvement without grounds: %+v", d)
				}
				upper := math.Log1p(d.Outcome.Interval.Upper) // of d: the other end where higher is better
				if d.Metric.Direction == metric.HigherIsBetter {
					upper = -math.Log1p(d.Outcome.Interval.Lower)
				}
				if upper >= m {
					rt.Errorf("improvement that does not pass: %+v", d)
				}
			case gates.Inconclusive:
				if needPairs(d) != 0 && needPairs(d) <= d.N {
					rt.Errorf("%d of %d pairs would decide: %+v", needPairs(d), d.N, d)
				}
			}
			if d.Reason == "" || d.Outcome.Interval.Lower > d.Difference.Change+1e-12 || d.Outcome.Interval.Upper < d.Difference.Change-1e-12 ||
				d.Outcome.Interval.MDE < 0 {
				rt.Errorf("%+v", d)
			}
		}
	})
}

func TestPropertyQuantileIsMonotoneAndWithinTheData(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 50).Draw(rt, "x")
		slices.Sort(x)
		q1, q2 := rapid.Float64Range(0, 1).Draw(rt, "q1"), rapid.Float64Range(0, 1).Draw(rt, "q2")
		a, b := gates.Quantile(x, min(q1, q2)), gates.Quantile(x, max(q1, q2))
		if a > b+1e-9 || a < x[0] || b > x[len(x)-1] {
			rt.Errorf("quantiles %g and %g of %v", a, b, x)
		}
	})
}
