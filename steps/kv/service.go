package kv

import (
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/serverblock"
	"github.com/zclconf/go-cty/cty"
)

// Services describes the service blocks: the processes that transfers need beside the servers.
func Services() []steps.Kind {
	return []steps.Kind{
		serviceBlock("etcd", "An etcd server that holds the metadata of old Mooncake connectors."),
		serviceBlock("mooncake_master", "Mooncake's master process, which a Mooncake store needs.",
			steps.Attr{Name: "metrics_port", Type: cty.Number, Rule: steps.PortRule, Doc: "Port of its metrics; a free one unless set."}),
		serviceBlock("metadata", "Mooncake's HTTP metadata server, instead of etcd."),
	}
}

func serviceBlock(name, doc string, more ...steps.Attr) steps.Kind {
	attrs := []steps.Attr{
		{Name: "image", Type: cty.String, Late: true, Doc: "Container image to run."},
		{Name: "executable", Type: cty.DynamicPseudoType, Late: true, Doc: "Program to run instead of an image: a string or a list of strings."},
		{Name: "args", Type: cty.DynamicPseudoType, Late: true, Doc: "Further arguments of the service as a map, written as its flags."},
		{Name: "env", Type: cty.Map(cty.String), Sensitive: true, Late: true, Doc: "Environment variables of the service. Secrets belong here."},
		{Name: "port", Type: cty.Number, Rule: steps.PortRule, Doc: "Port to listen on; a free one is chosen unless set."},
	}
	schema := steps.Schema{Attrs: append(attrs, more...)}
	return steps.Kind{
		Block: "service", Name: name, Doc: doc, Schema: schema,
		Validate: func(o steps.Object) []steps.Problem { return append(schema.Check(o), validateService(o)...) },
	}
}

func validateService(o steps.Object) []steps.Problem {
	var found []steps.Problem
	if o.Has("image") && o.Has("executable") {
		found = append(found, steps.Problem{
			Path: []string{"executable"}, Summary: "image and executable exclude each other",
			Detail: "A service comes from one of them, or from the kind's own image if neither is set.",
		})
	}
	if o.Known("image") {
		found = append(found, serverblock.CheckTag(o.Text("image"), "image")...)
	}
	return found
}
