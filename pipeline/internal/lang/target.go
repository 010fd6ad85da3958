package lang

import "github.com/zclconf/go-cty/cty"

// targetType is the type of the value of a server or deployment. All have one type, so
// that lists and conditions can mix them.
func targetType() cty.Type {
	return cty.Object(map[string]cty.Type{
		"id": cty.String, "name": cty.String, "key": cty.String,
		"kind": cty.String, "model": cty.String, "url": cty.String,
	})
}

// targetValue is the value of one instance. The url of a server that is not started yet
// is unknown, and so is a model that waits for a step.
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

// idOf is the attribute id of an object, if that is a known string.
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
