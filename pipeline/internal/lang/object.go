package lang

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// layer is a block with the scope of its expressions. A block that extends another is
// evaluated as several layers, its furthest ancestor first.
type layer struct {
	block *block
	scope *scope
}

// object is an evaluated block, with its layers to locate problems.
type object struct {
	steps.Object
	layers []layer
	ok     bool // no problem was reported
	late   bool // an argument waits for the run
}

// evaluate evaluates the arguments and nested blocks of schema. An abstract block may lack required ones.
func (e *evaluator) evaluate(layers []layer, schema steps.Schema, abstract bool) object {
	own := layers[len(layers)-1].block
	o := object{layers: layers, ok: true, Object: steps.Object{
		Labels: own.labels, Attrs: map[string]cty.Value{}, Blocks: map[string][]steps.Object{},
	}}
	for _, a := range schema.Attrs {
		v, ok := e.argument(layers, a)
		if v.IsNull() && ok {
			v, ok = e.unset(own, a, abstract)
		}
		o.ok = o.ok && ok
		o.late = o.late || ok && !e.knownEnough(v)
		o.Attrs[a.Name] = v
	}
	for _, b := range schema.Blocks {
		e.nestedObjects(&o, b, abstract)
	}
	return o
}

// unset returns the value of an argument that the file does not set.
func (e *evaluator) unset(own *block, a steps.Attr, abstract bool) (cty.Value, bool) {
	if a.Required && !abstract {
		if own.hasUnknown {
			return cty.UnknownVal(a.Type), false // what is unknown may be its misspelling
		}
		e.report(problem(codeMissing, own.header, fmt.Sprintf("%s is missing", a.Name),
			fmt.Sprintf("%s needs the argument %s. %s", own.typ.name, a.Name, a.Doc)))
		return cty.UnknownVal(a.Type), false
	}
	if a.Default != cty.NilVal {
		return a.Default, true
	}
	return cty.NullVal(a.Type), true
}

// argument evaluates an argument over layers. The last layer that sets it wins. The maps args and env are
// merged.
func (e *evaluator) argument(layers []layer, a steps.Attr) (cty.Value, bool) {
	out, ok := cty.NullVal(a.Type), true
	for _, l := range layers {
		src := l.block.attrs[a.Name]
		if src == nil {
			continue
		}
		v, good := l.scope.attribute(src, a)
		ok = ok && good
		if a.Name == "args" || a.Name == "env" { // a child adds to them
			v = mergeMaps(out, v)
		}
		out = v
	}
	return out, ok
}

// mergeMaps merges two maps or objects by key. Keys of the second win. If one of them is not a map, mergeMaps
// returns the second.
func mergeMaps(base, over cty.Value) cty.Value {
	b, baseMarks := base.Unmark()
	o, overMarks := over.Unmark()
	if !isMap(b) || !isMap(o) {
		return over
	}
	merged := b.AsValueMap()
	if merged == nil {
		merged = map[string]cty.Value{}
	}
	maps.Copy(merged, o.AsValueMap())
	out := cty.ObjectVal(merged)
	if b.Type().IsMapType() && o.Type().Equals(b.Type()) && len(merged) > 0 {
		out = cty.MapVal(merged)
	}
	return out.WithMarks(baseMarks, overMarks)
}

func isMap(v cty.Value) bool {
	return v.IsKnown() && !v.IsNull() && (v.Type().IsMapType() || v.Type().IsObjectType())
}

// isList reports whether v is a known list or tuple without a mark of its own.
func isList(v cty.Value) bool {
	return !v.IsMarked() && v.IsKnown() && !v.IsNull() && (v.Type().IsListType() || v.Type().IsTupleType())
}

