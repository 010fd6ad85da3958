package sglang

import (
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
	"github.com/servegate/pipeline/steps/serverblock"
)

// images are the names of the engine's own images.
var images = []string{"sglang"}

// Kind describes server "sglang" blocks.
func Kind() steps.Kind {
	return steps.Kind{
		Block: "server", Name: Name, Images: images, Program: []string{"python3", "-m", "sglang.launch_server"},
		Doc: "An SGLang server, started as `python3 -m sglang.launch_server --model-path MODEL` with args as its flags, or one that " +
			"already answers at url.",
		Schema:   serverblock.Schema(),
		Validate: validate,
	}
}

func validate(o steps.Object) []steps.Problem {
	found := serverblock.Check(o)
	found = append(found, argument.CheckModel(o, "SGLang")...)
	found = append(found, serverblock.NoKey(o, apiKeyRefused+".")...)
	version := argument.VersionOf(o, images)
	found = append(found, argument.CheckArgs(o, style(version))...)
	found = append(found, checkNodes(o, version)...)
	found = append(found, lists(version).CheckSense(o)...)
	return append(found, lists(version).Check(o, style(version))...)
}
