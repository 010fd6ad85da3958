package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// maxInstances limits the instances of one block. Each is a server to launch or a step to run.
const maxInstances = 1000

// instance is one of the blocks that for_each makes, or the only one without for_each.
type instance struct {
	addr  string
	key   string
	keyed bool
	each  cty.Value // { key, value }, with keyed
}

// instances holds the instances of a block. They are memoised, because a cycle through for_each must end.
type instances struct {
	list []instance
	ok   bool
}

// instances expands the for_each of a block.
func (e *evaluator) instances(b *block, addr string) ([]instance, bool) {
	if known, ok := e.instanced[b]; ok {
		return known.list, known.ok
	}
	e.instanced[b] = instances{} // while it is being expanded
	list, ok := e.expand(b, addr)
	e.instanced[b] = instances{list, ok}
	return list, ok
}

func (e *evaluator) expand(b *block, addr string) ([]instance, bool) {
	attr := b.attrs[metaForEach]
	if attr == nil {
		return []instance{{addr: addr}}, true
	}
	s := e.newScope()
	s.absent = map[string]string{"each": "for_each defines each, so for_each itself cannot use it."}
	v, ok := s.value(attr.Expr)
	if !ok {
		return nil, false
	}
	if d := e.checkForEach(attr.Expr, v); d != nil {
		e.report(d)
		return nil, false
	}
	var out []instance
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if v.Type().IsSetType() {
			key = value
		}
		out = append(out, instance{
			addr: fmt.Sprintf("%s[%q]", addr, key.AsString()), key: key.AsString(), keyed: true,
			each: cty.ObjectVal(map[string]cty.Value{"key": key, "value": value}),
		})
	}
	return out, true
}

// checkForEach returns the problem of a value of for_each, nil if it has none.
func (e *evaluator) checkForEach(expr hcl.Expression, v cty.Value) *hcl.Diagnostic {
	at := expr.Range()
	bare, marks := v.Unmark()
	ty := bare.Type()
	switch {
	case len(marks) > 0:
		return problem(codeSensitive, at, "secret in for_each",
			"The keys become part of addresses, which reports show. Make the map of names that are not secret.")
	case !e.knownEnough(v):
		return e.notYet(expr, "for_each", "the number of instances cannot be planned")
	case v.IsNull():
		return problem(codeType, at, "for_each is null", "Write an empty map {} for no instances.")
	case ty.IsTupleType() || ty.IsListType():
		return problem(codeType, at, "for_each is a list", "It takes a map or a set of strings. Write toset([...]) to use the elements as keys.")
	case ty.IsSetType() && ty.ElementType() != cty.String:
		return problem(codeType, at, "for_each is not a set of strings", "The elements of a set become keys, so they must be strings.")
	case !ty.IsSetType() && !ty.IsMapType() && !ty.IsObjectType():
		return problem(codeType, at, fmt.Sprintf("for_each is a %s", ty.FriendlyName()), "It takes a map or a set of strings.")
	case v.LengthInt() > maxInstances:
		return problem(codeValue, at, "for_each has too many elements", fmt.Sprintf("It has %d; at most %d are allowed.",
			v.LengthInt(), maxInstances))
	}
	if part, marked := markedPart(v); marked && ty.IsSetType() {
		return secretHere(at, metaForEach, part)
	}
	return nil
}

// scopeOf returns the scope of an instance's expressions.
func (e *evaluator) scopeOf(inst instance) *scope {
	s := e.newScope()
	if inst.keyed {
		s = s.with("each", inst.each)
	}
	return s
}

// each evaluates the instances of a block. It returns the value of the only one, or a map of values of type
// elem by key.
func (e *evaluator) each(ent *entity, elem cty.Type, evaluate func(instance) cty.Value) (cty.Value, bool) {
	list, ok := e.instances(ent.block, ent.addr)
	if !ok {
		return cty.DynamicVal, false
	}
	byKey := map[string]cty.Value{}
	for _, inst := range list {
		v := evaluate(inst)
		if !inst.keyed {
			return v, true
		}
		byKey[inst.key] = v
	}
	if len(byKey) == 0 {
		return cty.MapValEmpty(elem), true
	}
	return cty.MapVal(byKey), true
}

// targetType returns the type of the value of a server or deployment. All have one type, so that lists and
// conditions can mix them.
func targetType() cty.Type {
	return cty.Object(map[string]cty.Type{
		"id": cty.String, "name": cty.String, "key": cty.String,
		"kind": cty.String, "model": cty.String, "url": cty.String,
	})
}

// targetValue returns the value of one instance. The url of a server that has not started is unknown, and so is
// a model that waits for a step.
func targetValue(inst instance, name, kind, model, url string, modelLate bool) cty.Value {
	key, m, u := cty.NullVal(cty.String), cty.StringVal(model), cty.UnknownVal(cty.String)
	if inst.keyed {
		key = cty.StringVal(inst.key)
	}
	if modelLate {
		m = cty.UnknownVal(cty.String)
	}
	if url != "" {
		u = cty.StringVal(url)
	}
	return cty.ObjectVal(map[string]cty.Value{
		"id": cty.StringVal(inst.addr), "name": cty.StringVal(name), "key": key,
		"kind": cty.StringVal(kind), "model": m, "url": u,
	})
}

// refID returns the address that a value stands for, if it is the value of something in
// the file.
func (e *evaluator) refID(v cty.Value) (string, bool) {
	v, _ = v.Unmark()
	id, ok := idOf(v)
	return id, ok && e.isAddress(id)
}

// idOf returns the attribute id of an object, if it is a known string.
func idOf(v cty.Value) (string, bool) {
	if v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() || !v.Type().HasAttribute("id") {
		return "", false
	}
	id, _ := v.GetAttr("id").Unmark()
	if id.IsNull() || !id.IsKnown() || id.Type() != cty.String {
		return "", false
	}
	return id.AsString(), true
}

// isAddress reports whether text is the address of something that was evaluated.
func (e *evaluator) isAddress(text string) bool {
	if e.gates[text] || e.servers[text] != nil || e.deployments[text] != nil || e.steps[text] != nil {
		return true
	}
	return e.prog.entities[text] != nil
}
