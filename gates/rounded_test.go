package gates_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// constantSides is a comparison whose sides each have one value in every repeat.
func constantSides(t *testing.T, base, head, step float64, repeats int) gates.Comparison {
	t.Helper()
	c := comparison(t, "ttft.p99", make([]gates.Pair, repeats))
	for i := range c.Pairs {
		c.Pairs[i] = gates.Pair{Repeat: i + 1, Base: base, Head: head}
	}
	c.Step = step
	return c
}

// Values that are the same in all repeats decide as far as their printed digits go.
func TestConstantSamplesDecide(t *testing.T) {
	changed := constantSides(t, 100, 146, 1, 5)
	changed.Pairs[2].Head = 147
	for _, tt := range []struct {
		name string
		c    gates.Comparison
		want gates.Verdict
	}{
		{"46 %", constantSides(t, 100, 146, 0, 5), gates.Regression},
		{"46 %, one digit changed", changed, gates.Regression},
		{"46 % of milliseconds", constantSides(t, 0.1003, 0.1464, 1e-4, 3), gates.Regression},
		{"1 against 4", constantSides(t, 1, 4, 1, 5), gates.Regression},
		{"1 against 2", constantSides(t, 1, 2, 1, 5), gates.Inconclusive},
		{"2.00 against 3.00", constantSides(t, 2, 3, 0.01, 5), gates.Regression},
		{"2 against 3", constantSides(t, 2, 3, 1, 5), gates.Inconclusive},
		{"one step below the margin", constantSides(t, 1.04, 1.05, 0.01, 5), gates.Pass},
		{"more digits than the step has", constantSides(t, 1.04, 1.05, 1, 5), gates.Pass},
		{"equal to three digits", constantSides(t, 20.1, 20.1, 0.1, 5), gates.Pass},
		{"equal to one digit", constantSides(t, 0.1, 0.1, 0.1, 5), gates.Inconclusive},
		{"zero on both sides", constantSides(t, 0, 0, 0, 5), gates.Invalid}, // it has no logarithm
		{"faster", constantSides(t, 146, 100, 1, 5), gates.Improvement},
	} {
		for _, test := range []*gates.Test{gates.PairedTTest, gates.Welch} {
			c := tt.c
			c.Test = test
			if d := judge(t, gates.Family{Comparisons: []gates.Comparison{c}}).Comparisons[0]; d.Verdict != tt.want {
				t.Errorf("%s by %s: %s (%s), want %s", tt.name, test, d.Verdict, d.Reason, tt.want)
			}
		}
	}
}

// TestAClockWithTicks: values with many digits that repeat exactly come from a coarse clock, and count as rounded.
func TestAClockWithTicks(t *testing.T) {
	var pairs []gates.Pair
	for i, base := range []float64{10, 10, 11, 11} {
		pairs = append(pairs, gates.Pair{Repeat: i, Base: base / 30, Head: (base + 1) / 30})
	}
	if d := judgeOne(t, comparison(t, "ttft.p99", pairs)); !strings.Contains(fmt.Sprint(d.Warnings), "printed digits") || d.Outcome.P < 0.05 {
		t.Errorf("p = %g: %q", d.Outcome.P, d.Warnings)
	}
}

// Values of which all digits were measured are equal, and not rounded.
func TestUnroundedValuesAreExact(t *testing.T) {
	for _, test := range []*gates.Test{gates.PairedTTest, gates.Welch} {
		for _, unrounded := range []bool{false, true} {
			c := constantSides(t, 100, 146, 0, 4)
			c.Test, c.Unrounded = test, unrounded
			if d := judgeOne(t, c); d.Outcome.Exact != unrounded {
				t.Errorf("%s, unrounded %v: %+v", test, unrounded, d.Outcome)
			}
		}
	}
}

