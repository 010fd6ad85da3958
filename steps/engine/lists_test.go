package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

func TestListsCheck(t *testing.T) {
	number, text := cty.NumberIntVal, cty.StringVal
	list := func(words ...string) cty.Value {
		var out []cty.Value
		for _, w := range words {
			out = append(out, cty.StringVal(w))
		}
		return cty.TupleVal(out)
	}
	for _, tt := range []struct {
		version, arg string
		value        cty.Value
		want         string // the problem; "" for none
		warning      bool
	}{
		{"0.11.0", "max_model_len", number(8192), "", false},
		{"0.11.0", "max-model-len", text("8k"), "", false},
		{"0.11.0", "max_model_len", text("8kk"), `args.max_model_len takes a whole number, which may end in k or M, not "8kk"`, false},
		{"0.11.0", "max_modellen", number(1), "vLLM 0.11.0 has no argument max_modellen: Did you mean max_model_len?", false},
		{"0.11.0", "num_scheduler_steps", number(8), "vLLM 0.11.0 has no argument num_scheduler_steps: vLLM 0.6.4 and 0.8.5 have num_scheduler_steps.", false},
		{"0.11.0", "zzzzzzzzzzzzzzzz", number(8), "vLLM 0.11.0 has no argument zzzzzzzzzzzzzzzz: Remove it, or state the version that has it.", false},
		{"v0.6.4.post1", "num_scheduler_steps", number(8), "", false},
		{"v0.6.4.post1", "async_scheduling", cty.True, "vLLM 0.6.4.post1 has no argument async_scheduling: vLLM 0.10.2, 0.11.0, 0.13.0 and 0.33.0 have async_scheduling.", false},
		{"0.12.0", "cuda_graph_sizes", list("1", "2"), "", false}, // 0.11.0 has it
		{"0.20.1", "num_scheduler_steps", number(8), "vLLM 0.20.1, between 0.13.0 and 0.33.0, has no argument num_scheduler_steps: vLLM 0.6.4 and 0.8.5 have num_scheduler_steps.", false},
		{"0.9.2", "num_scheduler_steps", number(8), "", false}, // 0.8.5 has it
		{"0.9.2", "async_scheduling", cty.True, "", false},     // 0.10.2 has it
		{"0.6.5", "decode_context_parallel_size", number(2), "vLLM 0.6.5, between 0.6.4 and 0.8.5, has no argument decode_context_parallel_size: vLLM 0.10.2, 0.11.0, 0.13.0 and 0.33.0 have decode_context_parallel_size.", false},
		{"", "zzz_zzz", number(8), "vLLM 0.33.0, the newest that is known here, has no argument zzz_zzz: It is passed on as it is. State version to have arguments checked against that version.", true},
		{"0.40.0", "zzz_zzz", number(8), "vLLM 0.33.0, the newest that is known here, has no argument zzz_zzz: It is passed on as it is: the version may have arguments that are not known here.", true},
		{"0.5.0", "zzz_zzz", number(8), "vLLM 0.6.4, the oldest that is known here, has no argument zzz_zzz: It is passed on as it is: the version may have arguments that are not known here.", true},
		{"0.11.0", "no_enable_prefix_caching", cty.True, "", false},
		{"0.6.4", "no_enable_prefix_caching", cty.True, "vLLM 0.6.4 has no argument no_enable_prefix_caching: Did you mean enable_prefix_caching? vLLM 0.8.5, 0.10.2, 0.11.0, 0.13.0 and 0.33.0 have no_enable_prefix_caching.", false},
		{"0.11.0", "enforce_eager", text("true"), `args.enforce_eager is switched by true or false, not by the string "true"`, false},
		{"0.11.0", "enforce_eager", cty.UnknownVal(cty.String), "", false},
		{"0.11.0", "enforce_eager", cty.NullVal(cty.Bool), "", false},
		{"0.11.0", "max_num_seqs", cty.True, "args.max_num_seqs takes a value, not true", false},
		{"0.11.0", "max_num_seqs", text("many"), `args.max_num_seqs takes a whole number, not "many"`, false},
		{"0.11.0", "max_num_seqs", list("1"), "args.max_num_seqs takes one value, not a list", false},
		{"0.11.0", "max_num_seqs", cty.EmptyObjectVal, "args.max_num_seqs takes one value, not an object", false},
		{"0.11.0", "gpu_memory_utilization", text("90%"), `args.gpu_memory_utilization takes a number, not "90%"`, false},
		{"0.11.0", "dtype", text("int3"), `args.dtype is "int3"; it must be one of auto, bfloat16, float, float16, float32, half`, false},
		{"0.11.0", "dtype", text("bfloat16"), "", false},
		{"0.11.0", "compilation_config.level", number(3), "", false},
		{"0.11.0", "compilation_config", cty.ObjectVal(map[string]cty.Value{"level": number(3)}), "", false},
		{"0.11.0", "compilation_config", cty.True, "args.compilation_config takes an object or a list, not true", false},
		{"0.11.0", "lora_modules", cty.True, "args.lora_modules takes a list, not true", false},
		{"0.11.0", "port", number(1), "", false}, // reserved: CheckArgs says so
	} {
		o := steps.Object{Attrs: map[string]cty.Value{"args": cty.ObjectVal(map[string]cty.Value{tt.arg: tt.value})}}
		found := NewLists("vllm", "vLLM", tt.version).Check(o, FlagStyle{Reserved: map[string]string{"port": "set port"}})
		got, warning := "", false
		for _, p := range found {
			got, warning = p.Summary, p.Warning
			if strings.Contains(p.Summary, " has no ") {
				got += ": " + p.Detail
			}
			if fmt.Sprint(p.Path) != fmt.Sprint([]string{"args", tt.arg}) {
				t.Errorf("%s %s: path %v", tt.version, tt.arg, p.Path)
			}
		}
		if got != tt.want || warning != tt.warning {
			t.Errorf("%s %s:\n got %s (warning %v)\nwant %s", tt.version, tt.arg, got, warning, tt.want)
		}
	}
}

