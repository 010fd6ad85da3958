package lang

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/zclconf/go-cty/cty"
)

// scope is where an expression is evaluated: what the names each, matrix, self and driver mean
// there, if anything. All other names mean the same everywhere.
type scope struct {
	eval *evaluator
	// locals are the values of each, matrix, self and driver; absent where they do not exist.
	locals map[string]cty.Value
	// absent says, for a name that is not in locals, why.
	absent map[string]string
	// check, if not nil, finds wrong references that begin with a local name.
	check func(hcl.Traversal) *hcl.Diagnostic
	// only, if not "", is the one root that may be referred to; onlyWhy says why.
	only, onlyWhy string
	// cell names the cell, for messages: "side=base rate=4".
	cell string
	// prepared holds what is known of an expression before the locals are; cells share it.
	prepared map[hcl.Expression]*prepared
}

// prepared is an expression with its references resolved.
type prepared struct {
	ctx *hcl.EvalContext
	// metered is the expression as it is evaluated.
	metered hcl.Expression
	ok      bool // all references are good
	// varies says that the value depends on matrix or self, which change from cell to cell.
	varies  bool
	done    bool
	value   cty.Value
	valueOK bool
}

func (e *evaluator) newScope() *scope {
	return &scope{eval: e, prepared: map[hcl.Expression]*prepared{}}
}

// with is the scope with a local name more. Expressions prepared in one hold in both.
func (s *scope) with(name string, v cty.Value) *scope {
	out := *s
	out.locals = maps.Clone(s.locals)
	if out.locals == nil {
		out.locals = map[string]cty.Value{}
	}
	out.locals[name] = v
	return &out
}

// value evaluates an expression. ok is false if a problem was reported, here or where a
// name that it refers to is declared; the value is then unknown.
func (s *scope) value(expr hcl.Expression) (v cty.Value, ok bool) {
	p := s.prepare(expr)
	if !p.ok {
		return cty.DynamicVal, false
	}
	if p.done && !p.varies {
		return p.value, p.valueOK
	}
	if s.eval.meter.Spent() {
		return cty.DynamicVal, false // reported where the last step was taken
	}
	ctx := p.ctx.NewChild()
	ctx.Variables = s.locals
	v, diags := s.eval.meter.Value(p.metered, ctx)
	for _, d := range diags {
		s.eval.explain(d, expr, ctx)
		if p.varies {
			d.Detail += s.note()
		}
		s.eval.report(d)
	}
	ok = !diags.HasErrors()
	if !ok {
		v = cty.DynamicVal
	}
	p.done, p.value, p.valueOK = true, v, ok
	return v, ok
}

// note names the cell at the end of a message.
func (s *scope) note() string {
	if s.cell == "" {
		return ""
	}
	return fmt.Sprintf(" This is so in the cell %s.", s.cell)
}

// noteFor is the note if the expression has another value in each cell.
func (s *scope) noteFor(expr hcl.Expression) string {
	if p := s.prepared[expr]; p != nil && p.varies {
		return s.note()
	}
	return ""
}

// prepare resolves the references of an expression.
func (s *scope) prepare(expr hcl.Expression) *prepared {
	if p := s.prepared[expr]; p != nil {
		return p
	}
	p := &prepared{ok: true, metered: s.eval.meter.Expression(expr)}
	s.prepared[expr] = p
	names := tree{}
	for _, t := range expr.Variables() {
		switch root := t.RootName(); root {
		case "each", "matrix", "self", "driver":
			p.varies = p.varies || root == "matrix" || root == "self"
			if d := s.checkLocal(t); d != nil {
				s.eval.report(d)
				p.ok = false
			}
		default:
			p.ok = s.resolve(t, names) && p.ok
		}
	}
	p.ctx = &hcl.EvalContext{Functions: s.eval.functions, Variables: names.objects()}
	return p
}

// resolve evaluates what a traversal refers to, and enters it under its name.
func (s *scope) resolve(t hcl.Traversal, names tree) bool {
	r, d := parseReference(t)
	if d == nil {
		d = s.eval.prog.find(r)
	}
	if d == nil && s.only != "" && r.root != s.only {
		d = problem(codeScope, t.SourceRange(), fmt.Sprintf("%s cannot be used here", diag.TraversalText(t)), s.onlyWhy)
	}
	if d != nil {
		s.eval.report(d)
		return false
	}
	v, ok := s.eval.refer(r)
	if ok {
		names.enter(r.path, v)
	}
	return ok
}

// checkLocal finds what is wrong with a reference to each, matrix, self or driver.
func (s *scope) checkLocal(t hcl.Traversal) *hcl.Diagnostic {
	root := t.RootName()
	v, ok := s.locals[root]
	if !ok {
		return problem(codeScope, t.SourceRange(), fmt.Sprintf("%s has no meaning here", diag.TraversalText(t)),
			cmp.Or(s.absent[root], rootNamed(root).absent))
	}
	if s.check != nil {
		if d := s.check(t); d != nil {
			return d
		}
	}
	if len(t) == 1 || !v.Type().IsObjectType() {
		return nil
	}
	name, static := stepName(t[1])
	if !static || v.Type().HasAttribute(name) {
		return nil
	}
	var names []string
	for attr := range v.Type().AttributeTypes() {
		names = append(names, root+"."+attr)
	}
	return problem(codeReference, t[:2].SourceRange(), fmt.Sprintf("there is no %s", diag.TraversalText(t[:2])),
		didYouMean(root+"."+name, names, "names below "+root))
}

// tree holds values by path, and becomes nested objects.
type tree map[string]any

func (t tree) enter(path []string, v cty.Value) {
	for _, name := range path[:len(path)-1] {
		child, ok := t[name].(tree)
		if !ok {
			child = tree{}
			t[name] = child
		}
		t = child
	}
	t[path[len(path)-1]] = v
}

func (t tree) objects() map[string]cty.Value {
	out := make(map[string]cty.Value, len(t))
	for name, v := range t {
		if child, ok := v.(tree); ok {
			out[name] = cty.ObjectVal(child.objects())
			continue
		}
		out[name] = v.(cty.Value)
	}
	return out
}
