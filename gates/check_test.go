package gates_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

func TestFamilyIsChecked(t *testing.T) {
	// planned is a comparison before there are data.
	planned := func(id string, change func(*gates.Comparison)) gates.Comparison {
		c := comparison(t, id, nil)
		c.Planned = 5
		if change != nil {
			change(&c)
		}
		return c
	}
	one := func(change func(*gates.Comparison)) gates.Family {
		return gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{planned("ttft.p99", change)}}
	}
	share := func(gate string, alpha float64) func(*gates.Comparison) {
		return func(c *gates.Comparison) { c.Gate, c.Alpha = gate, alpha }
	}
	tests := map[string]struct {
		family gates.Family
		want   string // "" for valid
	}{
		"fine":            {one(nil), ""},
		"alpha zero":      {gates.Family{}, "alpha is 0"},
		"alpha a half":    {gates.Family{Alpha: 0.5}, "below 0.5"},
		"alpha NaN":       {gates.Family{Alpha: math.NaN()}, "alpha is NaN"},
		"pass alpha":      {gates.Family{Alpha: 0.05, PassAlpha: -1}, "pass alpha"},
		"pass alpha half": {gates.Family{Alpha: 0.05, PassAlpha: 0.5}, "pass alpha"},
		"flips of answers": {one(func(c *gates.Comparison) { c.Metric, c.Test = lookup(t, "agreement.share"), gates.SignFlip }),
			"cannot judge what is answered"},
		"improved agreement": {one(func(c *gates.Comparison) {
			c.Metric, c.Expect = lookup(t, "agreement.share"), gates.ExpectImprovement
		}), "cannot show an improvement"},
		"runs around a crash": {gates.Family{Alpha: 0.05, Success: []gates.Success{{ID: "s", Head: []gates.Run{{Repeat: 1, Sent: 1},
			{Repeat: 1, ServerFailed: true}, {Repeat: 1, Sent: 1}}}}}, "repeat 1 has more than one run of the head"},
		"sign flips":      {one(func(c *gates.Comparison) { c.Test, c.Planned = gates.SignFlip, 8 }), ""},
		"max-T":           {one(func(c *gates.Comparison) { c.Test, c.Planned = gates.MaxT, 8 }), ""},
		"ranks":           {one(func(c *gates.Comparison) { c.Test = gates.MannWhitney }), ""},
		"Welch":           {one(func(c *gates.Comparison) { c.Test = gates.Welch }), ""},
		"sessions":        {one(func(c *gates.Comparison) { c.Test, c.Planned = gates.Prediction, 1 }), ""},
		"unknown test":    {one(func(c *gates.Comparison) { c.Test = &gates.Test{Name: "wilcoxon"} }), `unknown test "wilcoxon"`},
		"t without pairs": {one(func(c *gates.Comparison) { c.Unpaired = &gates.Samples{} }), "paired_t needs pairs"},
		"Welch, both": {one(func(c *gates.Comparison) {
			c.Test, c.Unpaired, c.Pairs = gates.Welch, &gates.Samples{}, []gates.Pair{{1, 1, 1}}
		}), "give one of them"},
		"sessions with pairs": {one(func(c *gates.Comparison) { c.Test, c.Pairs = gates.Prediction, []gates.Pair{{1, 1, 1}} }),
			"sessions against sessions"},
		"no margin":         {one(func(c *gates.Comparison) { c.Margin = 0 }), "margin is 0"},
		"NaN margin":        {one(func(c *gates.Comparison) { c.Margin = metric.Margin(math.NaN()) }), "margin is NaN"},
		"infinite margin":   {one(func(c *gates.Comparison) { c.Margin = metric.Margin(math.Inf(1)) }), "margin is +Inf"},
		"no metric":         {one(func(c *gates.Comparison) { c.Metric.ID = "" }), "has no metric"},
		"informational":     {one(func(c *gates.Comparison) { c.Metric = lookup(t, "ttft.std") }), "cannot be gated"},
		"share":             {one(share("gate.a", 0.05)), ""},
		"share without use": {one(share("", 0.05)), "no gate to share it in"},
		"share negative":    {one(share("gate.a", -0.01)), "alpha is -0.01"},
		"shares add up": {gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{
			planned("ttft.p99", share("gate.a", 0.03)), planned("ttft.p50", share("gate.b", 0.02)),
		}}, ""},
		"shares above alpha": {gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{
			planned("ttft.p99", share("gate.a", 0.03)), planned("ttft.p50", share("gate.b", 0.03)),
		}}, "sum to 0.06, more than the family's 0.05; lower one of them by 0.01"},
		"nothing left": {gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{
			planned("ttft.p99", share("gate.a", 0.05)), planned("ttft.p50", nil),
		}}, "leave nothing for the gates without one"},
		"nothing left, and nothing to test": {gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{
			planned("ttft.p99", share("gate.a", 0.05)), planned("ttft.p50", func(c *gates.Comparison) { c.Descriptive = "a file" }),
			planned("ttft.p90", func(c *gates.Comparison) {
				c.Test, c.Unpaired = gates.Prediction, &gates.Samples{Base: make([]float64, 9)}
			}),
		}}, ""},
		"one gate, two shares": {gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{
			planned("ttft.p99", share("gate.a", 0.01)), planned("ttft.p50", share("gate.a", 0.02)),
		}}, "has the shares 0.01 and 0.02"},
		"a share that cannot fail counts for nothing": {gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{
			planned("ttft.p99", share("gate.a", 0.05)),
			planned("ttft.p50", func(c *gates.Comparison) { c.Gate, c.Alpha, c.CanFail = "gate.b", 0.05, false }),
		}}, ""},
		"ID twice": {gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{planned("ttft.p99", nil), planned("ttft.p99", nil)}}, "twice"},
		"ID of a success": {gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{planned("ttft.p99", nil)},
			Success: []gates.Success{{ID: "ttft.p99"}}}, "twice"},
		"repeat twice": {one(func(c *gates.Comparison) { c.Pairs = []gates.Pair{{1, 1, 1}, {1, 1, 1}} }),
			"repeat 1 has more than one pair"},
		"guards no comparison": {gates.Family{Alpha: 0.05, Success: []gates.Success{{ID: "s", Metrics: []string{"ttft.p99"}}}},
			`guards "ttft.p99"`},
		"run twice": {gates.Family{Alpha: 0.05, Success: []gates.Success{{ID: "s", Head: []gates.Run{{Repeat: 1}, {Repeat: 1}}}}},
			"more than one run of the head"},
		"more failed than sent": {gates.Family{Alpha: 0.05,
			Success: []gates.Success{{ID: "s", Base: []gates.Run{{Repeat: 1, Sent: 1, Failed: 2}}}}},
			"2 failures of 1 requests"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := gates.Check(tt.family)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want …%s…", err, tt.want)
			}
		})
	}
}

