package meter

import (
	"reflect"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Expression returns a copy of an expression whose nodes pay to the meter. Expressions outside the
// native syntax are returned unchanged.
func (m *Meter) Expression(expr hcl.Expression) hcl.Expression {
	if x, ok := expr.(hclsyntax.Expression); ok {
		return m.node(x, forValue)
	}
	return expr
}

// Value evaluates the result of Expression. If a limit is exceeded, it returns only that problem,
// because the others are consequences.
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

// original returns the expression of the file for its copy.
func (m *Meter) original(expr hcl.Expression) hcl.Expression {
	if x, ok := m.originals[expr]; ok {
		return x
	}
	return expr
}

// visitSteps is the cost of a loop per element besides its body: it creates a scope.
const visitSteps = 10

// payment defines the part of a node to pay for.
type payment int

const (
	forValue  payment = iota // the whole value
	forLength                // the elements that a loop visits
	forNumber                // the whole value, which may be converted to a number
	forType                  // the whole value, whose elements may be unified to one type
	forPart                  // the whole value, except for a reference, of which only a part is used
)

// node is a node of an expression that pays for its value.
type node struct {
	hclsyntax.Expression // a copy, its children wrapped
	meter                *Meter
	original             hclsyntax.Expression
	pays                 payment
}

// Variables returns those of the original, because a walk over a copy does not find wrapped
// references.
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

// stop ends the evaluation of a node at the exceeded limit.
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

// node wraps an expression. The size of the file limits literals.
func (m *Meter) node(x hclsyntax.Expression, pays payment) hclsyntax.Expression {
	switch x.(type) {
	case *hclsyntax.LiteralValueExpr, *hclsyntax.AnonSymbolExpr:
		return x
	case *hclsyntax.ScopeTraversalExpr:
		if pays == forPart {
			return x
		}
	}
	inner := m.copy(x)
	m.originals[inner] = x
	n := &node{Expression: inner, meter: m, original: x, pays: pays}
	m.originals[n] = x
	return n
}

// copy copies one node with its children wrapped.
func (m *Meter) copy(x hclsyntax.Expression) hclsyntax.Expression {
	if object, ok := x.(*hclsyntax.ObjectConsExpr); ok {
		return m.copyObject(object)
	}
	out := reflect.New(reflect.TypeOf(x).Elem())
	out.Elem().Set(reflect.ValueOf(x).Elem())
	for i := range out.Elem().NumField() {
		switch f := out.Elem().Field(i); f.Type() {
		case reflect.TypeFor[hclsyntax.Expression]():
			if part, ok := reflect.TypeAssert[hclsyntax.Expression](f); ok { // not nil
				f.Set(reflect.ValueOf(m.node(part, paymentOf(x, out.Elem().Type().Field(i).Name))))
			}
		case reflect.TypeFor[[]hclsyntax.Expression]():
			parts := slices.Clone(f.Interface().([]hclsyntax.Expression))
			for i, part := range parts {
				parts[i] = m.node(part, forValue)
			}
			f.Set(reflect.ValueOf(parts))
		}
	}
	return out.Interface().(hclsyntax.Expression)
}

// paymentOf returns the payment of a part of a node.
func paymentOf(x hclsyntax.Expression, part string) payment {
	switch x := x.(type) {
	case *hclsyntax.ConditionalExpr:
		if part != "Condition" {
			return forType
		}
	case *hclsyntax.BinaryOpExpr:
		if x.Op != hclsyntax.OpEqual && x.Op != hclsyntax.OpNotEqual {
			return forNumber
		}
	case *hclsyntax.UnaryOpExpr:
		return forNumber
	case *hclsyntax.IndexExpr:
		if part == "Key" {
			return forNumber
		}
		return forPart
	case *hclsyntax.RelativeTraversalExpr:
		return forPart
	case *hclsyntax.ForExpr, *hclsyntax.SplatExpr:
		if part == "CollExpr" || part == "Source" {
			return forLength
		}
	}
	return forValue
}

// copyObject copies { key = value }. A bare key is a name, which hcl reads from the expression
// itself.
func (m *Meter) copyObject(x *hclsyntax.ObjectConsExpr) hclsyntax.Expression {
	c := *x
	c.Items = make([]hclsyntax.ObjectConsItem, len(x.Items))
	for i, item := range x.Items {
		c.Items[i] = hclsyntax.ObjectConsItem{KeyExpr: item.KeyExpr, ValueExpr: m.node(item.ValueExpr, forValue)}
		key, ok := item.KeyExpr.(*hclsyntax.ObjectConsKeyExpr)
		if !ok {
			c.Items[i].KeyExpr = m.node(item.KeyExpr, forValue)
			continue
		}
		if _, name := key.Wrapped.(*hclsyntax.ScopeTraversalExpr); !name {
			k := *key
			k.Wrapped = m.node(key.Wrapped, forValue)
			m.originals[&k] = key
			c.Items[i].KeyExpr = &k
		}
	}
	return &c
}
