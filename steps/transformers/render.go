package transformers

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// Render returns the process of a server, with its container if it has an image.
//
// The words before the model come from executable, or from the container's entrypoint:
//
//   - none: transformers serve
//   - one word that is a Python interpreter: WORD -m transformers.cli.transformers serve
//   - a last word "transformers": WORDS serve
//   - anything else: the words unchanged
//
// Then follow the model, --host, --port and the arguments.
func (transformers) Render(spec steps.ServerSpec, host string, port steps.Port) (steps.Process, error) {
	if err := engine.Startable(spec); err != nil {
		return steps.Process{}, err
	}
	if spec.Model == "" {
		return steps.Process{}, fmt.Errorf("%s: model is not set; transformers serve needs one to start", spec.Addr)
	}
	flags, err := argument.Flags(spec.Args, style())
	if err != nil {
		return steps.Process{}, fmt.Errorf("%s: %w", spec.Addr, err)
	}
	program := engine.Program(spec, "transformers", []string{"transformers"}, "transformers.cli.transformers", "serve")
	argv := slices.Concat(program, []string{spec.Model, "--host", host, "--port", port.String()}, flags)
	env := engine.DefaultEnv(spec.Env, steps.EnvVar{Name: "PYTHONUNBUFFERED", Value: "1"})
	return engine.Process(spec, argv, env, host, port), nil
}

// style describes the parser of the command line, typer's: a flag that is false is negated.
func style() argument.FlagStyle {
	return argument.FlagStyle{
		False: func(string) argument.FalseForm { return argument.NegateFalse },
		Reserved: map[string]string{
			"force_model": "set model",
			"host":        "the launcher chooses the address",
			"port":        "set port",
		},
	}
}
