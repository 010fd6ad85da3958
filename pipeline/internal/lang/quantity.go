package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/servegate/pipeline/steps"
)

// quantityHere explains an operator that got a text with a unit where it needs a number:
// self.ttft.p99 < "500ms". It is "" for all other problems.
func quantityHere(d *hcl.Diagnostic, expr hcl.Expression, ctx *hcl.EvalContext) string {
	advice := ""
	walk(expr, func(op *hclsyntax.BinaryOpExpr) {
		for _, side := range []hclsyntax.Expression{op.LHS, op.RHS} {
			if advice == "" && d.Subject != nil && side.Range() == *d.Subject {
				advice = inNumbers(side, ctx)
			}
		}
	})
	return advice
}

// inNumbers says how a text with a unit is written as a number.
func inNumbers(expr hclsyntax.Expression, ctx *hcl.EvalContext) string {
	switch expr.(type) {
	case *hclsyntax.TemplateExpr, *hclsyntax.ScopeTraversalExpr, *hclsyntax.LiteralValueExpr:
	default:
		return "" // it may be large
	}
	v, diags := expr.Value(ctx)
	if diags.HasErrors() || v.IsMarked() || !v.IsKnown() || v.IsNull() || v.Type() != cty.String {
		return ""
	}
	text := v.AsString()
	for _, unit := range []steps.Unit{steps.UnitDuration, steps.UnitPercent, steps.UnitBytes} { // the names of the functions, too
		if _, err := units[unit].parse(text); err == nil {
			return fmt.Sprintf("A number is needed here: write %s(%q). Times are in seconds, shares in fractions of one.", unit, text)
		}
	}
	return ""
}
