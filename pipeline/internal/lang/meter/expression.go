package meter

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Expression returns a copy of an expression whose nodes pay to the meter. What is not of
// the native syntax is returned as it is.
func (m *Meter) Expression(expr hcl.Expression) hcl.Expression {
	if x, ok := expr.(hclsyntax.Expression); ok {
		return m.node(x)
	}
	return expr
}

// Value evaluates what Expression returned. Where a limit is passed, that is the only
// problem: the others follow from it.
func (m *Meter) Value(expr hcl.Expression, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	m.bytes = 0
	if m.exceeded != nil && !m.exceeded.Final {
		m.exceeded = nil
	}
	v, diags := expr.Value(ctx)
	if m.exceeded != nil {
		at := m.exceeded.At
		if at == nil {
			r := expr.Range()
			at = &r
		}
		return cty.DynamicVal, hcl.Diagnostics{{
			Severity: hcl.DiagError, Summary: m.exceeded.Summary, Detail: m.exceeded.Detail, Subject: at,
			Expression: m.original(expr), EvalContext: ctx,
		}}
	}
	for _, d := range diags {
		if d.Expression != nil {
			d.Expression = m.original(d.Expression)
		}
	}
	return v, diags
}

// original is the expression of the file that another one is a copy of.
func (m *Meter) original(expr hcl.Expression) hcl.Expression {
	if x, ok := m.originals[expr]; ok {
		return x
	}
	return expr
}

// visitSteps is what a loop takes for each element beside its body: a scope is made.
const visitSteps = 10

// payment is what a node pays for.
type payment int

const (
	forValue  payment = iota // the whole value
	forLength                // the elements that a loop visits
	forNumber                // the whole value, which may be turned into a number
	forType                  // the whole value, whose elements may get one type
)

// node is a node of an expression that pays for what it makes.
type node struct {
	hclsyntax.Expression // a copy, its children wrapped
	meter                *Meter
	original             hclsyntax.Expression
	pays                 payment
}

// Variables are those of the original: what walks over a copy does not see the references
// that are wrapped.
func (n *node) Variables() []hcl.Traversal { return n.original.Variables() }

func (n *node) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if err := n.meter.Spend(1); err != nil {
		return n.stop(ctx)
	}
	v, diags := n.Expression.Value(ctx)
	if n.meter.exceeded != nil || n.charge(v) != nil {
		return n.stop(ctx)
	}
	return v, diags
}

func (n *node) charge(v cty.Value) error {
	switch n.pays {
	case forLength:
		if bare, _ := v.Unmark(); bare.IsKnown() && !bare.IsNull() && bare.CanIterateElements() {
			return n.meter.Spend(int64(bare.LengthInt()) * visitSteps)
		}
		return nil
	case forType:
		if err := n.meter.pay(v); err != nil {
			return err
		}
		return n.meter.Spend(UnifySteps(v))
	case forNumber:
		if err := n.meter.pay(v); err != nil {
			return err
		}
		if err := CheckNumbers(v, cty.Number); err != nil {
			n.meter.exceed(err.Error(), "An operator or an index would have to read it as one here.", false)
			return err
		}
		return nil
	}
	return n.meter.pay(v)
}

// stop ends the evaluation of a node at the limit that was passed.
func (n *node) stop(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	e := n.meter.exceeded
	if e.At == nil {
		r := n.original.Range()
		e.At = &r
	}
	return cty.DynamicVal, hcl.Diagnostics{{
		Severity: hcl.DiagError, Summary: e.Summary, Detail: e.Detail, Subject: e.At,
		Expression: n.original, EvalContext: ctx,
	}}
}

// node wraps an expression. Literals are bounded by the size of the file.
func (m *Meter) node(x hclsyntax.Expression) hclsyntax.Expression {
	return m.nodeFor(x, forValue)
}

func (m *Meter) nodeFor(x hclsyntax.Expression, pays payment) hclsyntax.Expression {
	switch x.(type) {
	case nil:
		return nil
	case *hclsyntax.LiteralValueExpr, *hclsyntax.AnonSymbolExpr:
		return x
	}
	inner := m.copy(x)
	m.originals[inner] = x
	n := &node{Expression: inner, meter: m, original: x, pays: pays}
	m.originals[n] = x
	return n
}

