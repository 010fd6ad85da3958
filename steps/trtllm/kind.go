package trtllm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
	"github.com/servegate/pipeline/steps/engine/flags"
	"github.com/servegate/pipeline/steps/serverblock"
	"github.com/zclconf/go-cty/cty"
)

// images are the last words of the names of the engine's own images, which are nvcr.io/nvidia/tensorrt-llm/release and copies.
var images = []string{"release", "tensorrt-llm", "tensorrt_llm"}

// Kind describes server "trtllm" blocks.
func Kind() steps.Kind {
	return steps.Kind{
		Block: "server", Name: Name, Images: images, Program: []string{"trtllm-serve"},
		Doc: "A server of TensorRT-LLM, started as `trtllm-serve serve MODEL` with args as its flags, or one that already answers at url. " +
			"args.config is the content of its file of options (extra_llm_api_options before 1.2), which is written for each launch and " +
			"compared between the sides like flags. Written from the sources of 0.21 to 1.2; not yet run on a GPU.",
		Schema:   serverblock.Schema(),
		Validate: validate,
	}
}

func validate(o steps.Object) []steps.Problem {
	found := serverblock.Check(o)
	found = append(found, argument.CheckModel(o, "trtllm-serve")...)
	found = append(found, serverblock.NoKey(o,
		"trtllm-serve does not check keys. Leave api_key out; the server listens on the local address only.")...)
	found = append(found, serverblock.OneNode(o, "trtllm-serve runs on one node",
		"Over several nodes it needs MPI and trtllm-llmapi-launch: start it by the commands of a server \"stack\".")...)
	version := argument.VersionOf(o, images)
	found = append(found, argument.CheckArgs(o, style(version))...)
	found = append(found, lists(version).CheckSense(o)...)
	found = append(found, lists(version).Check(o, style(version))...)
	return append(found, checkTwice(o, version)...)
}

// checkTwice finds settings that are both a flag and in the file of options, where the file's counts.
func checkTwice(o steps.Object, version string) []steps.Problem {
	known := lists(version)
	options, content := "", cty.NilVal
	for name, v := range argument.Args(o) {
		if def, _ := known.Lookup(name); def.Kind == flags.Options {
			options, content = name, v
		}
	}
	if options == "" || content.IsNull() || !content.IsKnown() || !content.CanIterateElements() {
		return nil
	}
	var found []steps.Problem
	for name := range argument.Args(o) {
		def, _ := known.Lookup(name)
		for key := range content.AsValueMap() {
			if name != options && slices.Contains(settingsOf(def), key) {
				found = append(found, steps.Problem{
					Path: []string{"args", name}, Summary: fmt.Sprintf("args.%s and args.%s.%s are the same setting", name, options, key),
					Detail: "trtllm-serve takes the one in its file of options. Remove the other.",
				})
			}
		}
	}
	return found
}

// inFile has the names of settings whose flags are called otherwise.
var inFile = map[string]string{"tp_size": "tensor_parallel_size", "pp_size": "pipeline_parallel_size",
	"ep_size": "moe_expert_parallel_size", "cluster_size": "moe_cluster_parallel_size"}

// settingsOf returns the names that a flag may have in the file of options.
func settingsOf(def flags.Def) []string {
	var out []string
	for _, flag := range def.Names {
		name := strings.ReplaceAll(strings.TrimLeft(flag, "-"), "-", "_")
		out = append(out, name)
		if other := inFile[name]; other != "" {
			out = append(out, other)
		}
	}
	return out
}
