package lang

import (
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// defaultAlpha is the default probability of a false alarm in a file.
const defaultAlpha = 0.05

// defaultBranch is the default branch of a stored baseline.
const defaultBranch = "main"

func baselineType() *blockType {
	differ := steps.Attr{Name: "differ", Type: cty.List(cty.String),
		Enum: append(enum.Of(comparability.Declarable()...), enum.Value{Name: comparability.Parameter + "*"}),
		Doc: "What the sides may differ in besides the axis, such as [\"tokenizer\"]: parameters of the work or of the load generator, and " +
			"parameter.NAME for another column or key of imported results. Any other difference is invalid."}
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
	return &blockType{
		name: "gate", labels: []string{"name"},
		doc: "A condition on a benchmark: a comparison with a baseline (baseline, metrics, margin), or an absolute limit (assert). Referred to " +
			"as gate.NAME.",
		schema: steps.Schema{
			Attrs: slices.Concat([]steps.Attr{
				forEachAttr(),
				{Name: "description", Type: cty.String, Blank: true, Doc: "What the gate protects."},
				{Name: "benchmark", Type: cty.DynamicPseudoType, Required: true,
					Doc: "The benchmark, such as benchmark.serving, or the answers, such as answers.check."},
				{Name: "baseline", Type: cty.DynamicPseudoType, Doc: "What its cells are compared with, such as baseline.paired.merge_base."},
				expr("metrics", false, "List of the metrics that are compared, such as [metric.ttft.p99, metric.itl.p99]."),
				expr("where", false, "True for the cells that the gate is about, such as matrix.rate <= 4; all unless set."),
			}, termAttrs(tests), actionAttrs()),
			Blocks: []steps.BlockSchema{assertBlock()},
		},
	}
}

func assertBlock() steps.BlockSchema {
	b := conditionBlock("assert", "An absolute limit, judged on the geometric mean over the valid runs.",
		"True where the limit is kept. self.GROUP.STAT are metrics (times in seconds), self.errors and self.requests are counts, matrix.AXIS "+
			"the cell.")
	b.Max = 1
	return b
}
