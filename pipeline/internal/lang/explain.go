package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// explain rewrites a diagnostic of hcl in our style, with a code. It adds "did you mean" where hcl has none.
func (e *evaluator) explain(d *hcl.Diagnostic, expr hcl.Expression, ctx *hcl.EvalContext) {
	if e.meter.Exceeded() {
		_ = diag.WithCode(hcl.Diagnostics{d}, codeTooMuch) // it changes d itself
		return
	}
	_ = diag.WithCode(hcl.Diagnostics{d}, codeExpression)
	if d.Summary != "" {
		d.Summary = strings.ToLower(d.Summary[:1]) + d.Summary[1:]
	}
	if call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](d); ok {
		names := slices.Collect(maps.Keys(e.functions))
		slices.Sort(names)
		advice := here(call.CalledFunctionName(), inCall)
		if advice == "" {
			advice = didYouMean(call.CalledFunctionName(), names, "functions")
		}
		d.Detail = fmt.Sprintf("Unknown function %q. %s", call.CalledFunctionName(), advice)
		return
	}
	if how := quantityHere(d, expr, ctx); how != "" {
		d.Detail = how
		return
	}
	if key, names, ok := e.missingKey(d, expr, ctx); ok {
		d.Summary = fmt.Sprintf("unknown element %q", key)
		d.Detail = didYouMean(key, names, "keys")
	}
}

// missingKey returns the index at which an evaluation failed, if a known map lacks that known key.
func (e *evaluator) missingKey(d *hcl.Diagnostic, expr hcl.Expression, ctx *hcl.EvalContext) (key string, names []string, found bool) {
	if d.Subject == nil {
		return "", nil, false
	}
	walk(expr, func(index *hclsyntax.IndexExpr) {
		if found || !d.Subject.Overlaps(index.Range()) {
			return
		}
		collection, diags := e.meter.Value(e.meter.Expression(index.Collection), ctx)
		k, keyDiags := e.meter.Value(e.meter.Expression(index.Key), ctx)
		if diags.HasErrors() || keyDiags.HasErrors() || collection.IsMarked() || !isMap(collection) {
			return
		}
		if k.IsMarked() || !k.IsKnown() || k.IsNull() || k.Type() != cty.String {
			return
		}
		elements := collection.AsValueMap()
		if _, there := elements[k.AsString()]; !there {
			key, names, found = k.AsString(), slices.Sorted(maps.Keys(elements)), true
		}
	})
	return key, names, found
}

// walk visits the nodes of one type in an expression.
func walk[T hclsyntax.Node](expr hcl.Expression, visit func(T)) {
	root, ok := expr.(hclsyntax.Node)
	if !ok {
		return
	}
	_ = hclsyntax.VisitAll(root, func(n hclsyntax.Node) hcl.Diagnostics { // it cannot fail
		if x, ok := n.(T); ok {
			visit(x)
		}
		return nil
	})
}

// quantityHere explains an operator that got a text with a unit instead of a number: self.ttft.p99 < "500ms".
// It returns "" for all other problems.
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

// inNumbers explains how to write a text with a unit as a number, "" if it has no unit.
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