// nestedObjects evaluates the nested blocks of a type, from the last layer that has any.
func (e *evaluator) nestedObjects(o *object, t steps.BlockSchema, abstract bool) {
	for _, l := range slices.Backward(o.layers) {
		blocks := l.block.nested(t.Type)
		if len(blocks) == 0 {
			continue
		}
		for _, b := range blocks {
			inner := e.evaluate([]layer{{b, l.scope}}, t.Schema, abstract)
			o.ok, o.late = o.ok && inner.ok, o.late || inner.late
			o.Blocks[t.Type] = append(o.Blocks[t.Type], inner.Object)
		}
		break
	}
	if n := len(o.Blocks[t.Type]); n < t.Min && !abstract {
		o.ok = false
		if own := o.layers[len(o.layers)-1].block; !own.hasUnknown {
			title := fmt.Sprintf("%s has no %s block", own.typ.name, t.Type)
			if n > 0 {
				title = fmt.Sprintf("%s needs %d %s blocks and has %d", own.typ.name, t.Min, t.Type, n)
			}
			e.report(problem(codeMissing, own.header, title, fmt.Sprintf("Add %s to it.", usage(fromSchema(t)))))
		}
	}
}

// expressions returns all expressions from which an object was evaluated.
func (o object) expressions() []hcl.Expression {
	var out []hcl.Expression
	for _, l := range o.layers {
		out = append(out, expressionsOf(l.block)...)
	}
	return out
}

func expressionsOf(b *block) []hcl.Expression {
	var out []hcl.Expression
	for _, a := range b.sorted() {
		if a.Name != metaExtends {
			out = append(out, a.Expr)
		}
	}
	for _, c := range b.blocks {
		out = append(out, expressionsOf(c)...)
	}
	return out
}

// check runs the check of the object's kind and reports what it finds.
func (e *evaluator) check(o *object, kind steps.Kind, skip func(steps.Problem) bool) {
	if kind.Validate == nil {
		return
	}
	for _, p := range kind.Validate(o.Object) {
		if skip != nil && skip(p) {
			continue
		}
		d := problem(codeCheck, o.atBlock(p.Block, p.Path...), p.Summary, p.Detail)
		if p.Warning {
			d.Severity = hcl.DiagWarning
		} else {
			o.ok = false
		}
		e.report(d)
	}
}

// at returns the range to which a path of a steps.Problem leads: nested blocks, then an argument, then a key.
// It follows the path as far as the file does.
func (o object) at(path ...string) hcl.Range { return o.atBlock(0, path...) }

// atBlock is like at, but takes the n-th block if several have a name of the path.
func (o object) atBlock(n int, path ...string) hcl.Range {
	own := o.layers[len(o.layers)-1].block
	if len(path) == 0 {
		return own.header
	}
	for _, l := range slices.Backward(o.layers) {
		if r, ok := within(l.block, n, path); ok {
			return r
		}
	}
	return own.header
}

func within(b *block, n int, path []string) (hcl.Range, bool) {
	if a := b.attrs[path[0]]; a != nil {
		if len(path) > 1 {
			return keyRangeOf(a.Expr, path[1]), true
		}
		return a.Expr.Range(), true
	}
	if inner := b.nth(path[0], n); inner != nil {
		if len(path) > 1 {
			if r, ok := within(inner, n, path[1:]); ok {
				return r, true
			}
		}
		return inner.header, true
	}
	return hcl.Range{}, false
}

// keyRangeOf returns the range of a key in an object expression, or else of the expression.
func keyRangeOf(expr hcl.Expression, key string) hcl.Range {
	found := expr.Range()
	if x, ok := expr.(hclsyntax.Expression); ok && key != "" {
		visitKeys(x, func(name string, at hcl.Range) {
			if name == key {
				found = at
			}
		})
	}
	return found
}

// visitKeys visits the literal keys of an object expression in source order, through
// parentheses and the arguments of functions such as merge.
func visitKeys(expr hclsyntax.Expression, visit func(name string, at hcl.Range)) {
	switch x := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		visitKeys(x.Expression, visit)
	case *hclsyntax.FunctionCallExpr:
		for _, arg := range x.Args {
			visitKeys(arg, visit)
		}
	case *hclsyntax.ObjectConsExpr:
		for _, item := range x.Items {
			key, diags := item.KeyExpr.Value(nil)
			if !diags.HasErrors() && key.Type() == cty.String && key.IsKnown() && !key.IsNull() {
				visit(key.AsString(), hcl.RangeBetween(item.KeyExpr.Range(), item.ValueExpr.Range()))
			}
		}
	}
}
