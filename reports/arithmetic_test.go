package reports_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// sleep is the data of W. S. Gosset, The Probable Error of a Mean, Biometrika 1908, as
// differences: the first paired t-test there was. R's t.test(paired = TRUE) gives
// t = 4.0621, df = 9, two-sided p = 0.002833.
var sleep = []float64{1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4}

// gosset is a document with this test alone.
func gosset() *result.Document {
	d := result.Decision{
		Cell: "head", BaseCell: "base", Kind: result.KindMetric, Unit: "s", Direction: "lower", Scale: "difference", Margin: 0.5,
		N: len(sleep), Verdict: result.Regression,
	}
	for i, x := range sleep {
		d.Pairs = append(d.Pairs, result.Pair{Repeat: i + 1, Base: 10, Head: 10 + x})
	}
	lower, upper, p := 0.8670, 2.2930, 0.001416
	d.Change, d.BaseValue, d.HeadValue, d.Lower, d.Upper, d.P, d.PHolm = new(1.58), new(10.0), new(11.58), &lower, &upper, &p, &p
	terms := gates.Terms{Rule: gates.Rule{TestName: "paired_t"}}
	cells := []result.Cell{{Hash: "base", Target: "server.vllm.base"}, {Hash: "head", Target: "server.vllm.head"}}
	return &result.Document{Alpha: 0.05, FamilySize: 1, Status: result.StatusComplete, Gates: []result.Gate{
		{Addr: "gate.g", Benchmark: "benchmark.b", BaselineKind: "paired", Terms: terms, Verdict: result.Regression,
			Decisions: []result.Decision{d}}},
		Benchmarks: []result.Benchmark{{Addr: "benchmark.b", Cells: cells}}}
}

// figure is a row of the arithmetic of a page.
type figure struct{ meaning, value string }

var figureRow = regexp.MustCompile(`<tr><th scope="row">(.*?)</th><td>(.*?)</td><td class="num">(.*?)</td></tr>`)

// arithmetic returns the arithmetic that a page shows, by symbol.
func arithmetic(t *testing.T, doc *result.Document) map[string]figure {
	t.Helper()
	var b strings.Builder
	if err := reports.HTML(&b, doc, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	out := map[string]figure{}
	plain := strings.NewReplacer("\u00a0", " ", "\u202f", " ")
	for _, m := range figureRow.FindAllStringSubmatch(b.String(), -1) {
		out[m[1]] = figure{plain.Replace(html.UnescapeString(m[2])), plain.Replace(html.UnescapeString(m[3]))}
	}
	return out
}

func TestArithmeticIsGossets(t *testing.T) {
	got := arithmetic(t, gosset())
	for symbol, want := range map[string]string{
		"d̄": "1.58", "s": "1.23", "SE": "0.389", "t": "4.062", "df": "9", "p": "0.00142",
		"interval": "+0.867 … +2.29 s", "p (Holm)": "0.00142", "m": "0.5", "p used": "",
	} {
		if got[symbol].value != want {
			t.Errorf("%s is %q, want %q", symbol, got[symbol].value, want)
		}
	}
}

// TestArithmeticOfAnotherTest: a decision that did not use the plain test of its pairs is
// not explained by it.
func TestArithmeticOfAnotherTest(t *testing.T) {
	moderated := gosset()
	p := 0.03
	moderated.Gates[0].Decisions[0].P = &p
	if got := arithmetic(t, moderated)["p used"].value; got != "0.03" {
		t.Errorf("another p is %q", got)
	}
	untested := gosset()
	untested.Gates[0].Decisions[0].P = nil
	if got := arithmetic(t, untested); got["t"].value != "" || got["p"].value != humanize.None {
		t.Errorf("arithmetic of a decision without a test: %v", got)
	}
	for _, other := range []func(*result.Gate){
		func(g *result.Gate) { g.TestName = "sign_flip" },
		func(g *result.Gate) { g.BaselineKind = "stored" },
	} {
		doc := gosset()
		other(&doc.Gates[0])
		if got := arithmetic(t, doc); got["t"].value != "" || got["p"].value != "0.00142" {
			t.Errorf("arithmetic of a gate with %+v: %v", doc.Gates[0], got)
		}
	}
}

func TestWorseIsPositive(t *testing.T) {
	for _, c := range []struct {
		direction metric.Direction
		scale     metric.Scale
		d, change string
	}{
		{"lower", "log", "−0.1054", "−10.0 %"},
		{"higher", "log", "0.1054", "−10.0 %"},
		{"lower", "difference", "−10", "−10.0 s"},
		{"higher", "difference", "10", "−10.0 s"},
	} {
		doc := gosset()
		d := &doc.Gates[0].Decisions[0]
		d.Direction, d.Scale, d.Pairs, d.N = c.direction, c.scale, nil, 4
		for i := range 4 {
			d.Pairs = append(d.Pairs, result.Pair{Repeat: i + 1, Base: 100, Head: 90})
		}
		if got := arithmetic(t, doc)["d̄"]; got.value != c.d || !strings.HasSuffix(got.meaning, c.change) {
			t.Errorf("%v: %v", c, got)
		}
		d.Scale, d.Pairs[0].Base = metric.Log, 0
		if got := arithmetic(t, doc)["d̄"]; got.value != "" {
			t.Errorf("zero has a logarithm: %v", got)
		}
	}
}

func TestHolmLevelLeavesShares(t *testing.T) {
	for share, want := range map[float64]string{0.02: "at most 0.02", 0: "at most 0.03"} {
		doc := gosset()
		doc.Gates[0].Alpha = share
		doc.Gates = append(doc.Gates, result.Gate{Addr: "gate.other", Terms: gates.Terms{Rule: gates.Rule{Alpha: 0.02 - share}}})
		if got := arithmetic(t, doc)["p (Holm)"]; !strings.HasSuffix(got.meaning, want) {
			t.Errorf("a share of %g: %q", share, got.meaning)
		}
	}
}
