package llamacpp

import (
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
	"github.com/servegate/pipeline/steps/serverblock"
)

// images are the names of the project's images. Their tags are not only versions: server, server-cuda-b10434.
var images = []string{"llama.cpp"}

// Kind describes server "llamacpp" blocks.
func Kind() steps.Kind {
	return steps.Kind{
		Block: "server", Name: Name, Images: images, Program: []string{"llama-server"},
		Doc: "A server of llama.cpp, started as `llama-server --model MODEL` with args as its flags, or one that already answers at url. " +
			"model is a GGUF file, its URL, or a name on the hub such as ggml-org/gemma-3-4b-it-GGUF:Q4_K_M.",
		Schema:   serverblock.Schema(),
		Validate: validate,
	}
}

func validate(o steps.Object) []steps.Problem {
	found := serverblock.Check(o)
	found = append(found, argument.CheckModel(o, "llama-server")...)
	found = append(found, serverblock.OneNode(o, "llama-server serves from one node",
		"Start rpc-server on the other nodes yourself and set args.rpc, or use kind vllm or sglang.")...)
	version := argument.VersionOf(o, images)
	found = append(found, argument.CheckArgs(o, style(version))...)
	found = append(found, lists(version).CheckSense(o)...)
	return append(found, lists(version).Check(o, style(version))...)
}
