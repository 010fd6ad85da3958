package lang

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
)

// server evaluates a server block with all its instances.
func (e *evaluator) server(ent *entity) (cty.Value, bool) {
	chain, ok := e.ancestors(ent.addr, ent.block)
	if !ok {
		return cty.DynamicVal, false
	}
	abstract := e.isAbstract(ent.block)
	return e.each(ent, targetType(), func(inst instance) cty.Value {
		return e.serverInstance(inst, ent.block, e.layersOf(chain, e.scopeOf(inst)), abstract)
	})
}

// isAbstract evaluates the argument abstract, which must be known now.
func (e *evaluator) isAbstract(b *block) bool {
	src := b.attrs[metaAbstract]
	if src == nil {
		return false
	}
	a, _ := serverType().attr(metaAbstract)
	v, ok := e.newScope().attribute(src, a)
	return ok && v.IsKnown() && !v.IsNull() && v.True()
}

// serverInstance evaluates one server, files it under its address and returns its value.
func (e *evaluator) serverInstance(inst instance, b *block, layers []layer, abstract bool) cty.Value {
	o := e.evaluate(layers, b.kind.Schema, abstract)
	srv := &Server{Addr: inst.addr, Kind: b.kind, Range: b.header, Late: o.late}
	srv.DependsOn = e.dependencies(o)
	e.servers[inst.addr] = srv
	e.abstract[inst.addr] = abstract
	if !abstract {
		sourceOK := e.checkSource(o)
		e.check(&o, b.kind, func(p steps.Problem) bool { return !sourceOK && aboutSource(p) })
	}
	srv.Spec = e.spec(inst.addr, b.kind, o)
	model, modelKnown := o.Attrs["model"], o.Known("model") || !o.Has("model")
	text := ""
	if model != cty.NilVal {
		text = o.Text("model")
	}
	return targetValue(inst, b.label(), b.kind.Name, text, o.Text("url"), !modelKnown)
}

// sourceNames are the arguments that say where a server comes from.
func sourceNames() []string { return []string{"image", "executable", "url"} }

// checkSource reports a server that comes from nowhere, or from two places.
func (e *evaluator) checkSource(o object) bool {
	var set []string
	for _, name := range sourceNames() {
		if o.Has(name) {
			set = append(set, name)
		}
	}
	switch {
	case !o.ok || len(set) == 1:
		return true
	case len(set) == 0 && o.layers[len(o.layers)-1].block.hasUnknown:
		return false // it may be what is misspelt
	case len(set) == 0:
		e.report(problem(codeMissing, o.at(), "server has no image, executable or url",
			"Exactly one of them says where the server comes from: a container image, a program on this machine, or the address of a server that already runs."))
	default:
		e.report(problem(codeValue, o.at(set[1]), fmt.Sprintf("server has both %s", humanize.List(set)),
			"A server comes from exactly one of image, executable and url. Where this block extends another, set the parent's to null."))
	}
	return false
}

// aboutSource finds problems that checkSource has told already.
func aboutSource(p steps.Problem) bool {
	if len(p.Path) == 0 {
		return true
	}
	return slices.Contains(sourceNames(), p.Path[0])
}

// dependencies lists the steps that an object waits for: those it refers to, and those
// that depends_on names.
func (e *evaluator) dependencies(o object) []string {
	for _, l := range o.layers {
		if src := l.block.attrs[metaDependsOn]; src != nil {
			e.checkDependsOn(src.Expr)
		}
	}
	return e.stepsOf(o.expressions())
}

// checkDependsOn reports elements of depends_on that are no steps.
func (e *evaluator) checkDependsOn(expr hcl.Expression) {
	elements, diags := hcl.ExprList(expr)
	if diags.HasErrors() {
		e.report(problem(codeType, expr.Range(), "depends_on must be a list of steps", "Write depends_on = [step.exec.weights]."))
		return
	}
	for _, elem := range elements {
		t, diags := hcl.AbsTraversalForExpr(elem)
		if diags.HasErrors() || t.RootName() != "step" {
			e.report(problem(codeReference, elem.Range(), "depends_on must name steps",
				"Only steps run before something else. Write a reference such as step.exec.weights."))
			continue
		}
		r, d := parseReference(t)
		if d == nil {
			d = e.prog.find(r)
		}
		if d != nil {
			e.report(d)
			continue
		}
		e.refer(r)
	}
}
