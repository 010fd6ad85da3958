package gates_test

import (
	"fmt"
	"math"
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
