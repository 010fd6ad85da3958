package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/pipeline/internal/lang/function"
	"github.com/zclconf/go-cty/cty"
)

// quantityHere explains an operator that got a text with a unit where it needs a number:
// self.ttft.p99 < "500ms". It is "" for all other problems.
func quantityHere(d *hcl.Diagnostic, expr hcl.Expression, ctx *hcl.EvalContext) string {
	root, ok := expr.(hclsyntax.Node)
	if !ok || d.Subject == nil {
		return ""
	}
	advice := ""
	_ = hclsyntax.VisitAll(root, func(n hclsyntax.Node) hcl.Diagnostics { // it cannot fail
		op, ok := n.(*hclsyntax.BinaryOpExpr)
		if !ok || advice != "" {
			return nil
		}
		for _, side := range []hclsyntax.Expression{op.LHS, op.RHS} {
			if side.Range() == *d.Subject {
				advice = inNumbers(side, ctx)
			}
		}
		return nil
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
	for _, unit := range []struct {
		name  string
		parse func(string) error
	}{
		{"duration", func(s string) error { _, err := function.Duration(s); return err }},
		{"percent", func(s string) error { _, err := function.Percent(s); return err }},
		{"bytes", func(s string) error { _, err := function.Bytes(s); return err }},
	} {
		if unit.parse(text) == nil {
			return fmt.Sprintf("A number is needed here: write %s(%q). Times are in seconds, shares in fractions of one.", unit.name, text)
		}
	}
	return ""
}
