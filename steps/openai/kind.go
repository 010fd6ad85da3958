package openai

import (
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
	"github.com/servegate/pipeline/steps/serverblock"
)

// Kind describes server "openai" blocks.
func Kind() steps.Kind {
	return steps.Kind{
		Block: "server", Name: Name,
		Doc: "Any server with the OpenAI completions or chat interface: one that already answers at url, a program, or an image. {host}, " +
			"{port} and {model} in the words of executable, or of the container's entrypoint, are replaced.",
		Schema:   serverblock.Schema(),
		Validate: validate,
	}
}

func validate(o steps.Object) []steps.Problem {
	found := serverblock.Check(o)
	if !o.Has("url") && !o.Has("executable") && !o.Has("image") {
		found = append(found, steps.Problem{
			Summary: "url, executable or image is missing",
			Detail:  "Set url to a server that already runs, or executable or image to a program that serves.",
		})
	}
	found = append(found, serverblock.OneNode(o, "a server of kind openai cannot be spread over nodes",
		"Nothing says how its program does it. Use kind vllm or sglang, or start the processes yourself and set url.")...)
	return append(found, argument.CheckArgs(o, style())...)
}
