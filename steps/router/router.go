// Package router describes the routers that stand before the prefill and decode servers
// of a deployment:
//
//	router "round_robin" {
//	  prefill = [self.server.prefill]
//	  decode  = [self.server.decode]
//	}
//
// The blocks are parsed and checked. Nothing runs them yet: each kind says so in its
// Unsupported sentence.
package router

import (
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// unsupported is why no router runs yet.
const unsupported = "deployments of several servers come with the docker launcher; benchmark a single server"

// Kinds describes the router blocks: each is a protocol between router and servers.
func Kinds() []steps.Kind {
	return []steps.Kind{
		kind("round_robin", "Hands each request to the next server in turn; with prefill and decode servers the request goes to both, as the engines' oldest proxies do."),
		kind("nixl", "The two-phase protocol of NIXL and LMCache: one token on the prefill server, then the rest on the decode server with its transfer parameters."),
		kind("mooncake", "Mooncake's protocol: prefill and decode are sent at once and find each other by a transfer id."),
		kind("p2p_nccl", "The protocol of P2pNcclConnector: the addresses of both servers travel in the request id."),
		kind("sglang", "SGLang's protocol: prefill and decode are sent at once with the address of the bootstrap server and a room number."),
	}
}

func kind(name, doc string) steps.Kind {
	return steps.Kind{
		Block: "router", Name: name, Doc: doc, Unsupported: unsupported,
		Schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "prefill", Type: cty.DynamicPseudoType, Doc: "List of the servers that prefill, for example [self.server.prefill]."},
			{Name: "decode", Type: cty.DynamicPseudoType, Required: true, Doc: "List of the servers that decode, or of all servers where none only prefills."},
			{Name: "port", Type: cty.Number, Doc: "Port to listen on; a free one is chosen unless set."},
		}},
		Validate: func(o steps.Object) []steps.Problem { return validate(name, o) },
	}
}

func validate(name string, o steps.Object) []steps.Problem {
	var found []steps.Problem
	found = append(found, checkList(o, "prefill")...)
	found = append(found, checkList(o, "decode")...)
	if name != "round_robin" && !o.Has("prefill") {
		found = append(found, steps.Problem{
			Path: []string{"prefill"}, Summary: "prefill is missing",
			Detail: "The protocol " + name + " is between prefill and decode servers. Use round_robin for servers that do both.",
		})
	}
	if f := o.Float("port"); o.Known("port") && (f < 1 || f > 65535 || f != float64(o.Int("port"))) {
		found = append(found, steps.Problem{Path: []string{"port"}, Summary: "port must be a whole number from 1 to 65535"})
	}
	return found
}

// checkList wants a list with at least one server; what the servers are is the
// language's to check.
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
