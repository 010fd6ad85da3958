package argument_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
	"github.com/servegate/pipeline/steps/engine/flags"
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
		want         string // part of the summary and the detail of the only problem; "" for none
		warning      bool
	}{
		{"0.11.0", "max_model_len", number(8192), "", false},
		{"0.11.0", "max-model-len", text("8k"), "", false},
		{"0.11.0", "max_model_len", text("8kk"), `args.max_model_len takes a whole number, which may end in k or M, not "8kk"`, false},
		{"0.11.0", "max_modellen", number(1), "vLLM 0.11.0 has no argument max_modellen: Did you mean max_model_len?", false},
		{"0.11.0", "num_scheduler_steps", number(8), "have num_scheduler_steps.", false},
		{"0.11.0", "zzzzzzzzzzzzzzzz", number(8), "vLLM 0.11.0 has no argument zzzzzzzzzzzzzzzz: Remove it, or state the version that has it.",
			false},
		{"v0.11.0+cpu", "zzzzzzzzzzzzzzzz", number(8), "has no argument zzzzzzzzzzzzzzzz", false},
		{"v0.6.4", "num_scheduler_steps", number(8), "", false},
		{"v0.6.4", "async_scheduling", cty.True, "vLLM 0.6.4 has no argument async_scheduling: vLLM 0.10.", false},
		{"0.11.0rc1", "zzz_zzz", number(8),
			"vLLM 0.11.0rc1 (between the known versions 0.10.2 and 0.11.0) has no argument zzz_zzz: It is passed on as it is", true},
		{"0.11.0rc1", "cuda_graph_sizes", list("1", "2"), "", false}, // 0.11.0 has it
		{"0.11.0rc1", "dtype", text("int3"), `args.dtype is "int3"; it must be one of`, true},
		{"", "zzz_zzz", number(8), "State version to have arguments checked against that version.", true},
		{"", "max_num_seqs", cty.True, "args.max_num_seqs takes a value, not true", true},
		{"99.0.0", "zzz_zzz", number(8), "(the newest known version) has no argument zzz_zzz: It is passed on as it is", true},
		{"0.5.0", "zzz_zzz", number(8), "(the oldest known version) has no argument zzz_zzz: It is passed on as it is", true},
		{"0.11.0", "no_enable_prefix_caching", cty.True, "", false},
		{"0.6.4", "no_enable_prefix_caching", cty.True,
			"vLLM 0.6.4 has no argument no_enable_prefix_caching: Did you mean enable_prefix_caching?", false},
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

		// As argparse completes names.
		{"0.11.0", "max_model", number(8192), "args.max_model is short for max_model_len: vLLM completes it.", true},
		{"0.11.0", "max_num", number(8), "args.max_num is ambiguous: It can stand for max_num_batched_tokens", false},
		{"0.11.0", "comp.level", number(3), "args.comp.level is short for compilation_config", true},
		{"0.11.0", "tp", number(8), "vLLM 0.11.0 has no argument tp: Write tensor_parallel_size", false},
	} {
		o := steps.Object{Attrs: map[string]cty.Value{"args": cty.ObjectVal(map[string]cty.Value{tt.arg: tt.value})}}
		found := argument.NewLists("vllm", "vLLM", tt.version).Check(o, argument.FlagStyle{Reserved: map[string]string{"port": "set port"}})
		got, warning := "", false
		for _, p := range found {
			got, warning = got+p.Summary+": "+p.Detail, p.Warning
			if fmt.Sprint(p.Path) != fmt.Sprint([]string{"args", tt.arg}) {
				t.Errorf("%s %s: path %v", tt.version, tt.arg, p.Path)
			}
		}
		if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") || len(found) > 1 || warning != tt.warning {
			t.Errorf("%s %s:\n got %s (warning %v)\nwant %s", tt.version, tt.arg, got, warning, tt.want)
		}
	}
	// A value is checked under a name that is short.
	o := steps.Object{Attrs: map[string]cty.Value{"args": cty.ObjectVal(map[string]cty.Value{"max_num_s": cty.True})}}
	if found := argument.NewLists("vllm", "vLLM", "0.11.0").Check(o, argument.FlagStyle{}); len(found) != 2 || found[1].Warning {
		t.Errorf("max_num_s = true: %+v", found)
	}
}

