package lang

import (
	"math"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Limit is one comparison of an assert's condition, with its numbers on one cell. A
// condition is the conjunction of its limits.
type Limit struct {
	// Metric is the ID of the metric that is limited, "" where it is a count or arithmetic.
	Metric string
	// Text is the limited side as the file writes it.
	Text string
	// Op is "<", "<=", ">", ">=", "==" or "!=", as if the limited side stood on its left; "" for
	// a part of the condition that is no comparison of numbers, which has neither value nor limit.
	Op           string
	Value, Limit float64
	// Known is false where the limited side has no value.
	Known bool
	Holds bool
}

// comparisons are the operators of a limit, with what they are seen from the other side.
var comparisons = map[*hclsyntax.Operation][2]string{
	hclsyntax.OpLessThan: {"<", ">"}, hclsyntax.OpLessThanOrEqual: {"<=", ">="},
	hclsyntax.OpGreaterThan: {">", "<"}, hclsyntax.OpGreaterThanOrEqual: {">=", "<="},
	hclsyntax.OpEqual: {"==", "=="}, hclsyntax.OpNotEqual: {"!=", "!="},
}

// AssertLimits takes the condition of a gate apart after a cell was measured, with the same
// values as [Config.EvalAssert]. The whole condition is kept where all limits hold.
func (c *Config) AssertLimits(g *Gate, cell Cell, metrics map[string]float64, errors, requests int) []Limit {
	e := c.evaluator(nil)
	self := selfValues(metrics, map[string]int{selfErrors: errors, selfRequests: requests})
	s := cellScope(e.assertScope(g, cty.ObjectVal(self)), cell)
	var out []Limit
	for _, part := range conjuncts(g.Assert.Condition) {
		out = append(out, c.assertLimit(s, part))
	}
	return out
}

// conjuncts are the parts of an expression that must all hold.
func conjuncts(expr hcl.Expression) []hcl.Expression {
	switch x := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		return conjuncts(x.Expression)
	case *hclsyntax.BinaryOpExpr:
		if x.Op == hclsyntax.OpLogicalAnd {
			return append(conjuncts(x.LHS), conjuncts(x.RHS)...)
		}
	}
	return []hcl.Expression{expr}
}

func (c *Config) assertLimit(s *scope, expr hcl.Expression) Limit {
	out := Limit{Text: c.Sources.Text(expr.Range())}
	if v, ok := s.value(expr); ok && v.IsKnown() && !v.IsNull() && v.Type() == cty.Bool {
		out.Holds = v.True()
	}
	x, ok := expr.(*hclsyntax.BinaryOpExpr)
	if !ok {
		return out
	}
	ops, ok := comparisons[x.Op]
	if !ok {
		return out
	}
	left, right, op := hcl.Expression(x.LHS), hcl.Expression(x.RHS), ops[0]
	if !refersToSelf(left) && refersToSelf(right) {
		left, right, op = right, left, ops[1]
	}
	limit, ok := numberOf(s, right)
	if !ok {
		return out
	}
	if m, ok := selfMetric(left); ok {
		out.Metric = m.ID
	}
	out.Text, out.Op, out.Limit = c.Sources.Text(left.Range()), op, limit
	out.Value, out.Known = numberOf(s, left)
	return out
}

// numberOf is a finite number that an expression has.
func numberOf(s *scope, expr hcl.Expression) (float64, bool) {
	v, ok := s.value(expr)
	if !ok || v.ContainsMarked() || !v.IsKnown() || v.IsNull() || v.Type() != cty.Number {
		return 0, false
	}
	f, _ := v.AsBigFloat().Float64()
	return f, !math.IsInf(f, 0)
}

func refersToSelf(expr hcl.Expression) bool {
	for _, t := range expr.Variables() {
		if t.RootName() == "self" {
			return true
		}
	}
	return false
}
