package vllm

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// Render returns the process of a server, with its container if it has an image: then the
// image's own entrypoint, which differs from version to version, is not used.
//
// The words before the model come from executable, or from the container's entrypoint:
//
//   - none: vllm serve MODEL
//   - a last word "vllm", or a single word: "serve" is added, WORDS serve MODEL
//   - a last word "serve": WORDS MODEL
//   - anything else, for example python3 -m vllm.entrypoints.openai.api_server: WORDS --model MODEL
//
// Then follow --host, --port, --served-model-name if it differs, and the arguments. The
// environment gets VLLM_SERVER_DEV_MODE=1 for the reset of caches, unbuffered output,
// and the API key, unless the file sets them.
func (vllm) Render(spec steps.ServerSpec, host string, port int) (steps.Process, error) {
	if err := engine.Startable(spec); err != nil {
		return steps.Process{}, err
	}
	if spec.Model == "" {
		return steps.Process{}, fmt.Errorf("%s: model is not set; vLLM needs one to start", spec.Addr)
	}
	flags, err := engine.Flags(spec.Args, style(spec.Version))
	if err != nil {
		return steps.Process{}, fmt.Errorf("%s: %w", spec.Addr, err)
	}
	argv := append(prefix(spec.Program(), spec.Model), "--host", host, "--port", strconv.Itoa(port))
	if spec.ServedName != "" && spec.ServedName != spec.Model {
		argv = append(argv, "--served-model-name", spec.ServedName)
	}
	env := engine.DefaultEnv(spec.Env,
		steps.EnvVar{Name: "VLLM_SERVER_DEV_MODE", Value: "1"},
		steps.EnvVar{Name: "PYTHONUNBUFFERED", Value: "1"},
	)
	if spec.APIKey != "" {
		// In the environment, not as --api-key: arguments are visible to every user.
		env = engine.DefaultEnv(env, steps.EnvVar{Name: "VLLM_API_KEY", Value: spec.APIKey, Secret: true})
	}
	return engine.Process(spec, append(argv, flags...), env, host, port), nil
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

// style of vLLM's parser.
func style(version string) engine.FlagStyle {
	return engine.FlagStyle{
		False:  falseForm(version),
		Repeat: map[string]bool{"middleware": true},
		JSON:   map[string]bool{"allowed_origins": true, "allowed_methods": true, "allowed_headers": true},
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

// falseForm of vLLM's flags (argument parsers of 0.6.4, 0.11.0 and 0.33.0). From 0.8 on
// arguments made from its configuration classes know --no-, and the few listed here only
// switch on. Before, flags only switch on, and the few listed here take a value.
func falseForm(version string) func(string) engine.FalseForm {
	if !atLeast(version, 0, 8) {
		return func(name string) engine.FalseForm {
			switch name {
			case "enable_chunked_prefill", "multi_step_stream_outputs", "disable_logprobs_during_spec_decoding":
				return engine.WriteFalse
			}
			return engine.OmitFalse
		}
	}
	return func(name string) engine.FalseForm {
		switch name {
		case "aggregate_engine_logging", "data_parallel_multi_port_external_lb", "disable_log_stats",
			"disable_mm_preprocessor_cache", "enable_multimodal_encoder_data_parallel", "grpc", "headless":
			return engine.OmitFalse
		}
		return engine.NegateFalse
	}
}

// atLeast compares the first two numbers of a version such as v0.6.4.post1. An empty or
// unreadable version counts as current.
func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return true
	}
	a, err1 := strconv.Atoi(parts[0])
	b, err2 := strconv.Atoi(parts[1])
	if err1 != nil || err2 != nil {
		return true
	}
	return a > major || a == major && b >= minor
}
