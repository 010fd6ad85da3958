package lang

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// term is an argument for one of a gate's terms, gates.Terms. It holds how the argument is documented, read and
// shown.
type term struct {
	steps.Attr
	// ofLimits is true for arguments that may stand beside assert.
	ofLimits bool
	read     func(e *evaluator, g *gate, b *block, o object)
	// text returns the value for people, "" if it is not set.
	text func(c *Config, g *config.Gate) string
}

// noRegression is the name of gates.NoRegression in files.
const noRegression = "no_regression"

// terms lists the arguments, in the order in which they are documented.
func terms(tests gates.Tests) []term {
	return []term{
		{
			Attr: steps.Attr{Name: "margin", Type: cty.Number, Unit: steps.UnitMargin, Doc: "The smallest change that anyone would act on, such " +
				"as \"5%\". Metrics that are times and can be zero, such as metric.queue.p99, have a time, such as \"50ms\", in a gate of their own; " +
				"shares have percentage points (\"1pp\"), and answers tokens (\"0.5 tokens\") or nats (\"0.01 nats\")."},
			read: (*evaluator).marginOf,
			text: func(_ *Config, g *config.Gate) string { return marginText(g) },
		},
		{
			Attr: steps.Attr{
				Name: "expect", Type: cty.String, Enum: enum.Of(noRegression, string(gates.ExpectImprovement)), Default: cty.StringVal(noRegression),
				Doc: "What the head has to show. improvement: that it is better by more than the margin, which may be 0, at the file's error rate; " +
					"on_inconclusive is then fail unless set. Paired baselines only.",
			},
			read: func(_ *evaluator, g *gate, _ *block, o object) { g.Expect = expectationOf(o) },
			text: func(_ *Config, g *config.Gate) string { return cmp.Or(string(g.Expect), noRegression) },
		},
		{
			Attr: steps.Attr{Name: "suite_margin", Type: cty.Number, Unit: steps.UnitPercent, Doc: "Compares the ratio of the geometric means " +
				"over all cells of the gate, too, with this margin and a fifth of the file's alpha: a small change that all cells share, which none " +
				"shows alone. Paired baselines only."},
			read: func(e *evaluator, g *gate, _ *block, o object) {
				g.SuiteMargin = metric.Margin(e.share(o, "suite_margin", false, 1, "Write two percent as \"2%\" or 0.02."))
			},
			text: func(_ *Config, g *config.Gate) string { return percent(float64(g.SuiteMargin)) },
		},
		{
			Attr: steps.Attr{Name: "alpha", Type: cty.Number, Unit: steps.UnitPercent,
				Doc: "The gate's own share of the file's alpha. Gates without one share what is left."},
			read: func(e *evaluator, g *gate, _ *block, o object) {
				g.Alpha = e.share(o, "alpha", false, 0.5, "It is a chance of a false alarm, such as 0.01.")
				e.checkAlpha(g.Alpha, o.at("alpha"))
			},
			text: func(c *Config, g *config.Gate) string { return percent(cmp.Or(g.Alpha, c.Settings.Alpha)) },
		},
		{
			Attr: steps.Attr{Name: "test", Type: cty.String, Enum: enum.Of(tests.OfRuns().Names()...),
				Default: cty.StringVal(gates.PairedTTest.Name), Doc: testDoc(tests)},
			read: func(_ *evaluator, g *gate, _ *block, o object) { g.TestName = o.Text("test") },
			text: func(_ *Config, g *config.Gate) string { return g.TestName },
		},
		{
			Attr: steps.Attr{Name: "strict", Type: cty.Bool, Default: cty.False,
				Doc: "A regression only where the whole confidence interval is beyond the margin."},
			read: func(_ *evaluator, g *gate, _ *block, o object) { g.Strict = isTrue(o, "strict") },
			text: func(_ *Config, g *config.Gate) string { return strconv.FormatBool(g.Strict) },
		},
		{
			Attr: steps.Attr{Name: "allow_overload", Type: cty.Bool, Default: cty.False,
				Doc: "Compare percentiles of runs whose backlog grew, too."},
			ofLimits: true,
			read:     func(_ *evaluator, g *gate, _ *block, o object) { g.AllowOverload = isTrue(o, "allow_overload") },
			text:     func(_ *Config, g *config.Gate) string { return strconv.FormatBool(g.AllowOverload) },
		},
	}
}

func termAttrs(tests gates.Tests) (attrs []steps.Attr) {
	for _, t := range terms(tests) {
		attrs = append(attrs, t.Attr)
	}
	return attrs
}

// terms reads the terms of a gate, whose metrics are known. It ignores terms of comparisons beside an assert,
// where they have no meaning.
func (e *evaluator) terms(g *gate, b *block, o object) {
	for _, t := range terms(e.prog.tests) {
		if b.one("assert") == nil || t.ofLimits || !b.has(t.Name) {
			t.read(e, g, b, o)
		}
	}
}

// comparisonOnly lists the arguments that have no meaning beside assert.
func (e *evaluator) comparisonOnly() []string {
	names := []string{"baseline", "metrics"}
	for _, t := range terms(e.prog.tests) {
		if !t.ofLimits {
			names = append(names, t.Name)
		}
	}
	return names
}

// Setting is an argument of a gate with its value for people, "" if it is not set.
type Setting struct{ Name, Value string }

// Terms lists the terms of a gate's comparisons.
func (c *Config) Terms(g *config.Gate) (list []Setting) {
	for _, t := range terms(c.Tests) {
		list = append(list, Setting{t.Name, t.text(c, g)})
	}
	return list
}

func expectationOf(o object) gates.Expectation {
	if text := o.Text("expect"); text != noRegression {
		return gates.Expectation(text)
	}
	return gates.NoRegression
}

// marginText returns the margin for people, "" for a limit, which has none.
func marginText(g *config.Gate) string {
	if g.Margin == 0 || len(g.Metrics) == 0 {
		return ""
	}
	return g.Margin.Text(g.Metrics[0])
}

func percent(x float64) string {
	if x == 0 {
		return ""
	}
	return strconv.FormatFloat(100*x, 'g', 4, 64) + " %"
}

// testDoc documents the argument test, with the purpose of each test.
func testDoc(tests gates.Tests) string {
	parts := make([]string, 0, len(tests))
	for _, t := range tests.OfRuns() {
		parts = append(parts, t.Name+": "+t.Doc)
	}
	return "The significance test. " + strings.Join(parts, "; ") + "."
}
