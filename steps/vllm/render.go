package vllm

import (
	"fmt"
	"path"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// Render returns the process of a server, with its container if it has an image. The image's
// entrypoint, which differs from version to version, is not used.
//
// The words before the model come from executable, or from the container's entrypoint:
//
//   - none: vllm serve MODEL
//   - a last word "vllm", or a single word: "serve" is added, WORDS serve MODEL
//   - a last word "serve": WORDS MODEL
//   - anything else, for example python3 -m vllm.entrypoints.openai.api_server: WORDS --model MODEL
//
// Then follow --host, --port, --served-model-name if it differs, and the arguments. The
// environment gets VLLM_SERVER_DEV_MODE=1 for the reset of caches, a line of statistics
// each second instead of every ten, unbuffered output, and the API key, unless the file sets them.
func (vllm) Render(spec steps.ServerSpec, host string, port steps.Port) (steps.Process, error) {
	words, err := serverFlags(spec)
	if err != nil {
		return steps.Process{}, err
	}
	argv := append(prefix(spec.Program(), spec.Model), "--host", host, "--port", port.String())
	return engine.Process(spec, append(argv, words...), serverEnv(spec), host, port), nil
}

// serverFlags returns the flags of the model and its serving.
func serverFlags(spec steps.ServerSpec) ([]string, error) {
	if err := engine.Startable(spec); err != nil {
		return nil, err
	}
	if spec.Model == "" {
		return nil, fmt.Errorf("%s: model is not set; vLLM needs one to start", spec.Addr)
	}
	words, err := argument.Flags(spec.Args, style(spec.EngineVersion()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spec.Addr, err)
	}
	if spec.ServedName != "" && spec.ServedName != spec.Model {
		words = append([]string{"--served-model-name", spec.ServedName}, words...)
	}
	return words, nil
}

func serverEnv(spec steps.ServerSpec) []steps.EnvVar {
	env := engine.DefaultEnv(spec.Env,
		steps.EnvVar{Name: "VLLM_SERVER_DEV_MODE", Value: "1"},
		steps.EnvVar{Name: "VLLM_LOG_STATS_INTERVAL", Value: "1"},
		steps.EnvVar{Name: "PYTHONUNBUFFERED", Value: "1"},
	)
	if spec.APIKey != "" {
		// In the environment, not as --api-key: arguments are visible to every user.
		env = engine.DefaultEnv(env, steps.EnvVar{Name: "VLLM_API_KEY", Value: spec.APIKey, Secret: true})
	}
	return env
}

func prefix(executable []string, model string) []string {
	if len(executable) == 0 {
		executable = []string{"vllm"}
	}
	argv := append([]string(nil), executable...)
	last := path.Base(argv[len(argv)-1])
	if last != "serve" && (last == "vllm" || len(argv) == 1) {
		argv = append(argv, "serve")
		last = "serve"
	}
	if last == "serve" {
		return append(argv, model)
	}
	return append(argv, "--model", model)
}

// lists returns the flags of a version.
func lists(version string) argument.Lists { return argument.NewLists(Name, "vLLM", version) }

// style returns the flag style of vLLM's parser. Since 0.8 arguments are generated from its
// configuration classes and support --no-; before, flags can only be switched on.
func style(version string) argument.FlagStyle {
	parser, other := version, argument.NegateFalse
	switch {
	case !steps.IsRelease(version):
	case steps.CompareReleases(version, "0.8") < 0:
		other = argument.OmitFalse
	case steps.CompareReleases(version, "0.11") < 0: // the list before 0.8 does not apply
		parser = "0.11.0"
	}
	known := lists(parser)
	return argument.FlagStyle{
		Full:   lists(version).Full,
		False:  known.False(other),
		Repeat: map[string]bool{"middleware": true},
		JSON:   known.JSON,
		Reserved: map[string]string{
			"model":             "set model",
			"model_tag":         "set model",
			"served_model_name": "set served_name",
			"host":              "the launcher chooses the address",
			"port":              "set port",
			"uds":               "the server is reached by its port",
			"api_key":           "set api_key: arguments are visible in process lists and reports",
			"config":            "write its flags into args, so that the report shows them",
		},
	}
}
