package reports

import (
	"math"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// sleep is the data of W. S. Gosset, The Probable Error of a Mean, Biometrika 1908, as
// differences: the first paired t-test there was. R's t.test(paired = TRUE) gives
// t = 4.0621, df = 9, two-sided p = 0.002833.
var sleep = []float64{1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4}

func gosset() verdictRow {
	d := &result.Decision{
		Kind: result.KindMetric, Unit: "s", Direction: "lower", Scale: "difference", Margin: 0.5, N: len(sleep), Verdict: result.Regression,
	}
	for i, x := range sleep {
		d.Pairs = append(d.Pairs, result.Pair{Repeat: i + 1, Base: 10, Head: 10 + x})
	}
	lower, upper, p := 0.8670, 2.2930, 0.001416
	d.Change, d.BaseValue, d.HeadValue, d.Lower, d.Upper, d.P, d.PHolm = new(1.58), new(10.0), new(11.58), &lower, &upper, &p, &p
	terms := gates.Terms{Rule: gates.Rule{TestName: "paired_t"}}
	return verdictRow{&result.Gate{BaselineKind: "paired", Terms: terms, Decisions: []result.Decision{*d}}, d}
}

func valueOf(sums []model.Sum, symbol string) string {
	for _, s := range sums {
		if s.Symbol == symbol {
			return s.Value
		}
	}
	return ""
}

func TestSumsAreGossets(t *testing.T) {
	v := newView(&result.Document{Alpha: 0.05, FamilySize: 1}, Options{})
	sums := v.sums(gosset())
	for symbol, want := range map[string]string{
		"d̄": "1.58", "s": "1.23", "SE": "0.389", "t": "4.062", "df": "9", "p": "0.00142",
		"interval": "+0.867 … +2.29 s", "p (Holm)": "0.00142", "m": "0.5", "p used": "",
	} {
		if got := valueOf(sums, symbol); got != want {
			t.Errorf("%s is %q, want %q", symbol, got, want)
		}
	}
}

// TestSumsSayWhatTheyAreNot: a decision that did not use the plain test of its pairs is
// not explained by it.
func TestSumsSayWhatTheyAreNot(t *testing.T) {
	v := newView(&result.Document{Alpha: 0.05, FamilySize: 1}, Options{})
	moderated := gosset()
	p := 0.03
	moderated.d.P = &p
	if got := valueOf(v.sums(moderated), "p used"); got != "0.03" {
		t.Errorf("another p is %q", got)
	}
	untested := gosset()
	untested.d.P = nil
	if sums := v.sums(untested); valueOf(sums, "t") != "" || valueOf(sums, "p") != humanize.None {
		t.Errorf("sums of a decision without a test: %v", sums)
	}
	for _, other := range []func(*result.Gate){
		func(g *result.Gate) { g.TestName = "sign_flip" },
		func(g *result.Gate) { g.BaselineKind = "stored" },
	} {
		r := gosset()
		other(r.gate)
		sums := v.sums(r)
		if valueOf(sums, "t") != "" || valueOf(sums, "p") != "0.00142" {
			t.Errorf("sums of a gate with %+v: %v", r.gate, sums)
		}
	}
}

func TestWorseIsPositive(t *testing.T) {
	p := result.Pair{Base: 100, Head: 90}
	for _, c := range []struct {
		direction metric.Direction
		scale     metric.Scale
		want      float64
	}{
		{"lower", "log", math.Log(0.9)},
		{"higher", "log", -math.Log(0.9)},
		{"lower", "difference", -10},
		{"higher", "proportion", 10},
	} {
		d := &result.Decision{Direction: c.direction, Scale: c.scale}
		diff := worseBy(d, p)
		if math.Abs(diff-c.want) > 1e-12 {
			t.Errorf("%v: %g", c, diff)
		}
		want := -10.0
		if c.scale == "log" {
			want = -0.1
		}
		if got := changeOf(d, diff); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v: a change of %g", c, got)
		}
	}
	if x := worseBy(&result.Decision{Scale: "log"}, result.Pair{Base: 0, Head: 1}); humanize.Finite(x) {
		t.Errorf("zero has the logarithm %g", x)
	}
}

func TestHolmLevelLeavesShares(t *testing.T) {
	v := newView(&result.Document{Alpha: 0.05, Gates: []result.Gate{{Terms: gates.Terms{Rule: gates.Rule{Alpha: 0.02}}}, {}}}, Options{})
	if got := v.holmLevel(&v.doc.Gates[0]); got != 0.02 {
		t.Errorf("own share: %g", got)
	}
	if got := v.holmLevel(&v.doc.Gates[1]); math.Abs(got-0.03) > 1e-12 {
		t.Errorf("the rest: %g", got)
	}
}
