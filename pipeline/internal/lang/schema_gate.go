package lang

import (
	"strings"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// defaultAlpha is the chance of a false alarm in a file.
const defaultAlpha = 0.05

// defaultBranch of a stored baseline.
const defaultBranch = "main"

func baselineType() *blockType {
	differ := steps.Attr{Name: "differ", Type: cty.List(cty.String), Enum: enum.Of(comparability.Declarable()...), Doc: "What the sides may differ in besides the axis, such as [\"tokenizer\"]: parameters of the work or of the load generator. Any other difference is invalid."}
	return &blockType{
		name: "baseline", labels: []string{"kind", "name"}, byKind: true,
		doc: "What cells are compared with. Referred to as baseline.KIND.NAME.",
		kinds: []steps.Kind{
			{Name: string(result.BaselinePaired), Doc: "Another value of an axis in the same session.", Schema: steps.Schema{Attrs: []steps.Attr{
				{Name: "axis", Type: cty.String, Required: true, Doc: "The axis whose values are compared."},
				{Name: "value", Type: cty.DynamicPseudoType, Required: true, Doc: "The value of the axis that the others are compared with."},
				differ,
			}}},
			{Name: string(result.BaselineStored), Doc: "Sessions of the history.", Schema: steps.Schema{Attrs: []steps.Attr{
				{Name: "branch", Type: cty.String, Default: cty.StringVal(defaultBranch), Doc: "The branch whose sessions count."},
				{Name: "sessions", Type: cty.Number, Default: cty.NumberIntVal(defaultSessions), Doc: "How many of the last sessions count."},
				{Name: "match", Type: cty.List(cty.String), Doc: "Further facts of the machine that must be equal."},
			}}},
			{Name: string(result.BaselineFile), Doc: "A result file.", Schema: steps.Schema{Attrs: []steps.Attr{
				{Name: "path", Type: cty.String, Required: true, Doc: "The result file, relative to the pipeline file."},
				differ,
			}}},
		},
	}
}

func gateType(tests gates.Tests) *blockType {
	actions := enum.Of(result.Fail, result.Warn, result.Ignore)
	action := func(name string, otherwise result.Action, doc string) steps.Attr {
		return steps.Attr{Name: name, Type: cty.String, Enum: actions, Default: cty.StringVal(string(otherwise)), Doc: doc}
	}
	return &blockType{
		name: "gate", labels: []string{"name"},
		doc: "A condition on a benchmark: a comparison with a baseline (baseline, metrics, margin), or an absolute limit (assert). Referred to as gate.NAME.",
		schema: steps.Schema{
			Attrs: []steps.Attr{
				forEachAttr(),
				{Name: "description", Type: cty.String, Blank: true, Doc: "What the gate protects."},
				{Name: "benchmark", Type: cty.DynamicPseudoType, Required: true, Doc: "The benchmark, such as benchmark.serving, or the answers, such as answers.check."},
				{Name: "baseline", Type: cty.DynamicPseudoType, Doc: "What its cells are compared with, such as baseline.paired.merge_base."},
				expr("metrics", false, "List of the metrics that are compared, such as [metric.ttft.p99, metric.itl.p99]."),
				expr("where", false, "True for the cells that the gate is about, such as matrix.rate <= 4; all unless set."),
				{Name: "margin", Type: cty.Number, Unit: steps.UnitMargin, Doc: "The smallest change that anyone would act on, such as \"5%\". Metrics that are times and can be zero, such as metric.queue.p99, have a time, such as \"50ms\", in a gate of their own; shares have percentage points (\"1pp\"), and answers tokens (\"0.5 tokens\") or nats (\"0.01 nats\")."},
				{Name: "expect", Type: cty.String, Enum: enum.Of(NoRegression, Improvement), Default: cty.StringVal(string(NoRegression)), Doc: "What the head has to show. improvement: that it is better by more than the margin, which may be 0, at the file's error rate; on_inconclusive is then fail unless set. Paired baselines only."},
				{Name: "suite_margin", Type: cty.Number, Unit: steps.UnitPercent, Doc: "Compares the ratio of the geometric means over all cells of the gate, too, with this margin and a fifth of the file's alpha: a small change that all cells share, which none shows alone. Paired baselines only."},
				{Name: "alpha", Type: cty.Number, Unit: steps.UnitPercent, Doc: "The gate's own share of the file's alpha. Gates without one share what is left."},
				{Name: "test", Type: cty.String, Enum: enum.Of(tests.OfRuns().Names()...), Default: cty.StringVal(gates.PairedTTest.Name), Doc: testDoc(tests)},
				{Name: "strict", Type: cty.Bool, Default: cty.False, Doc: "A regression only where the whole confidence interval is beyond the margin."},
				{Name: "allow_overload", Type: cty.Bool, Default: cty.False, Doc: "Compare percentiles of runs whose backlog grew, too."},
				action("on_regression", result.Fail, "What a regression does."),
				action("on_inconclusive", result.Warn, "What a comparison that could not be decided does."),
				action("on_missing", result.Fail, "What a side without results does."),
				action("on_invalid", result.Fail, "What runs that were measured wrongly do."),
				action("on_unproven_transport", result.Warn, "What a transport does that no counter and no log proves."),
			},
			Blocks: []steps.BlockSchema{assertBlock()},
		},
	}
}

// testDoc says what each test is for.
func testDoc(tests gates.Tests) string {
	parts := make([]string, 0, len(tests))
	for _, t := range tests.OfRuns() {
		parts = append(parts, t.Name+": "+t.Doc)
	}
	return "The significance test. " + strings.Join(parts, "; ") + "."
}

func assertBlock() steps.BlockSchema {
	b := conditionBlock("assert", "An absolute limit, judged on the geometric mean over the valid runs.",
		"True where the limit is kept. self.GROUP.STAT are metrics (times in seconds), self.errors and self.requests are counts, matrix.AXIS the cell.")
	b.Max = 1
	return b
}
