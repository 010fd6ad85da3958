package transformers

import (
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
	"github.com/servegate/pipeline/steps/serverblock"
)

// Kind describes server "transformers" blocks.
func Kind() steps.Kind {
	return steps.Kind{
		Block: "server", Name: Name, Program: []string{"transformers", "serve"},
		Doc: "The server of Hugging Face's transformers, started as `transformers serve MODEL` with args as its flags, or one that " +
			"already answers at url. It refuses ignore_eos: set ignore_eos = false in its benchmarks.",
		Schema:   serverblock.Schema(),
		Validate: validate,
	}
}

func validate(o steps.Object) []steps.Problem {
	found := serverblock.Check(o)
	found = append(found, argument.CheckModel(o, "transformers serve")...)
	found = append(found, serverblock.NoKey(o,
		"transformers serve does not check keys. Leave api_key out; the server listens on the local address only.")...)
	found = append(found, serverblock.OneNode(o, "transformers serve runs on one node",
		"Use kind vllm or sglang, or start the processes yourself and set url.")...)
	return append(found, argument.CheckArgs(o, style())...)
}
