package lang

import (
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/servegate/pipeline/steps/load"
	"github.com/zclconf/go-cty/cty"
)

// rootName is the name of a whole file as a block type.
const rootName = "file"

// rootType lists the blocks of a file, in the order of the documentation. formats, tests and arrivals are those
// that its reports, gates and loads can name.
func rootType(formats []string, tests gates.Tests, arrivals load.Arrivals) *blockType {
	return &blockType{name: rootName, nested: []*blockType{
		pipelineType(), variableType(), localsType(), stepType(), serverType(), deploymentType(),
		datasetType(), benchmarkType(arrivals), answersType(), measureType(), baselineType(), gateType(tests), reportType(formats),
	}}
}

// expr returns an argument that is not evaluated like others. doc describes its value.
func expr(name string, required bool, doc string) steps.Attr {
	return steps.Attr{Name: name, Type: cty.DynamicPseudoType, Required: required, Doc: doc}
}

func pipelineType() *blockType {
	return &blockType{
		name: "pipeline", max: 1,
		doc: "Settings of the whole file. At most one, in any of its files.",
		schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "description", Type: cty.String, Blank: true, Doc: "What the pipeline is for, the title of its reports."},
			{Name: "required_version", Type: cty.String, Doc: "Versions of the program that the file is for, such as \">= 0.1, < 2\"."},
			{Name: "alpha", Type: cty.Number, Unit: steps.UnitPercent, Default: cty.NumberFloatVal(defaultAlpha),
				Doc: "Chance of a false alarm in the whole file, one-sided: all gates that can fail share it."},
			{Name: "timeout", Type: cty.Number, Unit: steps.UnitDuration, Doc: "Longest time of a whole run; none unless set."},
			{Name: "resident", Type: cty.String, Enum: steps.Residents, Doc: "How the servers of a repeat stay loaded at the same time: each is " +
				"started once and measured in turns with the others, pass by pass and in mirrored order. Which is started first is drawn for each " +
				"repeat. Pairs are still those of launches, however many passes they have. Unset, one is stopped before the next starts."},
			{Name: "lock", Type: cty.String, Doc: "What runs lock to have something for themselves: a second run waits for the first. A name is a " +
				"lock of the machine, a path with a slash a file, meant from the pipeline file's folder. GPUs are locked without it."},
		}, Blocks: []steps.BlockSchema{
			{Type: "slurm", Max: 1, Schema: slurmSchema(), Doc: "A Slurm cluster on whose nodes the servers run: one job for the whole run, " +
				"with a step for each server. The router and the load generator run where the command runs, on a login node or inside an allocation, " +
				"which is then used, unless load_node gives them a node. --simulate ignores it."},
			{Type: "docker", Max: 1, Schema: dockerSchema(), Doc: "The Docker daemons that servers with an image run on, where there are " +
				"several: the argument node of servers places them. Without it all run at the daemon that DOCKER_HOST names. The router and the load " +
				"generator run where the command runs. --simulate ignores it, --simulate=container does not."},
			{Type: "kubernetes", Max: 1, Schema: kubernetesSchema(), Doc: "A namespace of a Kubernetes cluster in which the servers run, " +
				"each as a Pod on the node that its argument node numbers. The router and the load generator run where the command runs, outside of " +
				"the cluster or in a Pod, unless load_node gives them a node. --simulate ignores it."},
			{Type: "machines", Max: 1, Schema: machinesSchema(), Doc: "Spreads the repeats over the machines of the docker, slurm or " +
				"kubernetes block, each with all its sides on one of them, so that what a single machine does to a change shows. Each launch records " +
				"its machine. --simulate ignores it, --simulate=virtual models it, --simulate=container uses the hosts of the docker block."},
			{Type: "price", Max: 1, Schema: priceSchema(),
				Doc: "What machines cost. plan and reports state money beside GPU-hours then; it decides nothing."},
			{Type: "budget", Max: 1, Schema: budgetSchema(), Doc: "What a run may spend. The repeats are cut to those that it buys, before " +
				"the first launch; a repeat that would exceed it is not begun, and the run ends early where every gate has its verdict, or none is " +
				"likely to get one."},
			{Type: "bisect", Max: 1, Schema: bisectSchema(), Doc: "How the candidates of `pipeline bisect` become servers of this file: " +
				"which variables get them, and how commits are built. Other commands ignore it."},
			{Type: "profile", Max: 1, Schema: profileSchema(), Doc: "Profiles one more pair of launches where a gate has regressed, after " +
				"the verdict, and reports the operations whose time changed most. It is never a sample."},
			{Type: "variance", Max: 1, Schema: varianceSchema(), Doc: "The spread of pairs that a calibration of the same machine, model " +
				"and workload has found is used beside that of the pairs themselves, with bounded weight, in gates that judge pairs by t-test. " +
				"Sessions may then stop from 2 repeats on. --simulate ignores the calibration of real servers."},
		}},
	}
}

