package gates_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

func lookup(tb testing.TB, id string) metric.Metric {
	tb.Helper()
	m, ok := metric.Lookup(id)
	if !ok {
		tb.Fatalf("no metric %s", id)
	}
	return m
}

// ratios are pairs whose head is base times each ratio.
func ratios(base float64, ratio ...float64) []gates.Pair {
	pairs := make([]gates.Pair, len(ratio))
	for i, r := range ratio {
		pairs[i] = gates.Pair{Repeat: i + 1, Base: base, Head: base * r}
	}
	return pairs
}

// comparison is a gating comparison with a margin of 5 %.
func comparison(tb testing.TB, id string, pairs []gates.Pair) gates.Comparison {
	tb.Helper()
	return gates.Comparison{
		ID: id, Gate: "gate.g", Metric: lookup(tb, id), Claim: gates.Claim{Margin: 0.05}, CanFail: true,
		Pairs: pairs, Planned: len(pairs),
	}
}

func judge(tb testing.TB, f gates.Family) gates.Judgement {
	tb.Helper()
	if f.Alpha == 0 {
		f.Alpha = 0.05
	}
	j, err := gates.Judge(f)
	if err != nil {
		tb.Fatal(err)
	}
	return j
}

// judgeOne judges a family of one comparison.
func judgeOne(tb testing.TB, c gates.Comparison) gates.Decision {
	tb.Helper()
	return judge(tb, gates.Family{Comparisons: []gates.Comparison{c}}).Comparisons[0]
}

func TestVerdicts(t *testing.T) {
	tests := map[string]struct {
		metric string
		ratio  []float64
		strict bool
		want   gates.Verdict
		reason string
	}{
		"slower":                    {"ttft.p99", []float64{1.10, 1.11, 1.09, 1.10}, false, gates.Regression, "at or beyond the margin"},
		"faster":                    {"ttft.p99", []float64{0.90, 0.91, 0.89, 0.90}, false, gates.Improvement, "significantly better"},
		"same":                      {"ttft.p99", []float64{1.01, 0.99, 1.00, 1.01}, false, gates.Pass, "excludes"},
		"less throughput":           {"output_throughput.mean", []float64{0.90, 0.91, 0.89, 0.90}, false, gates.Regression, ""},
		"more throughput":           {"output_throughput.mean", []float64{1.10, 1.11, 1.09, 1.10}, false, gates.Improvement, ""},
		"proven but small":          {"ttft.p99", []float64{1.03, 1.031, 1.029, 1.03}, false, gates.Pass, ""},
		"proven, may reach margin":  {"ttft.p99", []float64{1.03, 1.055, 1.03, 1.05}, false, gates.Inconclusive, "worse by less than the margin"},
		"beyond, one noisy":         {"ttft.p99", []float64{1.30, 0.90, 1.25, 1.02}, false, gates.Inconclusive, "not significant"},
		"noise":                     {"ttft.p99", []float64{1.10, 0.90, 1.20, 0.80}, false, gates.Inconclusive, "too noisy"},
		"a little slower":           {"ttft.p99", []float64{1.04, 1.08, 1.05, 1.07}, false, gates.Regression, ""},
		"a little slower, strict":   {"ttft.p99", []float64{1.04, 1.08, 1.05, 1.07}, true, gates.Inconclusive, "strict"},
		"much slower, strict":       {"ttft.p99", []float64{1.20, 1.21, 1.19, 1.20}, true, gates.Regression, "lower bound"},
		"a little faster, strict":   {"ttft.p99", []float64{0.96, 0.92, 0.95, 0.93}, true, gates.Pass, ""},
		"one repeat":                {"ttft.p99", []float64{2}, false, gates.Inconclusive, "no test is possible with 1 repeat"},
		"no repeat":                 {"ttft.p99", nil, false, gates.Missing, "no pair"},
		"zero on the log scale":     {"ttft.p99", []float64{1, 0, 1}, false, gates.Invalid, "repeat 2 is 0, which has no logarithm"},
		"negative on the log scale": {"ttft.p99", []float64{1, 1, -1}, false, gates.Invalid, "repeat 3"},
		"not a number":              {"ttft.p99", []float64{1, math.NaN(), 1}, false, gates.Invalid, "not a finite number"},
		"infinite":                  {"ttft.p99", []float64{1, math.Inf(1), 1}, false, gates.Invalid, "not a finite number"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := comparison(t, tt.metric, ratios(0.4, tt.ratio...))
			c.Strict = tt.strict
			d := judgeOne(t, c)
			if d.Verdict != tt.want || !strings.Contains(d.Reason, tt.reason) {
				t.Errorf("%s: %s, want %s: …%s…", d.Verdict, d.Reason, tt.want, tt.reason)
			}
			if _, err := json.Marshal(d); err != nil {
				t.Errorf("a decision must be writable: %v", err)
			}
		})
	}
}