// Two launches have one degree of freedom, which does not show that 1 is not 4.
func TestTwoConstantPairsShowLittle(t *testing.T) {
	c := constantSides(t, 1, 4, 1, 2)
	if d := judge(t, gates.Family{Comparisons: []gates.Comparison{c}}).Comparisons[0]; d.Verdict != gates.Inconclusive {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
}

// Printing values with few digits makes no error rate larger, however the digits and the noise compare.
func TestPrintedDigitsHoldTheLevel(t *testing.T) {
	files := 400
	if *gates.Full {
		files = 4000
	}
	for _, noise := range []float64{0.02, 0.1, 0.3, 0.6, 1, 3} { // in steps of the last digit
		for _, repeats := range []int{2, 3, 5} {
			for _, metrics := range []int{1, 10} {
				s := newSimulator(uint64(repeats))
				red, green := 0, 0
				for range files {
					for _, margin := range []bool{false, true} {
						f := gates.Family{Alpha: 0.05}
						for i := range metrics {
							c := s.comparison(i, repeats, 0, 0)
							level := 40 + 20*s.rng.Float64()
							head := level
							if margin && i == 0 {
								head = level * math.Pow(1.05, worseIs(c.Metric))
							}
							for k := range c.Pairs {
								c.Pairs[k].Base = math.Round(level + noise*s.rng.NormFloat64())
								c.Pairs[k].Head = math.Round(head + noise*s.rng.NormFloat64())
							}
							c.Step = 1
							f.Comparisons = append(f.Comparisons, c)
						}
						failed, passed := false, true
						for _, d := range judge(t, f).Comparisons {
							failed = failed || d.Verdict == gates.Regression
							passed = passed && d.Verdict == gates.Pass
						}
						if failed && !margin {
							red++
						}
						if passed && margin {
							green++
						}
					}
				}
				name := fmt.Sprintf("noise of %g steps, %d repeats, %d metrics", noise, repeats, metrics)
				atMost(t, "red of equal sides, "+name, red, files, 0.05)
				atMost(t, "green at the margin, "+name, green, files, 0.05)
			}
		}
	}
}

// constantSessions is a comparison of one session with a history of sessions that all have one value.
func constantSessions(t *testing.T, base, head, step float64, sessions int) gates.Comparison {
	t.Helper()
	c := comparison(t, "ttft.p99", nil)
	c.Test, c.Planned, c.Step, c.Unpaired = gates.Prediction, 0, step, &gates.Samples{Head: []float64{head}}
	for range sessions {
		c.Unpaired.Base = append(c.Unpaired.Base, base)
	}
	return c
}

// A history of one printed value has the spread that its digits leave unknown, and not none.
func TestConstantSessionsDecideAsFarAsTheirDigitsGo(t *testing.T) {
	shifted := constantSessions(t, 100, 146, 1, 12)
	shifted.Unpaired.Base[4] = 101
	for _, tt := range []struct {
		name string
		c    gates.Comparison
		want gates.Verdict
	}{
		{"46 %", constantSessions(t, 100, 146, 1, 12), gates.Regression},
		{"46 %, one digit changed", shifted, gates.Regression},
		{"1 against 4", constantSessions(t, 1, 4, 1, 12), gates.Regression},
		{"1 against 2", constantSessions(t, 1, 2, 1, 12), gates.Inconclusive},
		{"1 against 2, as a geometric mean", constantSessions(t, 1+4e-16, 2-8e-16, 1, 12), gates.Inconclusive},
		{"2.00 against 3.00", constantSessions(t, 2, 3, 0.01, 12), gates.Regression},
		{"one step below the margin", constantSessions(t, 1.04, 1.05, 0.01, 12), gates.Pass},
		{"one step beyond the margin", constantSessions(t, 0.10, 0.11, 0.01, 12), gates.Inconclusive},
		{"equal to three digits", constantSessions(t, 20.1, 20.1, 0.1, 12), gates.Pass},
		{"equal to one digit", constantSessions(t, 0.1, 0.1, 0.1, 12), gates.Inconclusive},
		{"equal, and not printed", constantSessions(t, 0.1, 0.1, 0, 12), gates.Pass},
		{"faster", constantSessions(t, 146, 100, 1, 12), gates.Improvement},
	} {
		d := judgeOne(t, tt.c)
		if d.Verdict != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.name, d.Verdict, d.Reason, tt.want)
		}
		if d.Verdict == gates.Inconclusive && !strings.Contains(d.Reason, "values with more digits would decide it") {
			t.Errorf("%s: %s", tt.name, d.Reason)
		}
	}
}

