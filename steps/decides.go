package steps

import (
	"reflect"
	"slices"
	"strings"
)

// argsOfWork are engine arguments, by any engine's name for them, that say what model is
// served or how many GPUs serve it. Two servers that differ in them do not do the same work
// on the same machine.
var argsOfWork = []string{
	"model", "model_path", "served_model_name", "revision", "code_revision", "hf_config_path", "hf_overrides", "json_model_override_args", "load_format",
	"tokenizer", "tokenizer_path", "tokenizer_revision", "skip_tokenizer_init",
	"tensor_parallel_size", "tp_size", "tp", "pipeline_parallel_size", "pp_size", "pp", "data_parallel_size", "dp_size", "dp", "nnodes",
}

// envOfWork are environment variables that choose the GPUs of a process.
var envOfWork = []string{"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}

// OtherWork names an argument or a variable by which two servers serve another model, or
// serve it on other GPUs; "" if there is none.
func OtherWork(a, b ServerSpec) string {
	was, is := workOf(a), workOf(b)
	for _, name := range slices.Concat(argsOfWork, envOfWork) {
		if !reflect.DeepEqual(was[name], is[name]) {
			return name
		}
	}
	return ""
}

// workOf are the arguments and variables of a server by which OtherWork goes.
func workOf(s ServerSpec) map[string]any {
	out := map[string]any{}
	for _, a := range s.Args {
		if name := strings.ReplaceAll(strings.ToLower(a.Name), "-", "_"); slices.Contains(argsOfWork, name) {
			out[name] = a.Value
		}
	}
	for _, e := range s.Env {
		if slices.Contains(envOfWork, e.Name) {
			out[e.Name] = e.Value
		}
	}
	return out
}