func TestListsCheckNothing(t *testing.T) {
	args := cty.ObjectVal(map[string]cty.Value{"zzz": cty.True})
	for name, tt := range map[string]struct {
		engine string
		attrs  map[string]cty.Value
	}{
		"no lists":   {"openai", map[string]cty.Value{"args": args}},
		"attached":   {"vllm", map[string]cty.Value{"args": args, "url": cty.StringVal("http://h")}},
		"no args":    {"vllm", nil},
		"not known":  {"vllm", map[string]cty.Value{"args": cty.DynamicVal}},
		"not a map":  {"vllm", map[string]cty.Value{"args": cty.StringVal("--zzz")}},
		"null":       {"vllm", map[string]cty.Value{"args": cty.NullVal(cty.DynamicPseudoType)}},
		"typed null": {"vllm", map[string]cty.Value{"args": cty.NullVal(cty.Map(cty.String))}},
	} {
		if found := NewLists(tt.engine, "E", "0.11.0").Check(steps.Object{Attrs: tt.attrs}, FlagStyle{}); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestListsFalse(t *testing.T) {
	for _, tt := range []struct {
		engine, version, arg string
		want                 FalseForm
	}{
		{"vllm", "0.6.4", "enable_prefix_caching", OmitFalse},
		{"vllm", "0.6.4", "enable_chunked_prefill", WriteFalse},
		{"vllm", "0.11.0", "enable_chunked_prefill", NegateFalse},
		{"vllm", "0.33.0", "disable_log_stats", OmitFalse},
		{"vllm", "0.33.0", "in_no_list", NegateFalse},
		{"sglang", "0.5.23", "lora_strict_loading", NegateFalse},
		{"sglang", "0.5.5", "disable_radix_cache", OmitFalse},
	} {
		if got := NewLists(tt.engine, "", tt.version).False(NegateFalse)(tt.arg); got != tt.want {
			t.Errorf("%v: form %d", tt, got)
		}
	}
}