// Sessions of few digits keep the error rates, however the digits and the noise compare.
func TestPrintedDigitsOfSessionsHoldTheLevel(t *testing.T) {
	files := 400
	if *gates.Full {
		files = 4000
	}
	for _, noise := range []float64{0.02, 0.1, 0.3, 0.6, 1, 3} { // in steps of the last digit
		s := newSimulator(12)
		red, green := 0, 0
		for range files {
			for _, margin := range []bool{false, true} {
				level := 40 + 20*s.rng.Float64()
				head := level
				if margin {
					head = level * 1.05
				}
				value := func(level float64) float64 { return math.Round(level + noise*s.rng.NormFloat64()) }
				c := constantSessions(t, 0, value(head), 1, 12)
				for i := range c.Unpaired.Base {
					c.Unpaired.Base[i] = value(level)
				}
				switch d := judgeOne(t, c); {
				case d.Verdict == gates.Regression && !margin:
					red++
				case d.Verdict == gates.Pass && margin:
					green++
				}
			}
		}
		atMost(t, fmt.Sprintf("red of an equal session, noise of %g steps", noise), red, files, 0.05)
		atMost(t, fmt.Sprintf("green at the margin, noise of %g steps", noise), green, files, 0.05)
	}
}

// What a server counts has few different values, so that equal sides often differ by the same amount in each of few repeats. Its p value
// is at least the chance of that.
func TestTiesAreNoCertainty(t *testing.T) {
	tied := func(metric string, repeats int) gates.Comparison {
		c := comparison(t, metric, make([]gates.Pair, repeats))
		for i := range c.Pairs {
			c.Pairs[i] = gates.Pair{Repeat: i + 1, Base: 0.25, Head: 0.5}
			if c.Metric.Direction == "higher" {
				c.Pairs[i] = gates.Pair{Repeat: i + 1, Base: 0.5, Head: 0.25}
			}
		}
		c.Margin = 0.1
		return c
	}
	for _, tt := range []struct {
		metric  string
		repeats int
		test    *gates.Test
		want    gates.Verdict
		p       float64
		need    int
	}{
		{"preemptions.per_request", 2, gates.PairedTTest, gates.Inconclusive, 1.0 / 16, 3},
		{"preemptions.per_request", 2, gates.Welch, gates.Inconclusive, 1.0 / 16, 3},
		{"preemptions.per_request", 3, gates.PairedTTest, gates.Regression, 1.0 / 64, 0},
		{"prefix_cache.hit_rate", 4, gates.PairedTTest, gates.Regression, 1.0 / 256, 0},
		{"kv_cache.tokens", 2, gates.PairedTTest, gates.Regression, 0, 0}, // computed once in a launch
		{"gpu_memory.used", 2, gates.PairedTTest, gates.Regression, 0, 0},
		{"agreement.share", 2, gates.PairedTTest, gates.Regression, 0, 0},
	} {
		c := tied(tt.metric, tt.repeats)
		c.Test = tt.test
		d := judge(t, gates.Family{Comparisons: []gates.Comparison{c}}).Comparisons[0]
		if d.Verdict != tt.want || math.Abs(d.Outcome.P-tt.p) > 1e-12 ||
			(d.Need != nil) != (tt.need > 0) || d.Need != nil && d.Need.N != tt.need {
			t.Errorf("%s in %d repeats by %s: %s, p = %g, %s", tt.metric, tt.repeats, tt.test, d.Verdict, d.Outcome.P, d.Reason)
		}
		if exact := strings.Contains(fmt.Sprint(d.Warnings), "taken as exact"); tt.test == gates.PairedTTest && exact != (tt.p == 0) {
			t.Errorf("%s in %d repeats: %q", tt.metric, tt.repeats, d.Warnings)
		}
	}
	c := tied("preemptions.per_request", 0)
	c.Test, c.Unpaired = gates.Prediction, &gates.Samples{Base: make([]float64, 10), Head: []float64{0.25}}
	if d := judge(t, gates.Family{Comparisons: []gates.Comparison{c}}).Comparisons[0]; d.Outcome.P < 0.03 || d.Outcome.P > 0.04 {
		t.Errorf("one session other than ten alike ones: p = %g", d.Outcome.P) // at most q¹⁰·(1 − q)
	}
}

// What digits leave unknown is said where it could matter beside the margin.
func TestDigitsAreNamedBesideTheMargin(t *testing.T) {
	for _, tt := range []struct {
		value, step float64
		want        bool
	}{{512, 0.1, false}, {20, 0.1, true}} {
		d := judge(t, gates.Family{Comparisons: []gates.Comparison{constantSides(t, tt.value, tt.value, tt.step, 5)}}).Comparisons[0]
		if got := strings.Contains(strings.Join(d.Warnings, "; "), "can be off"); got != tt.want {
			t.Errorf("%g to %g: %q", tt.value, tt.step, d.Warnings)
		}
	}
}
