package router

import (
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// Kinds returns the router blocks: a protocol between our router and the servers each, and the program of others.
func Kinds() []steps.Kind {
	kinds := make([]steps.Kind, 0, len(protocols))
	for _, p := range protocols {
		kinds = append(kinds, steps.Kind{
			Block: "router", Name: p.name, Doc: p.doc,
			Schema:   steps.Schema{Attrs: shared()},
			Validate: func(o steps.Object) []steps.Problem { return validate(p, o) },
		})
	}
	return append(kinds, program())
}

// shared returns the arguments of all routers.
func shared() []steps.Attr {
	return []steps.Attr{
		{Name: "prefill", Type: cty.DynamicPseudoType, Doc: "List of the servers that prefill, for example [self.server.prefill]."},
		{Name: "decode", Type: cty.DynamicPseudoType, Required: true,
			Doc: "List of the servers that decode, or of all servers where none only prefills."},
		{Name: "port", Type: cty.Number, Doc: "Port to listen on; a free one is chosen unless set."},
	}
}

func validate(p protocol, o steps.Object) []steps.Problem {
	var found []steps.Problem
	found = append(found, checkList(o, "prefill")...)
	found = append(found, checkList(o, "decode")...)
	switch {
	case p.pairs && !o.Has("prefill"):
		found = append(found, steps.Problem{
			Path: []string{"prefill"}, Summary: "prefill is missing",
			Detail: "The protocol " + p.name + " is between prefill and decode servers. Use round_robin for servers that do both.",
		})
	case !p.pairs && o.Has("prefill"):
		found = append(found, steps.Problem{
			Path: []string{"prefill"}, Summary: p.name + " has no prefill servers",
			Detail: "It hands each request to one whole server. List the servers in decode, or take the protocol of the servers' connector, for " +
				"example v0 or nixl.",
		})
	}
	if f := o.Float("port"); o.Known("port") && (f < 1 || f > 65535 || f != float64(o.Int("port"))) {
		found = append(found, steps.Problem{Path: []string{"port"}, Summary: "port must be a whole number from 1 to 65535"})
	}
	return found
}

// checkList requires a list with at least one server; the language checks the elements.
func checkList(o steps.Object, name string) []steps.Problem {
	if !o.Has(name) {
		return nil
	}
	v := o.Value(name)
	if !v.IsKnown() {
		return nil
	}
	t := v.Type()
	isList := t.IsTupleType() || t.IsListType() || t.IsSetType()
	if !isList || v.LengthInt() == 0 {
		return []steps.Problem{{
			Path: []string{name}, Summary: name + " must be a list of at least one server",
			Detail: "For example " + name + " = [self.server." + name + "].",
		}}
	}
	return nil
}
