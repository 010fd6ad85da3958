package lang

import (
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/zclconf/go-cty/cty"
)

// step evaluates a step block with all its instances.
func (e *evaluator) step(ent *entity) (cty.Value, bool) {
	return e.each(ent, cty.DynamicPseudoType, func(inst instance) cty.Value { return e.stepInstance(inst, ent.block) })
}

// stepInstance evaluates one step, stores it under its address and returns its value.
func (e *evaluator) stepInstance(inst instance, b *block) cty.Value {
	o := e.evaluate([]layer{{b, e.scopeOf(inst)}}, b.kind.Schema, false)
	e.check(&o, b.kind, nil)
	s := &config.Step{Addr: inst.addr, Kind: b.kind, Object: o.Object, Range: b.header, Late: o.late}
	e.steps[inst.addr] = s
	s.DependsOn = slices.DeleteFunc(e.dependencies(o), func(addr string) bool { return addr == inst.addr })
	return cty.ObjectVal(map[string]cty.Value{
		"id":      cty.StringVal(inst.addr),
		"name":    cty.StringVal(b.label()),
		"outputs": e.outputsOf(inst.addr, o),
	})
}

// outputsOf returns the value of a step's outputs: strings that are known once the step has run. The argument
// outputs names them, as a list or as the keys of a map. A step of a kind without that argument has none.
func (e *evaluator) outputsOf(addr string, o object) cty.Value {
	values := map[string]cty.Value{}
	for _, name := range outputNames(o) {
		values[name] = cty.UnknownVal(cty.String).RefineNotNull()
		if text, ok := e.outputs[addr][name]; ok {
			values[name] = cty.StringVal(text)
		}
	}
	if len(values) == 0 {
		return cty.MapValEmpty(cty.String)
	}
	return cty.MapVal(values)
}

func outputNames(o object) []string {
	v := o.Value("outputs")
	if v == cty.NilVal || v.IsNull() || !v.IsWhollyKnown() || !v.CanIterateElements() {
		return nil
	}
	var names []string
	for it := v.ElementIterator(); it.Next(); {
		k, elem := it.Element()
		if !isMap(v) {
			k = elem
		}
		if k.Type() == cty.String && !k.IsNull() {
			names = append(names, k.AsString())
		}
	}
	return names
}

// inOrder sorts steps so that each comes after those on which it depends, otherwise in source order. Cycles
// have been reported before.
func inOrder(list []*config.Step) []*config.Step {
	byAddr := map[string]*config.Step{}
	for _, s := range list {
		byAddr[s.Addr] = s
	}
	var out []*config.Step
	seen := map[string]bool{}
	var visit func(*config.Step)
	visit = func(s *config.Step) {
		if s == nil || seen[s.Addr] {
			return
		}
		seen[s.Addr] = true
		for _, dep := range s.DependsOn {
			visit(byAddr[dep])
		}
		out = append(out, s)
	}
	for _, s := range list {
		visit(s)
	}
	return out
}
