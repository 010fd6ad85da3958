package llamacpp

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// Render returns the process of a server, with its container if it has an image.
//
// The words before the model come from executable, or from the container's entrypoint. Without them it is llama-server,
// which the project's images have as /app/llama-server.
//
// Then follow --model FILE, --model-url URL or --hf-repo NAME, --alias with the name that clients send, --host, --port, the
// arguments, and --metrics unless an argument sets it. The API key is in the environment.
func (llamacpp) Render(spec steps.ServerSpec, host string, port steps.Port) (steps.Process, error) {
	if err := engine.Startable(spec); err != nil {
		return steps.Process{}, err
	}
	if spec.Model == "" {
		return steps.Process{}, fmt.Errorf("%s: model is not set; llama-server needs one to start", spec.Addr)
	}
	form := style(spec.EngineVersion())
	words, err := argument.Flags(withMetrics(spec.Args, form.Full), form)
	if err != nil {
		return steps.Process{}, fmt.Errorf("%s: %w", spec.Addr, err)
	}
	name := spec.ServedName
	if name == "" {
		name = spec.Model
	}
	argv := append(program(spec), source(spec.Model), spec.Model, "--alias", name, "--host", host, "--port", port.String())
	env := spec.Env
	if spec.APIKey != "" {
		env = engine.DefaultEnv(env, steps.EnvVar{Name: "LLAMA_API_KEY", Value: spec.APIKey, Secret: true})
	}
	return engine.Process(spec, append(argv, words...), env, host, port), nil
}

// program returns the words before the model.
func program(spec steps.ServerSpec) []string {
	switch words := spec.Program(); {
	case len(words) > 0:
		return slices.Clone(words)
	case spec.Image != "":
		return []string{"/app/llama-server"}
	}
	return []string{"llama-server"}
}

// source returns the flag of a model: a file, its URL, or a repository of the hub.
func source(model string) string {
	switch {
	case strings.HasPrefix(model, "http://"), strings.HasPrefix(model, "https://"):
		return "--model-url"
	case strings.HasSuffix(model, ".gguf"), path.IsAbs(model), strings.HasPrefix(model, "."), strings.Count(model, "/") != 1:
		return "--model"
	}
	return "--hf-repo"
}

// lists returns the flags that a version knows.
func lists(version string) argument.Lists { return argument.NewLists(Name, "llama.cpp", version) }

// style describes llama-server's parser: it completes nothing, and --flag=value is no form of it.
func style(version string) argument.FlagStyle {
	const seen = "arguments are visible in process lists and reports"
	known := lists(version)
	return argument.FlagStyle{
		Full:  known.Full,
		False: known.False(argument.NegateFalse),
		Apart: true,
		Reserved: map[string]string{
			"model":       "set model",
			"model_url":   "set model",
			"hf_repo":     "set model",
			"docker_repo": "set model to the file",
			"alias":       "set served_name",
			"host":        "the launcher chooses the address",
			"port":        "set port",
			"reuse_port":  "the server is reached by a port of its own",
			"api_prefix":  "the server is reached at the root of its address",
			"api_key":     "set api_key: " + seen,
			"hf_token":    "set HF_TOKEN in env: " + seen,
		},
	}
}

// withMetrics enables the metrics endpoint, which is needed to watch a run, unless the file sets the flag.
func withMetrics(args []steps.Arg, full func(string) string) []steps.Arg {
	if slices.ContainsFunc(args, func(a steps.Arg) bool { return full(a.Name) == "metrics" }) {
		return args
	}
	return append(slices.Clone(args), steps.Arg{Name: "metrics", Value: true})
}
