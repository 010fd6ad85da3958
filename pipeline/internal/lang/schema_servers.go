package lang

import (
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// The meta arguments belong to the language; all others to the kind of block.
const (
	metaExtends   = "extends"
	metaAbstract  = "abstract"
	metaForEach   = "for_each"
	metaDependsOn = "depends_on"
	metaRole      = "role"
)

func forEachAttr() steps.Attr {
	return expr(metaForEach, false, "Map or set of strings: the block is there once for each element, with each.key and each.value, as NAME[\"key\"].")
}

func dependsOnAttr() steps.Attr {
	return expr(metaDependsOn, false, "List of steps that must have run before, such as [step.exec.weights]. Steps that are referred to need not be listed.")
}

func extendsAttr() steps.Attr {
	return expr(metaExtends, false, "Server of the same kind whose arguments are taken where this block has none. args and env are merged by key; nested blocks are replaced whole.")
}

func stepType() *blockType {
	return &blockType{
		name: "step", labels: []string{"kind", "name"}, byKind: true,
		doc:    "A one-shot action before the first launch. Referred to as step.KIND.NAME, its results as step.KIND.NAME.outputs.OUTPUT.",
		schema: steps.Schema{Attrs: []steps.Attr{forEachAttr(), dependsOnAttr()}},
	}
}

func serverType() *blockType {
	return &blockType{
		name: "server", labels: []string{"kind", "name"}, byKind: true,
		doc: "A long-lived inference process, or an address that already answers. Referred to as server.KIND.NAME, which has id, name, key, kind, model and url.",
		schema: steps.Schema{Attrs: []steps.Attr{
			extendsAttr(),
			{Name: metaAbstract, Type: cty.Bool, Default: cty.False, Doc: "The block is a template: it can be extended and is never launched."},
			forEachAttr(), dependsOnAttr(),
		}},
	}
}

func deploymentType() *blockType {
	part := func(name, doc string, most int) *blockType {
		return &blockType{name: name, labels: []string{"kind", "name"}, optional: 1, byKind: true, doc: doc, max: most}
	}
	return &blockType{
		name: "deployment", labels: []string{"name"},
		doc:    "Several servers, services and a router that serve as one target. Referred to as deployment.NAME.",
		schema: steps.Schema{Attrs: []steps.Attr{forEachAttr(), dependsOnAttr()}},
		nested: []*blockType{
			{
				name: "server", labels: []string{"kind", "name"}, byKind: true, min: 1,
				doc: "One server of the deployment. Within it the servers are self.server.NAME.",
				schema: steps.Schema{Attrs: []steps.Attr{
					extendsAttr(),
					{Name: metaRole, Type: cty.String, Enum: enum.Values{{Name: steps.RoleProducer, Doc: "prefill"}, {Name: steps.RoleConsumer, Doc: "decode"}, {Name: steps.RoleBoth}}, Doc: "Which end of the KV transfer the server is."},
				}},
			},
			part("service", "A process that the transfer needs beside the servers.", 0),
			part("kv_transfer", "How KV caches move between the servers.", 1),
			part("router", "What stands before the servers and takes the requests.", 1),
		},
	}
}

func datasetType() *blockType {
	return &blockType{
		name: "dataset", labels: []string{"kind", "name"}, byKind: true,
		doc: "Where prompts and lengths come from. Referred to as dataset.KIND.NAME.",
	}
}