// part wraps what a node only takes a part of, so that a reference to a large value costs
// no more than the part.
func (m *Meter) part(x hclsyntax.Expression) hclsyntax.Expression {
	if _, ok := x.(*hclsyntax.ScopeTraversalExpr); ok {
		return x
	}
	return m.node(x)
}

func (m *Meter) all(list []hclsyntax.Expression) []hclsyntax.Expression {
	out := make([]hclsyntax.Expression, len(list))
	for i, x := range list {
		out[i] = m.node(x)
	}
	return out
}

// copy copies one node with its children wrapped.
func (m *Meter) copy(x hclsyntax.Expression) hclsyntax.Expression {
	switch x := x.(type) {
	case *hclsyntax.FunctionCallExpr:
		c := *x
		c.Args = m.all(x.Args)
		return &c
	case *hclsyntax.TupleConsExpr:
		c := *x
		c.Exprs = m.all(x.Exprs)
		return &c
	case *hclsyntax.TemplateExpr:
		c := *x
		c.Parts = m.all(x.Parts)
		return &c
	case *hclsyntax.TemplateJoinExpr:
		c := *x
		c.Tuple = m.node(x.Tuple)
		return &c
	case *hclsyntax.TemplateWrapExpr:
		c := *x
		c.Wrapped = m.node(x.Wrapped)
		return &c
	case *hclsyntax.ParenthesesExpr:
		c := *x
		c.Expression = m.node(x.Expression)
		return &c
	case *hclsyntax.ConditionalExpr:
		c := *x
		c.Condition, c.TrueResult, c.FalseResult = m.node(x.Condition), m.nodeFor(x.TrueResult, forType), m.nodeFor(x.FalseResult, forType)
		return &c
	case *hclsyntax.ObjectConsExpr:
		return m.copyObject(x)
	}
	return m.copyOther(x)
}

func (m *Meter) copyOther(x hclsyntax.Expression) hclsyntax.Expression {
	switch x := x.(type) {
	case *hclsyntax.BinaryOpExpr:
		c := *x
		pays := forNumber
		if x.Op == hclsyntax.OpEqual || x.Op == hclsyntax.OpNotEqual {
			pays = forValue
		}
		c.LHS, c.RHS = m.nodeFor(x.LHS, pays), m.nodeFor(x.RHS, pays)
		return &c
	case *hclsyntax.UnaryOpExpr:
		c := *x
		c.Val = m.nodeFor(x.Val, forNumber)
		return &c
	case *hclsyntax.IndexExpr:
		c := *x
		c.Collection, c.Key = m.part(x.Collection), m.nodeFor(x.Key, forNumber)
		return &c
	case *hclsyntax.RelativeTraversalExpr:
		c := *x
		c.Source = m.part(x.Source)
		return &c
	case *hclsyntax.ForExpr:
		c := *x
		c.CollExpr = m.nodeFor(x.CollExpr, forLength)
		if x.KeyExpr != nil {
			c.KeyExpr = m.node(x.KeyExpr)
		}
		c.ValExpr = m.node(x.ValExpr)
		if x.CondExpr != nil {
			c.CondExpr = m.node(x.CondExpr)
		}
		return &c
	case *hclsyntax.SplatExpr:
		c := *x // Item is the same: what stands for the element in Each
		c.Source, c.Each = m.nodeFor(x.Source, forLength), m.node(x.Each)
		return &c
	}
	return x
}

// copyObject copies { key = value }. A bare key is a name, which hcl looks for in the
// expression itself.
func (m *Meter) copyObject(x *hclsyntax.ObjectConsExpr) hclsyntax.Expression {
	c := *x
	c.Items = make([]hclsyntax.ObjectConsItem, len(x.Items))
	for i, item := range x.Items {
		c.Items[i] = hclsyntax.ObjectConsItem{KeyExpr: item.KeyExpr, ValueExpr: m.node(item.ValueExpr)}
		key, ok := item.KeyExpr.(*hclsyntax.ObjectConsKeyExpr)
		if !ok {
			c.Items[i].KeyExpr = m.node(item.KeyExpr)
			continue
		}
		if _, name := key.Wrapped.(*hclsyntax.ScopeTraversalExpr); !name {
			k := *key
			k.Wrapped = m.node(key.Wrapped)
			m.originals[&k] = key
			c.Items[i].KeyExpr = &k
		}
	}
	return &c
}