func TestJudgeRefusesWhatCheckRefuses(t *testing.T) {
	c := comparison(t, "ttft.p99", ratios(1, 1, 1.1, 1.2))
	c.Test = &gates.Test{Name: "wilcoxon"}
	if _, err := gates.Judge(gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}}); err == nil {
		t.Error("an unknown test was judged")
	}
}

func TestCanReject(t *testing.T) {
	// Least numbers of repeats: sign flips reach 2⁻ⁿ, ranks 1/C(2n, n).
	tests := []struct {
		test  *gates.Test
		alpha float64
		least int
	}{
		{gates.PairedTTest, 0.05, 2},
		{gates.PairedTTest, 1e-6, 2},
		{gates.SignFlip, 0.05, 5},
		{gates.SignFlip, 0.05 / 10, 8},
		{gates.SignFlip, 0.05 / 20, 9},
		{gates.SignFlip, 0.05 / 50, 10},
		{gates.MaxT, 0.05 / 100, 11},
		{gates.MannWhitney, 0.05, 3},
		{gates.MannWhitney, 0.05 / 10, 5},
		{gates.MannWhitney, 0.05 / 20, 6},
		{gates.MannWhitney, 0.05 / 50, 7},
		{gates.Permutation, 0.05 / 20, 6},
		{gates.Permutation, 1e-5, 10},
	}
	if gates.CanReject(gates.SignFlip, 16, 1.2e-5) == nil { // all 2¹⁶ flips are visited
		t.Error("16 sign flips reach 1.2e-5")
	}
	for _, tt := range tests {
		if err := gates.CanReject(tt.test, tt.least, tt.alpha); err != nil {
			t.Errorf("%s, n = %d: %v", tt.test, tt.least, err)
		}
		err := gates.CanReject(tt.test, tt.least-1, tt.alpha)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("use at least %d repeat", tt.least)) {
			t.Errorf("%s, n = %d, alpha %g: %v", tt.test, tt.least-1, tt.alpha, err)
		}
	}
}

