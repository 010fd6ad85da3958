package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
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
	v := e.newScope().meta(b, metaAbstract)
	return !v.IsNull() && v.True()
}

// serverInstance evaluates one server, stores it under its address and returns its value.
func (e *evaluator) serverInstance(inst instance, b *block, layers []layer, abstract bool) cty.Value {
	o := e.evaluate(layers, b.kind.Schema, abstract)
	srv := &config.Server{Addr: inst.addr, Kind: b.kind, Range: b.header, Late: o.late}
	srv.DependsOn = e.dependencies(o)
	e.servers[inst.addr] = srv
	e.abstract[inst.addr] = abstract
	if !abstract {
		sourceOK := e.checkSource(o)
		e.check(&o, b.kind, func(p steps.Problem) bool { return !sourceOK && aboutSource(p) })
	}
	srv.Spec = e.spec(inst.addr, b.kind, o)
	if !abstract {
		e.checkPod(o, srv.Spec)
	}
	model, modelKnown := o.Attrs["model"], o.Known("model") || !o.Has("model")
	text := ""
	if model != cty.NilVal {
		text = o.Text("model")
	}
	return targetValue(inst, b.label(), b.kind.Name, text, o.Text("url"), !modelKnown)
}

// sourceNames returns the arguments that define where a server comes from.
func sourceNames() []string { return []string{"image", "executable", "url", "up"} }

// checkSource reports a server without a source, or with several.
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
		return false // what is unknown may be its misspelling
	case len(set) == 0:
		e.report(problem(codeMissing, o.at(), "server has no image, executable or url",
			"Exactly one of them says where the server comes from: a container image, a program on this machine, or the address of a server that "+
				"already runs."))
	default:
		e.report(problem(codeValue, o.at(set[1]), fmt.Sprintf("server has both %s", humanize.List(set)),
			"A server comes from exactly one of image, executable and url. Where this block extends another, set the parent's to null."))
	}
	return false
}

// aboutSource reports whether checkSource has already reported a problem.
func aboutSource(p steps.Problem) bool {
	if len(p.Path) == 0 {
		return true
	}
	return slices.Contains(sourceNames(), p.Path[0])
}

// dependencies lists the steps that an object waits for: those to which it refers, in depends_on or elsewhere.
func (e *evaluator) dependencies(o object) []string {
	for _, l := range o.layers {
		if src := l.block.attrs[metaDependsOn]; src != nil {
			e.checkDependsOn(src.Expr)
		}
	}
	return e.stepsOf(o.expressions())
}

// checkDependsOn reports elements of depends_on that are not steps.
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

// maxAncestors limits the ancestors of a server. More are not readable, and each is evaluated for each child.
const maxAncestors = 20

// ancestors returns a server block after those that it extends, the furthest first. addr is the address of the
// block itself.
func (e *evaluator) ancestors(addr string, b *block) ([]*entity, bool) {
	chain := []*entity{{addr: addr, block: b}}
	for {
		last := chain[len(chain)-1]
		attr := last.block.attrs[metaExtends]
		if attr == nil {
			slices.Reverse(chain)
			return chain, true
		}
		parent, d := e.parent(last, attr.Expr)
		if d != nil {
			e.report(d)
			return nil, false
		}
		if i := slices.IndexFunc(chain, func(c *entity) bool { return c.addr == parent.addr }); i >= 0 {
			e.extendsCycle(chain[i:])
			return nil, false
		}
		if len(chain) > maxAncestors {
			e.report(problem(codeValue, attr.Expr.Range(), "extends goes too deep", fmt.Sprintf("A server has at most %d ancestors.", maxAncestors)))
			return nil, false
		}
		if parent.block.hasErrors {
			return nil, false
		}
		chain = append(chain, parent)
	}
}

// parent returns the block that extends names.
func (e *evaluator) parent(child *entity, expr hcl.Expression) (*entity, *hcl.Diagnostic) {
	at := expr.Range()
	t, diags := hcl.AbsTraversalForExpr(expr)
	if diags.HasErrors() {
		return nil, problem(codeReference, at, "extends must name a server",
			"Write the reference itself, such as server.vllm.base. A block has one parent.")
	}
	r, d := parseReference(t)
	if d == nil {
		d = e.prog.find(r)
	}
	if d != nil {
		return nil, d
	}
	if r.root != "server" || len(r.rest) > 0 {
		return nil, problem(codeReference, at, "extends must name a server", fmt.Sprintf("%s is not a server block.", diag.TraversalText(t)))
	}
	parent := e.prog.entities[r.addr]
	switch {
	case parent.block.kind.Name != child.block.kind.Name && !parent.block.hasErrors:
		return nil, problem(codeReference, at, "extends must name a server of the same kind",
			fmt.Sprintf("%s is of kind %q, this block of kind %q. Their arguments mean different things.", r.addr, parent.block.kind.Name,
				child.block.kind.Name))
	case parent.block.has(metaForEach):
		return nil, problem(codeReference, at, fmt.Sprintf("%s has for_each", r.addr),
			"A parent is one block. Extend a block without for_each, and put for_each into this one.")
	}
	return parent, nil
}

// extendsCycle reports a cycle of parents. The path begins with the first block by name, so that one cycle is
// reported once.
func (e *evaluator) extendsCycle(cycle []*entity) {
	first := 0
	for i, c := range cycle {
		if c.addr < cycle[first].addr {
			first = i
		}
	}
	cycle = slices.Concat(cycle[first:], cycle[:first])
	var names, lines []string
	for i, c := range cycle {
		names = append(names, c.addr)
		lines = append(lines, fmt.Sprintf("  %s extends %s at %s", c.addr, cycle[(i+1)%len(cycle)].addr, place(c.block.at(metaExtends))))
	}
	names = append(names, cycle[0].addr)
	e.report(problem(codeCycle, cycle[0].block.at(metaExtends), "extends forms a cycle: "+strings.Join(names, " → "),
		strings.Join(lines, "\n")+"\nBreak it at one of these places."))
}

// layersOf pairs a block and its ancestors with their scopes. Expressions of an ancestor have their own scope,
// in which the name each does not exist.
func (e *evaluator) layersOf(chain []*entity, own *scope) []layer {
	layers := make([]layer, len(chain))
	for i, c := range chain {
		s := e.newScope()
		if i == len(chain)-1 {
			s = own
		}
		layers[i] = layer{c.block, s}
	}
	return layers
}