func TestZeroOfAMeasureNamesTheArgument(t *testing.T) {
	c := comparison(t, "ttft.p99", ratios(0.4, 1, 0, 1))
	c.Metric.ID, c.Metric.Group = "measure.stalls", metric.DeclaredGroup
	if d := judgeOne(t, c); d.Verdict != gates.Invalid ||
		!strings.Contains(d.Reason, `a measure that can be 0 or less needs compare = "difference"`) {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
}

func TestArithmeticOfADecision(t *testing.T) {
	base := []float64{101.2, 99.8, 100.5, 100.1, 99.4}
	head := []float64{105.9, 104.2, 106.1, 103.8, 105.0}
	var pairs []gates.Pair
	for i := range base {
		pairs = append(pairs, gates.Pair{Repeat: i + 1, Base: base[i], Head: head[i]})
	}
	d := judgeOne(t, comparison(t, "e2el.mean", pairs))
	// SciPy 1.17: ttest_rel on logarithms, alternative "greater", and its one-sided bounds.
	want := map[string][2]float64{
		"t":      {d.Outcome.T, 13.366317855806246},
		"p":      {d.Outcome.P, 1.8116308249988e-04 / 2},
		"change": {d.Difference.Change, 0.047885009539018294},
		"lower":  {d.Outcome.Interval.Lower, 0.04009672042782283},
		"upper":  {d.Outcome.Interval.Upper, 0.05573161769505665},
		"df":     {d.Outcome.DF, 4},
		"level":  {d.Level, 0.05},
		"confid": {d.Outcome.Confidence, 0.90},
	}
	for name, v := range want {
		if math.Abs(v[0]-v[1]) > 1e-9*math.Max(1, math.Abs(v[1])) {
			t.Errorf("%s = %.12g, want %.12g", name, v[0], v[1])
		}
	}
	if d.Outcome.PHolm != d.Outcome.P || d.GroupSize != 1 || !d.Difference.Worse || d.N != 5 {
		t.Errorf("%+v", d)
	}
	if ratio := d.Difference.Head/d.Difference.Base - 1; math.Abs(ratio-d.Difference.Change) > 1e-12 {
		t.Errorf("change %g and head/base - 1 = %g differ", d.Difference.Change, ratio)
	}
}

func TestZeroVarianceIsNamed(t *testing.T) {
	tests := map[string]struct {
		metric string
		ratio  float64
		want   gates.Verdict
	}{
		"equal":             {"ttft.p99", 1, gates.Pass},
		"slower":            {"ttft.p99", 1.1, gates.Regression},
		"faster":            {"ttft.p99", 0.9, gates.Improvement},
		"at the margin":     {"ttft.p99", 1.05, gates.Regression},
		"below the margin":  {"ttft.p99", 1.0499, gates.Pass},
		"higher is better":  {"total_throughput.mean", 0.9, gates.Regression},
		"throughput margin": {"total_throughput.mean", 1 / 1.05, gates.Regression},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			// Bases that differ, so that the logarithms differ by rounding only, and that have all digits.
			var pairs []gates.Pair
			for i, base := range []float64{1 / 3.1, 1 / 2.7, 1 / 2.3, 1 / 2.1} {
				pairs = append(pairs, gates.Pair{Repeat: i, Base: base, Head: base * tt.ratio})
			}
			d := judgeOne(t, comparison(t, tt.metric, pairs))
			if d.Verdict != tt.want || d.Outcome.SE > 1e-12 || d.Outcome.Interval.MDE > 1e-12 {
				t.Errorf("%s, want %s: %+v", d.Verdict, tt.want, d)
			}
			if equal := tt.ratio == 1; d.Outcome.Exact != equal {
				t.Errorf("exact: %t, want %t", d.Outcome.Exact, equal)
			}
			if d.Difference.Worse != (tt.want == gates.Regression || name == "below the margin") {
				t.Errorf("worse: %v", d.Difference.Worse)
			}
			if len(d.Warnings) != 1 {
				t.Errorf("warnings: %q", d.Warnings)
			}
		})
	}
}

