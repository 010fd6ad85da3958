package sglang

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// apiKeyRefused is why a started SGLang server cannot have a key.
const apiKeyRefused = "SGLang takes its key only as an argument, which every user of the machine can read; leave api_key out, the server " +
	"listens on the local address only"

// Render returns the process of a server, with its container if it has an image.
//
// The words before the model come from executable, or from the container's entrypoint:
//
//   - none: python3 -m sglang.launch_server
//   - one word that is a Python interpreter: WORD -m sglang.launch_server
//   - a last word "sglang": WORDS serve
//   - anything else: the words unchanged
//
// Then follow --model-path, --host, --port, --served-model-name if it differs, the arguments, and
// --enable-metrics unless an argument sets it.
func (sglang) Render(spec steps.ServerSpec, host string, port steps.Port) (steps.Process, error) {
	return render(spec, host, port, spec.Env)
}

// render renders one process with an environment and the flags of its place.
func render(spec steps.ServerSpec, host string, port steps.Port, own []steps.EnvVar, place ...string) (steps.Process, error) {
	if err := engine.Startable(spec); err != nil {
		return steps.Process{}, err
	}
	if spec.Model == "" {
		return steps.Process{}, fmt.Errorf("%s: model is not set; SGLang needs one to start", spec.Addr)
	}
	if spec.APIKey != "" {
		return steps.Process{}, fmt.Errorf("%s: %s", spec.Addr, apiKeyRefused)
	}
	form := style(spec.EngineVersion())
	words, err := argument.Flags(withMetrics(spec.Args, form.Full), form)
	if err != nil {
		return steps.Process{}, fmt.Errorf("%s: %w", spec.Addr, err)
	}
	argv := append(engine.Program(spec, "sglang", []string{"python3"}, "sglang.launch_server"), "--model-path", spec.Model,
		"--host", host, "--port", port.String())
	if spec.ServedName != "" && spec.ServedName != spec.Model {
		argv = append(argv, "--served-model-name", spec.ServedName)
	}
	argv = append(append(argv, place...), words...)
	env := engine.DefaultEnv(own, steps.EnvVar{Name: "PYTHONUNBUFFERED", Value: "1"})
	return engine.Process(spec, argv, env, host, port), nil
}

// lists returns the flags that a version knows.
func lists(version string) argument.Lists { return argument.NewLists(Name, "SGLang", version) }

// style describes SGLang's parser: most flags have no value, and the elements of a list follow its flag.
func style(version string) argument.FlagStyle {
	known := lists(version)
	return argument.FlagStyle{
		Full:  known.Full,
		False: known.False(argument.OmitFalse),
		JSON:  known.JSON,
		Reserved: map[string]string{
			"model":             "set model",
			"model_path":        "set model",
			"served_model_name": "set served_name",
			"host":              "the launcher chooses the address",
			"port":              "set port",
			"api_key":           "arguments are visible in process lists and reports",
			"admin_api_key":     "arguments are visible in process lists and reports",
			"config":            "write its flags into args, so that the report shows them",
		},
	}
}

// withMetrics enables the metrics endpoint, which is needed to watch a run, unless the file sets the flag.
func withMetrics(args []steps.Arg, full func(string) string) []steps.Arg {
	if slices.ContainsFunc(args, func(a steps.Arg) bool { return full(a.Name) == "enable_metrics" }) {
		return args
	}
	return append(slices.Clone(args), steps.Arg{Name: "enable_metrics", Value: true})
}
