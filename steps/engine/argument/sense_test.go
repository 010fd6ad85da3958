package argument_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/sglang"
	"github.com/servegate/pipeline/steps/vllm"
	"github.com/zclconf/go-cty/cty"
)

// What no machine can do is found before anything is launched, and short flags are written
// in full.
func TestNonsenseIsFound(t *testing.T) {
	num, text := cty.NumberFloatVal, cty.StringVal
	for _, tt := range []struct {
		name  string
		kind  steps.Kind
		attrs map[string]cty.Value
		args  map[string]cty.Value
		want  string
	}{
		{"more memory than there is", vllm.Kind(), nil, map[string]cty.Value{"gpu_memory_utilization": num(1.5)},
			"args.gpu_memory_utilization cannot be 1.5"},
		{"no memory", vllm.Kind(), nil, map[string]cty.Value{"gpu-memory-utilization": num(0)}, "cannot be 0"},
		{"all memory", vllm.Kind(), nil, map[string]cty.Value{"gpu_memory_utilization": num(1)}, ""},
		{"percent for a share", sglang.Kind(), nil, map[string]cty.Value{"mem_fraction_static": num(88)},
			"args.mem_fraction_static cannot be 88"},
		{"no token", vllm.Kind(), nil, map[string]cty.Value{"max_model_len": num(0)}, "args.max_model_len cannot be 0"},
		{"TP above GPUs", vllm.Kind(), map[string]cty.Value{"gpus": num(1)}, map[string]cty.Value{"tensor_parallel_size": num(4)},
			"need 4 GPUs, and the server has 1"},
		{"TP times PP", vllm.Kind(), map[string]cty.Value{"gpus": num(4)}, map[string]cty.Value{"tensor_parallel_size": num(4),
			"pipeline_parallel_size": num(2)}, "need 8 GPUs, and the server has 4"},
		{"TP of SGLang", sglang.Kind(), map[string]cty.Value{"gpus": num(1)}, map[string]cty.Value{"tp": num(2)},
			"need 2 GPUs, and the server has 1"},
		{"TP equal to GPUs", vllm.Kind(), map[string]cty.Value{"gpus": num(4)}, map[string]cty.Value{"tensor_parallel_size": num(4)}, ""},
		{"no version", vllm.Kind(), map[string]cty.Value{"version": text("banana")}, nil, `"banana" is not a version`},
		{"latest", vllm.Kind(), map[string]cty.Value{"version": text("latest")}, nil, `"latest" is not a version`},
		{"a version", vllm.Kind(), map[string]cty.Value{"version": text("v0.11.0rc1.dev3+g1234")}, nil, ""},
		{"tp", vllm.Kind(), map[string]cty.Value{"version": text("0.11.0")}, map[string]cty.Value{"tp": num(1)}, "Write tensor_parallel_size"},
		{"dp", vllm.Kind(), map[string]cty.Value{"version": text("0.11.0")}, map[string]cty.Value{"dp": num(1)}, "Write data_parallel_size"},
		{"q", vllm.Kind(), nil, map[string]cty.Value{"q": text("fp8")}, "Write quantization"},
		{"O", vllm.Kind(), nil, map[string]cty.Value{"O": num(3)}, "Write "},
	} {
		attrs := map[string]cty.Value{"executable": text("x"), "model": text("m"), "args": cty.ObjectVal(tt.args)}
		maps.Copy(attrs, tt.attrs)
		var said strings.Builder
		for _, p := range tt.kind.Validate(steps.Object{Attrs: attrs}) {
			said.WriteString(p.Summary + " " + p.Detail + "\n")
		}
		if got := said.String(); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
