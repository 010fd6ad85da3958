package lang

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/zclconf/go-cty/cty"
)

// scope is where an expression is evaluated. It defines the names each, matrix, self and driver. All other
// names mean the same everywhere.
type scope struct {
	eval *evaluator
	// locals holds the values of each, matrix, self and driver, without those that do not exist here.
	locals map[string]cty.Value
	// absent explains why a name is not in locals.
	absent map[string]string
	// check, if not nil, returns the problem of a wrong reference that begins with a local name.
	check func(hcl.Traversal) *hcl.Diagnostic
	// only, if not "", is the one root that may be referred to; onlyWhy explains why.
	only, onlyWhy string
	// cell names the cell, for messages: "side=base rate=4".
	cell string
	// prepared holds expressions prepared before the locals are known. Cells share it.
	prepared map[hcl.Expression]*prepared
}

// prepared is an expression with its references resolved.
type prepared struct {
	ctx *hcl.EvalContext
	// metered is the expression as it is evaluated, with its cost counted.
	metered hcl.Expression
	ok      bool // all references are valid
	// varies is true if the value depends on matrix or self, which change from cell to cell.
	varies  bool
	done    bool
	value   cty.Value
	valueOK bool
}

func (e *evaluator) newScope() *scope {
	return &scope{eval: e, prepared: map[hcl.Expression]*prepared{}}
}

// with returns the scope with one more local name. Both scopes share prepared expressions.
func (s *scope) with(name string, v cty.Value) *scope {
	out := *s
	out.locals = maps.Clone(s.locals)
	if out.locals == nil {
		out.locals = map[string]cty.Value{}
	}
	out.locals[name] = v
	return &out
}

// value evaluates an expression. ok is false if a problem was reported, here or at the declaration of a name to
// which it refers. The value is then unknown.
func (s *scope) value(expr hcl.Expression) (v cty.Value, ok bool) {
	p := s.prepare(expr)
	if !p.ok {
		return cty.DynamicVal, false
	}
	if p.done && !p.varies {
		return p.value, p.valueOK
	}
	if s.eval.meter.Spent() {
		return cty.DynamicVal, false // reported when the meter ran out
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

// note returns the sentence that names the cell, for the end of a message.
func (s *scope) note() string {
	if s.cell == "" {
		return ""
	}
	return fmt.Sprintf(" This is so in the cell %s.", s.cell)
}

// noteFor returns the note if the value of the expression varies from cell to cell.
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
		case "each", "matrix", "self", "driver", "router":
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

// resolve evaluates the target of a traversal and adds it to names.
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

// checkLocal returns the problem of a wrong reference to each, matrix, self or driver.
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
	return problem(codeReference, t[:2].SourceRange(), fmt.Sprintf("unknown reference %s", diag.TraversalText(t[:2])),
		didYouMean(root+"."+name, names, "names below "+root))
}

// tree holds values by path. It is converted to nested objects.
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
