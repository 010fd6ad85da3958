package vllm

import (
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
	"github.com/servegate/pipeline/steps/serverblock"
)

// images are the engine's images.
var images = []string{"vllm-openai*"}

// Kind describes server "vllm" blocks.
func Kind() steps.Kind {
	return steps.Kind{
		Block: "server", Name: Name, Images: images, Program: []string{"vllm"},
		Doc:      "A vLLM server, started as `vllm serve MODEL` with args as its flags, or one that already answers at url.",
		Schema:   serverblock.Schema(),
		Validate: validate,
	}
}

func validate(o steps.Object) []steps.Problem {
	found := serverblock.Check(o)
	found = append(found, argument.CheckModel(o, "vLLM")...)
	version := argument.VersionOf(o, images)
	found = append(found, argument.CheckArgs(o, style(version))...)
	found = append(found, checkNodes(o, version)...)
	found = append(found, lists(version).CheckSense(o)...)
	return append(found, lists(version).Check(o, style(version))...)
}