func TestDifferenceScale(t *testing.T) {
	c := comparison(t, "queue.mean", []gates.Pair{{1, 0, 0.10}, {2, 0.01, 0.12}, {3, 0, 0.11}, {4, 0.02, 0.11}})
	d := judgeOne(t, c)
	if d.Verdict != gates.Regression || math.Abs(d.Difference.Change-0.1025) > 1e-12 || math.Abs(d.Difference.Head-0.11) > 1e-12 {
		t.Errorf("%+v", d)
	}
	c.Margin = 0.5 // half a second
	if d = judgeOne(t, c); d.Verdict != gates.Pass {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
}

func TestCallersReasons(t *testing.T) {
	pairs := ratios(1, 1.2, 1.21, 1.19)
	tests := map[string]struct {
		change func(*gates.Comparison)
		want   gates.Verdict
		reason string
	}{
		"missing":              {func(c *gates.Comparison) { c.Missing = "no baseline" }, gates.Missing, "no baseline"},
		"invalid":              {func(c *gates.Comparison) { c.Invalid = "wrong transport" }, gates.Invalid, "wrong transport"},
		"invalid over missing": {func(c *gates.Comparison) { c.Invalid, c.Missing = "clock", "none" }, gates.Invalid, "clock"},
		"descriptive":          {func(c *gates.Comparison) { c.Descriptive = "a file" }, gates.Inconclusive, "a file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := comparison(t, "ttft.p99", pairs)
			tt.change(&c)
			d := judgeOne(t, c)
			if d.Verdict != tt.want || d.Reason != tt.reason {
				t.Errorf("%s: %s", d.Verdict, d.Reason)
			}
			if math.Abs(d.Difference.Change-0.2) > 0.001 {
				t.Errorf("the change is not described: %g", d.Difference.Change)
			}
			if (d.Outcome != nil) != (name == "descriptive") {
				t.Errorf("tested: %v", (d.Outcome != nil))
			}
		})
	}
}

// A comparison without data keeps its place in the family, so that losing data never
// makes the others easier to reject.
func TestFamilyKeepsEveryMember(t *testing.T) {
	lost := comparison(t, "e2el.p99", nil)
	lost.Missing = "no data"
	described := comparison(t, "tpot.p99", ratios(1, 1, 1.01))
	described.Descriptive = "a file"
	warned := comparison(t, "itl.p99", ratios(1, 1, 1.01))
	warned.CanFail = false
	j := judge(t, gates.Family{Comparisons: []gates.Comparison{
		comparison(t, "ttft.p99", ratios(1, 1.1, 1.2, 1.15)), lost, described, warned,
	}})
	d := j.Comparisons[0]
	if d.GroupSize != 2 || d.Outcome.PHolm != 2*d.Outcome.P {
		t.Errorf("group of %d, p %g, Holm %g", d.GroupSize, d.Outcome.P, d.Outcome.PHolm)
	}
	if len(j.Groups) != 1 || fmt.Sprint(j.Groups[0].IDs) != "[ttft.p99 e2el.p99]" {
		t.Errorf("groups: %+v", j.Groups)
	}
	for _, alone := range j.Comparisons[2:] {
		if alone.GroupSize != 1 || alone.Outcome.PHolm != alone.Outcome.P {
			t.Errorf("%s is corrected: %+v", alone.ID, alone)
		}
	}
}

func TestSharesFormTheirOwnGroups(t *testing.T) {
	p99, p50 := comparison(t, "ttft.p99", ratios(1, 1.1, 1.2, 1.15)), comparison(t, "ttft.p50", ratios(1, 1.1, 1.2, 1.1))
	own := comparison(t, "e2el.p99", ratios(1, 1.1, 1.2, 1.15))
	own.Gate, own.Alpha = "gate.own", 0.02
	j := judge(t, gates.Family{Comparisons: []gates.Comparison{own, p99, p50}})

	if len(j.Groups) != 2 || j.Groups[0].Gate != "" || j.Groups[1].Gate != "gate.own" {
		t.Fatalf("groups: %+v", j.Groups)
	}
	if a, b := j.Groups[0].Alpha, j.Groups[1].Alpha; math.Abs(a-0.03) > 1e-15 || b != 0.02 {
		t.Errorf("levels %g and %g, want 0.03 and 0.02", a, b)
	}
	if d := j.Comparisons[0]; d.Outcome.PHolm != d.Outcome.P || d.Level != 0.02 {
		t.Errorf("own gate: %+v", d)
	}
	if d := j.Comparisons[1]; d.GroupSize != 2 {
		t.Errorf("common gate: %+v", d)
	}
	if d := j.Comparisons[0]; math.Abs(d.Outcome.Confidence-0.9) > 1e-15 {
		t.Errorf("pass uses the family's alpha, not the share: %g", d.Outcome.Confidence)
	}
}

