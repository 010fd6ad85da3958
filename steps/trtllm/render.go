package trtllm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/engine/argument"
	"github.com/servegate/pipeline/steps/engine/flags"
)

// optionsFile is the name of the file of options.
const optionsFile = "trtllm-options.yaml"

// Render returns the process of a server, with its container if it has an image.
//
// The words before the model come from executable, or from the container's entrypoint:
//
//   - none: trtllm-serve serve
//   - one word that is a Python interpreter: WORD -m tensorrt_llm.commands.serve serve
//   - a last word "trtllm-serve": WORDS serve
//   - anything else: the words unchanged
//
// Then follow the model, --host, --port and the arguments. The file of options is written for each launch.
func (trtllm) Render(spec steps.ServerSpec, host string, port steps.Port) (steps.Process, error) {
	if err := engine.Startable(spec); err != nil {
		return steps.Process{}, err
	}
	if spec.Model == "" {
		return steps.Process{}, fmt.Errorf("%s: model is not set; trtllm-serve needs one to start", spec.Addr)
	}
	version := spec.EngineVersion()
	args, files, err := withOptions(spec.Args, version)
	if err != nil {
		return steps.Process{}, fmt.Errorf("%s: %w", spec.Addr, err)
	}
	words, err := argument.Flags(args, style(version))
	if err != nil {
		return steps.Process{}, fmt.Errorf("%s: %w", spec.Addr, err)
	}
	program := engine.Program(spec, "trtllm-serve", []string{"trtllm-serve"}, "tensorrt_llm.commands.serve", "serve")
	argv := slices.Concat(program, []string{spec.Model, "--host", host, "--port", port.String()}, words)
	env := engine.DefaultEnv(spec.Env, steps.EnvVar{Name: "PYTHONUNBUFFERED", Value: "1"})
	p := engine.Process(spec, argv, env, host, port)
	p.Files = files
	return p, nil
}

// lists returns the flags that a version knows.
func lists(version string) argument.Lists { return argument.NewLists(Name, "TensorRT-LLM", version) }

// style describes the parser of the command line, click's: it completes nothing, and its flags have underscores.
func style(version string) argument.FlagStyle {
	known := lists(version)
	const disaggregated = "disaggregated serving is not modelled: start it by the commands of a server \"stack\""
	return argument.FlagStyle{
		Full:        known.Full,
		False:       known.False(argument.OmitFalse),
		Underscores: true,
		Repeat:      map[string]bool{"custom_module_dirs": true},
		Reserved: map[string]string{
			"model":                       "set model",
			"host":                        "the launcher chooses the address",
			"port":                        "set port",
			"server_role":                 disaggregated,
			"metadata_server_config_file": disaggregated,
			"disagg_cluster_uri":          disaggregated,
		},
	}
}

// withOptions returns the arguments with the path of the file of options in place of its content, and the file.
func withOptions(args []steps.Arg, version string) ([]steps.Arg, []steps.File, error) {
	known := lists(version)
	at := slices.IndexFunc(args, func(a steps.Arg) bool { def, _ := known.Lookup(a.Name); return def.Kind == flags.Options })
	if at < 0 {
		return args, nil, nil
	}
	options, ok := args[at].Value.(map[string]any)
	if !ok {
		return args, nil, nil // null, or a path, which validation reports
	}
	content, err := json.MarshalIndent(plain(options), "", "  ")
	if err != nil {
		return nil, nil, fmt.Errorf("the file of options: %w", err)
	}
	file := steps.File{Name: optionsFile, Content: append(content, '\n')}
	out := slices.Clone(args)
	out[at].Value = file.Word()
	return out, []steps.File{file}, nil
}

// plain writes the numbers of a value without exponents: YAML 1.1, by which the file is read, takes 1e-05 for a text.
func plain(v any) any {
	switch v := v.(type) {
	case float64:
		return json.Number(strconv.FormatFloat(v, 'f', -1, 64))
	case map[string]any:
		out := map[string]any{}
		for name, inner := range v {
			out[name] = plain(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	}
	return v
}