func variableType() *blockType {
	return &blockType{
		name: "variable", labels: []string{"name"},
		doc: "A value from outside: --var NAME=VALUE, --var-file FILE or the environment variable PIPELINE_VAR_NAME. Referred to as var.NAME.",
		schema: steps.Schema{
			Attrs: []steps.Attr{
				expr("type", false, "Type constraint: string, number, bool, list(string), map(number), object({ a = string, b = optional(number, 1) "+
					"}), any. Values are converted to it."),
				expr("default", false, "Constant that is used where no value is given. Without one the variable must be set."),
				{Name: "description", Type: cty.String, Blank: true, Doc: "What the variable is for."},
				{Name: "sensitive", Type: cty.Bool, Default: cty.False,
					Doc: "The value is a secret: it may reach env, headers and keys, and is never shown."},
				{Name: "nullable", Type: cty.Bool, Default: cty.True, Doc: "Whether null is a value. If false, null means the default."},
			},
			Blocks: []steps.BlockSchema{conditionBlock("validation", "A condition on the value that is checked when it is set.",
				"True for allowed values. It may refer to variables only.")},
		},
	}
}

// conditionBlock returns a block with a condition and a message for when it does not hold.
func conditionBlock(name, doc, condition string) steps.BlockSchema {
	return steps.BlockSchema{Type: name, Doc: doc, Schema: steps.Schema{Attrs: []steps.Attr{
		expr("condition", true, condition),
		expr("error_message", true, "Sentence that is shown where the condition does not hold."),
	}}}
}

func localsType() *blockType {
	return &blockType{
		name: "locals", free: "A named expression, referred to as local.NAME.",
		doc: "Named expressions. Several blocks and files add up.",
	}
}

// Kinds of report of the language itself. Those that publish are in the registry.
const (
	fileReport    = "file"
	summaryReport = "summary"
)

func reportType(formats []string) *blockType {
	return &blockType{
		name: "report", labels: []string{"kind", "name"}, byKind: true,
		doc: "Who reads the result.",
		schema: steps.Schema{Attrs: []steps.Attr{
			expr("gates", false, "List of the gates to report, such as [gate.latency]; all unless set."),
			{Name: "rows", Type: cty.List(cty.String), Doc: "Axes that make the rows of the tables."},
			{Name: "cols", Type: cty.String, Doc: "Axis that makes the columns."},
		}},
		kinds: []steps.Kind{
			{Name: fileReport, Doc: "Files.", Schema: steps.Schema{Attrs: []steps.Attr{
				{Name: "path", Type: cty.String, Doc: "File or folder below the working directory; the run's own folder unless set."},
				{Name: "formats", Type: cty.List(cty.String), Enum: enum.Of(formats...), Doc: "What is written; markdown unless set."},
			}}},
			{Name: summaryReport, Doc: "The summary of a CI job."},
		},
	}
}

// The meta arguments belong to the language; all others to the kind of block.
const (
	metaExtends   = "extends"
	metaAbstract  = "abstract"
	metaForEach   = "for_each"
	metaDependsOn = "depends_on"
	metaRole      = "role"
)

func forEachAttr() steps.Attr {
	return expr(metaForEach, false,
		"Map or set of strings: the block is there once for each element, with each.key and each.value, as NAME[\"key\"].")
}

func dependsOnAttr() steps.Attr {
	return expr(metaDependsOn, false,
		"List of steps that must have run before, such as [step.exec.weights]. Steps that are referred to need not be listed.")
}

func extendsAttr() steps.Attr {
	return expr(metaExtends, false, "Server of the same kind whose arguments are taken where this block has none. args and env are merged "+
		"by key; nested blocks are replaced whole.")
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
		doc: "A long-lived inference process, or an address that already answers. Referred to as server.KIND.NAME, which has id, name, key, " +
			"kind, model and url.",
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
					{Name: metaRole, Type: cty.String, Enum: enum.Values{{Name: steps.RoleProducer, Doc: "prefill"},
						{Name: steps.RoleConsumer, Doc: "decode"}, {Name: steps.RoleBoth}}, Doc: "Which end of the KV transfer the server is."},
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