func TestHolmCanWithholdARegression(t *testing.T) {
	shaky := ratios(1, 1.04, 1.14, 1.05, 1.12) // p ≈ 0.01
	alone := judgeOne(t, comparison(t, "ttft.p99", shaky))
	if alone.Verdict != gates.Regression {
		t.Fatalf("alone: %s, p = %g", alone.Verdict, alone.Outcome.P)
	}
	f := gates.Family{Comparisons: []gates.Comparison{comparison(t, "ttft.p99", shaky)}}
	for _, m := range metric.Groups()[1].Metrics[:5] {
		f.Comparisons = append(f.Comparisons, comparison(t, m.ID, ratios(1, 1.01, 0.99, 1.02, 0.98)))
	}
	d := judge(t, f).Comparisons[0]
	if d.Verdict != gates.Inconclusive || d.Outcome.PHolm <= 0.05 || needPairs(d) <= d.N {
		t.Errorf("in a family of 6: %+v", d)
	}
	if !strings.Contains(d.Reason, "after Holm over 6 comparisons; about") {
		t.Errorf("reason: %s", d.Reason)
	}
}

func TestPassAlphaOfALaterAttempt(t *testing.T) {
	c := comparison(t, "ttft.p99", ratios(1, 1.035, 1.01, 1.02, 1.03))
	if d := judgeOne(t, c); d.Verdict != gates.Pass {
		t.Fatalf("first attempt: %s, upper %g", d.Verdict, d.Outcome.Interval.Upper)
	}
	d := judge(t, gates.Family{Alpha: 0.05, PassAlpha: 0.05 / 20, Comparisons: []gates.Comparison{c}}).Comparisons[0]
	if d.Verdict != gates.Inconclusive || d.Outcome.Interval.Upper < 0.05 || math.Abs(d.Outcome.Confidence-0.995) > 1e-12 {
		t.Errorf("attempt 20: %s, upper %g, confidence %g", d.Verdict, d.Outcome.Interval.Upper, d.Outcome.Confidence)
	}
}

func TestWarnings(t *testing.T) {
	c := comparison(t, "ttft.p99", ratios(1, 1.00, 1.01, 0.99, 1.00, 1.01, 1.5))
	c.Planned = 8
	d := judgeOne(t, c)
	if fmt.Sprint(
		d.Warnings) != "[6 of 8 repeats planned repeat 6 is far from the others, by its head; it is kept, and widens the interval: the others "+
		"show +0.2 %]" {
		t.Errorf("%q", d.Warnings)
	}
	if d.N != 6 {
		t.Errorf("an outlier was removed: n = %d", d.N)
	}
}

func TestHugeIntervalsStayFinite(t *testing.T) {
	f := gates.Family{Alpha: 1e-6, Comparisons: []gates.Comparison{comparison(t, "ttft.p99", ratios(1, 0.1, 30))}}
	d := judge(t, f).Comparisons[0]
	if d.Verdict != gates.Inconclusive {
		t.Errorf("%s", d.Verdict)
	}
	if _, err := json.Marshal(d); err != nil {
		t.Error(err)
	}
}

// One slow launch of the base hides a change of all others; a warning names it.
func TestAFarBaseIsNamed(t *testing.T) {
	c := comparison(t, "ttft.p99", ratios(1, 1.101, 1.099, 1.10, 1.102, 1.098, 1.10))
	c.Pairs[2].Base *= 1.3
	d := judge(t, gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}}).Comparisons[0]
	want := fmt.Sprintf("repeat %d is far from the others, by its base; it is kept, and widens the interval: the others show +10.0 %%",
		c.Pairs[2].Repeat)
	if d.Verdict != gates.Inconclusive || !slices.Contains(d.Warnings, want) {
		t.Errorf("%s: %q", d.Verdict, d.Warnings)
	}

	c = comparison(t, "ttft.p99", ratios(1, 0.901, 0.899, 0.90, 0.902, 0.898, 0.90))
	c.Pairs[2].Base *= 1.3
	if d := judgeOne(t, c); !strings.Contains(fmt.Sprint(d.Warnings), "the others show −10.0 %") {
		t.Errorf("a difference below zero: %q", d.Warnings)
	}
}

// needPairs is the number of repeats that would decide, 0 for none.
func needPairs(d gates.Decision) int {
	if d.Need == nil || d.Need.Sessions {
		return 0
	}
	return d.Need.N
}

// needSessions is the number of sessions that would decide, 0 for none.
func needSessions(d gates.Decision) int {
	if d.Need == nil || !d.Need.Sessions {
		return 0
	}
	return d.Need.N
}

// lookOf is the number of repeats at the look of a decision, 0 without one.
func lookOf(d gates.Decision) int {
	if d.Look == nil {
		return 0
	}
	return d.Look.Repeats
}