// TestBetweenLists: a version without a list refuses no argument that some version has.
func TestBetweenLists(t *testing.T) {
	for _, tt := range []struct {
		engine, version string
		listed          []string
	}{
		{"vllm", "0.11.0rc1", []string{"0.6.4", "0.10.2", "0.11.0", "0.13.0"}}, {"vllm", "0.17.0rc1", []string{"0.13.0", "0.17.0"}},
		{"vllm", "0.33.0rc1", []string{"0.17.0", "0.32.0", "0.33.0"}},
		{"sglang", "0.5.23rc1", []string{"0.5.5", "0.5.12", "0.5.23"}},
	} {
		l := argument.NewLists(tt.engine, tt.engine, tt.version)
		warned := 0
		for _, version := range tt.listed {
			k := flags.For(tt.engine, version)
			if !k.Own {
				t.Fatalf("%s %s has no list", tt.engine, version)
			}
			for _, name := range k.Tables[0].Names() {
				def, _ := k.Tables[0].Lookup(name)
				arg := strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_")
				for _, value := range valuesOf(def) {
					o := steps.Object{Attrs: map[string]cty.Value{"args": cty.ObjectVal(map[string]cty.Value{arg: value})}}
					for _, p := range l.Check(o, argument.FlagStyle{}) {
						warned++
						if !p.Warning {
							t.Errorf("%s %s: %s of %s is refused: %s %s", tt.engine, tt.version, name, version, p.Summary, p.Detail)
						}
					}
				}
			}
		}
		if warned == 0 {
			t.Errorf("%s %s differs in nothing from its neighbours: the test shows nothing", tt.engine, tt.version)
		}
	}
}

// valuesOf are values that a flag takes.
func valuesOf(def flags.Def) []cty.Value {
	switch def.Kind {
	case flags.Switch, flags.OnOff, flags.StoreBool, flags.Off:
		return []cty.Value{cty.True}
	case flags.Int, flags.Size, flags.Float:
		return []cty.Value{cty.NumberIntVal(1)}
	case flags.List:
		return []cty.Value{cty.TupleVal([]cty.Value{cty.StringVal("a")})}
	case flags.JSON:
		return []cty.Value{cty.EmptyObjectVal}
	case flags.Choice:
		var out []cty.Value
		for _, c := range def.Choices {
			out = append(out, cty.StringVal(c))
		}
		return out
	}
	return []cty.Value{cty.StringVal("a")}
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
		if found := argument.NewLists(tt.engine, "E", "0.11.0").Check(steps.Object{Attrs: tt.attrs}, argument.FlagStyle{}); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestListsFalse(t *testing.T) {
	for _, tt := range []struct {
		engine, version, arg string
		want                 argument.FalseForm
	}{
		{"vllm", "0.6.4", "enable_prefix_caching", argument.OmitFalse},
		{"vllm", "0.6.4", "enable_chunked_prefill", argument.WriteFalse},
		{"vllm", "0.11.0", "enable_chunked_prefill", argument.NegateFalse},
		{"vllm", "0.33.0", "disable_log_stats", argument.OmitFalse},
		{"vllm", "0.33.0", "in_no_list", argument.NegateFalse},
		{"sglang", "0.5.23", "lora_strict_loading", argument.NegateFalse},
		{"sglang", "0.5.5", "disable_radix_cache", argument.OmitFalse},
	} {
		if got := argument.NewLists(tt.engine, "", tt.version).False(argument.NegateFalse)(tt.arg); got != tt.want {
			t.Errorf("%v: form %d", tt, got)
		}
	}
}