func TestRefusalsText(t *testing.T) {
	want := "sign_flip with 4 repeats cannot reject at 0.05, however large the change: use at least 5 repeats, or a level of at least 0.0625"
	if err := gates.CanReject(gates.SignFlip, 4, 0.05); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	want = "paired_t with 1 repeat cannot reject at 0.05, however large the change: use at least 2 repeats"
	if err := gates.CanReject(gates.PairedTTest, 1, 0.05); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestCheckNoise(t *testing.T) {
	ttft := lookup(t, "ttft.p99")
	if err := gates.CheckNoise(ttft, 5, 0.02, 0.05, 0.05); err != nil {
		t.Error(err)
	}
	err := gates.CheckNoise(ttft, 5, 0.05, 0.05, 0.05)
	want := "ttft.p99: with 5 repeats the smallest change found with 80 % power is 0.0703, above the margin of 0.05; plan 9 repeats, or set " +
		"a margin of at least 0.0703"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if err := gates.CheckNoise(ttft, 9, 0.05, 0.05, 0.05); err != nil {
		t.Errorf("the advised number does not work: %v", err)
	}
	if err := gates.CheckNoise(ttft, 1, 0.01, 0.05, 0.05); err == nil || !strings.Contains(err.Error(), "at least 2 repeats") {
		t.Errorf("%v", err)
	}
}

func TestNeedPairsIsTheLeastThatWorks(t *testing.T) {
	for _, tt := range []struct{ effect, sd, alpha float64 }{
		{0.05, 0.01, 0.05}, {0.05, 0.02, 0.05}, {0.05, 0.1, 0.05}, {0.05, 0.1, 0.0001}, {0.01, 0.2, 0.05}, {1, 0.001, 0.05},
	} {
		n, err := gates.NeedPairs(tt.effect, tt.sd, tt.alpha, gates.Power)
		if err != nil {
			t.Errorf("%+v: %v", tt, err)
			continue
		}
		if p := gates.PowerPairedT(n, tt.effect, tt.sd, tt.alpha); p < gates.Power-1e-9 {
			t.Errorf("%+v: %d pairs have power %g", tt, n, p)
		}
		if p := gates.PowerPairedT(n-1, tt.effect, tt.sd, tt.alpha); p >= gates.Power {
			t.Errorf("%+v: %d pairs would do (power %g)", tt, n-1, p)
		}
	}
	if _, err := gates.NeedPairs(0.0001, 1, 0.05, gates.Power); err == nil {
		t.Error("a hopeless plan was not refused")
	}
	if _, err := gates.NeedPairs(-0.1, 0.01, 0.05, gates.Power); err == nil {
		t.Error("an effect in the wrong direction was not refused")
	}
}

func TestTestsRefuseWhatTheyCannotUse(t *testing.T) {
	if _, err := gates.PairedT([]float64{1}); !errors.Is(err, gates.ErrTooFew) {
		t.Errorf("one value: %v", err)
	}
	if s, err := gates.PairedT([]float64{1, 1 + 1e-15, 1}); err != nil || !s.Exact {
		t.Errorf("rounding is a spread: %+v, %v", s, err)
	}
	if _, err := gates.PairedT([]float64{1, math.NaN()}); err == nil {
		t.Error("NaN was tested")
	}
	if _, err := gates.FisherExact(3, 2, 0, 1); err == nil {
		t.Error("3 of 2 was tested")
	}
	if _, err := gates.FisherExact(-1, 2, 0, 1); err == nil {
		t.Error("−1 of 2 was tested")
	}
	if !math.IsNaN(gates.Quantile(nil, 0.5)) {
		t.Error("no values have a quantile")
	}
}
