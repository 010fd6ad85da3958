// Package serverblock is the server block as all kinds of servers have it: its arguments, what is wrong with them beyond
// their types, and how its container and cache blocks are read. The kinds of engines add their own.
package serverblock

import (
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// Schema lists the arguments that every kind of server has. The meta arguments
// (extends, abstract, for_each, depends_on, role) belong to the language.
//
// Defaults of arguments with a unit are written in the converted unit: durations in
// nanoseconds.
func Schema() steps.Schema {
	return steps.Schema{
		Attrs: append(sourceAttrs(), settingAttrs()...),
		Blocks: []steps.BlockSchema{
			{Type: "ready", Max: 1, Schema: readySchema(), Doc: "When the server counts as ready, and how long that may take."},
			{Type: "container", Max: 1, Schema: containerSchema(), Doc: "How the container of a server with an image runs."},
			{Type: "cache", Schema: cacheSchema(), Doc: "What the server keeps from launch to launch, such as what it compiled. The first launch " +
				"of each side fills it or brings it up to date: its start-up time is compared with nothing, all else that it measures counts. " +
				"Simulated runs ignore it."},
			{Type: "simulate", Max: 1, Schema: simulateSchema(),
				Doc: "How the simulated server behaves. Used only with --simulate; a real launch ignores it."},
		},
	}
}

// sourceAttrs say where a server comes from and what it serves.
func sourceAttrs() []steps.Attr {
	return []steps.Attr{
		{Name: "image", Type: cty.String, Late: true, Doc: "Container image to run. Exactly one of image, executable and url is set."},
		{Name: "executable", Type: cty.DynamicPseudoType, Late: true,
			Doc: "Program to run: a string, or a list of strings with the words before the model. The program is looked up in PATH."},
		{Name: "url", Type: cty.String, Late: true,
			Doc: "Base address of a server that already answers, for example http://127.0.0.1:8000. It is neither started nor stopped."},
		{Name: "model", Type: cty.String, Late: true, Doc: "Model to serve: a name on the model hub or a folder."},
		{Name: "served_name", Type: cty.String, Late: true,
			Doc: "Name under which the model is served and requested; the model's own name unless set."},
		{Name: "version", Type: cty.String, Doc: "Version of the engine that args are written for, for example 0.11.0. It decides how flags " +
			"are written and which simulated flags exist; unset means a current one."},
	}
}

// settingAttrs say how it is run.
func settingAttrs() []steps.Attr {
	return []steps.Attr{
		{Name: "gpus", Type: cty.Number, Rule: steps.Whole(0, 1024),
			Doc: "Number of GPUs the server uses. It is recorded and compared; it sets no " +
				"flag by itself. A container gets that many unless its block says which. A run locks the GPUs of the machine that it uses: all of " +
				"them where only a number is given, those that container.gpus or CUDA_VISIBLE_DEVICES names otherwise."},
		{Name: "args", Type: cty.DynamicPseudoType, Late: true, Doc: "Engine arguments as a map; they pass through as flags. max_model_len = " +
			"8192 becomes --max-model-len 8192, true becomes --flag, a list becomes several values, an object becomes JSON, null is left out."},
		{Name: "env", Type: cty.Map(cty.String), Sensitive: true, Late: true, Doc: "Environment variables of the process. Secrets belong here."},
		{Name: "port", Type: cty.Number, Rule: steps.PortRule, Doc: "Port to listen on; a free one is chosen unless set."},
		{Name: "node", Type: cty.Number, Rule: steps.Whole(0, steps.MaxNodes-1),
			Doc: "Node that the server runs on, counted from 0: of the Slurm job, or of the hosts of the docker block; the first unless set."},
		{Name: "nodes", Type: cty.Number, Rule: steps.Whole(1, steps.MaxNodes),
			Doc: "Number of nodes that the server is spread over, from its node on: " +
				"one process on each, which start, serve and end together. gpus then counts all of them, so many on each node. vLLM does it by " +
				"--nnodes, or as a Ray cluster with distributed_executor_backend = \"ray\"; SGLang by --nnodes. Without a slurm or docker block all " +
				"processes run on this machine."},
		{Name: "dir", Type: cty.String, Doc: "Working directory of the process; the pipeline file's folder unless set."},
		{Name: "api_key", Type: cty.String, Sensitive: true, Late: true, Doc: "Key that is sent as a bearer token with every request."},
		{Name: "stop_grace", Type: cty.Number, Rule: steps.NotNegative, Unit: steps.UnitDuration, Default: durationVal(steps.DefaultStopGrace),
			Doc: "Time between the request to stop and the kill."},
	}
}

func readySchema() steps.Schema {
	return steps.Schema{Attrs: []steps.Attr{
		{Name: "path", Type: cty.String, Rule: steps.Matching("^/", "must begin with a slash", ""),
			Doc: "Path whose answer 200 means healthy; the engine's own health endpoint unless set."},
		{Name: "timeout", Type: cty.Number, Rule: steps.AboveZero, Unit: steps.UnitDuration,
			Doc: "Longest time from start to ready; beyond it the launch " +
				"has failed. 10 minutes unless set, and one minute for a server given by its url, whose absence ends the run."},
		{Name: "interval", Type: cty.Number, Rule: steps.AboveZero, Unit: steps.UnitDuration, Default: durationVal(steps.DefaultReadyInterval),
			Doc: "Longest pause between two looks at a server that starts. " +
				"Pauses begin at 50 ms and grow to a fiftieth of the time so far."},
	}}
}

func durationVal(d time.Duration) cty.Value { return cty.NumberIntVal(d.Nanoseconds()) }
