package argument_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
	"pgregory.net/rapid"
)

func vllmWith(args ...steps.Arg) steps.ServerSpec {
	return steps.ServerSpec{Engine: "vllm", Version: "0.33.0", Executable: []string{"vllm"}, Model: "m", Args: args}
}

func sglangWith(args ...steps.Arg) steps.ServerSpec {
	return steps.ServerSpec{Engine: "sglang", Version: "0.5.23", Model: "m", Args: args}
}

// TestSettings: the forms of one argument are one setting.
func TestSettings(t *testing.T) {
	arg := func(name string, value any) steps.Arg { return steps.Arg{Name: name, Value: value} }
	type forms []steps.ServerSpec
	for _, tt := range []struct {
		want  argument.Settings
		forms forms
	}{
		{argument.Settings{"hf_overrides.num_hidden_layers": "1"}, forms{
			vllmWith(arg("hf_overrides", map[string]any{"num_hidden_layers": int64(1)})),
			vllmWith(arg("hf-overrides", map[string]any{"num_hidden_layers": 1.0})),
			vllmWith(arg("hf_overrides.num_hidden_layers", int64(1))),
			vllmWith(arg("hf-overrides.num_hidden_layers", "1")),
			vllmWith(arg("hf_overrides", ` {"num_hidden_layers": 1}`)),
			vllmWith(arg("hf_overrides", `{"num_hidden_layers": 1.0}`)),
			vllmWith(arg("hf_ov", map[string]any{"num_hidden_layers": int64(1)})),
			vllmWith(arg("hf_ov.num_hidden_layers", int64(1))),
		}},
		{argument.Settings{"tp_size": "8"}, forms{
			sglangWith(arg("tp", int64(8))), sglangWith(arg("tp_size", int64(8))), sglangWith(arg("tensor-parallel-size", "8")),
			sglangWith(arg("tensor_p", 8)),
		}},
		{argument.Settings{"enable_log_requests": "false"}, forms{
			vllmWith(arg("enable_log_requests", false)), vllmWith(arg("no_enable_log_requests", true)), vllmWith(arg("disable-log-requests", true)),
		}},
		{argument.Settings{}, forms{vllmWith(arg("dtype", nil)), sglangWith(arg("disable_radix_cache", false))}},
		{argument.Settings{"lora_modules": `["a=/x","b=/y"]`}, forms{vllmWith(arg("lora_modules", []any{"a=/x", "b=/y"}))}},
		{argument.Settings{"a.b.c": "true", "a.d": "[1]", "a.e": "{}"}, forms{
			{Args: []steps.Arg{arg("a", map[string]any{"b": map[string]any{"c": true}, "d": []any{1}, "e": map[string]any{}, "f": nil})}},
			{Args: []steps.Arg{arg("a.b", `{"c": true}`), arg("a.d", []any{1}), arg("a.e", `{}`)}},
		}},
	} {
		for _, spec := range tt.forms {
			if diff := cmp.Diff(tt.want, argument.SettingsOf(spec)); diff != "" {
				t.Errorf("%v: %s", spec.Args, diff)
			}
		}
	}
}

// TestOtherWork: what changes the work is named in every form of the command line, and what
// says how the same work is done is not.
func TestOtherWork(t *testing.T) {
	// A length that is given cuts a sequence; one that is not given anymore does not.
	lengths := []string{"max_model_len", "context_length", "ctx_size", "n_predict"}
	one := func(name string, value any) []steps.Arg { return []steps.Arg{{Name: name, Value: value}} }
	env := func(name string) []steps.EnvVar { return []steps.EnvVar{{Name: name, Value: "x"}} }
	layers := map[string]any{"num_hidden_layers": int64(1)}
	for _, tt := range []struct {
		engine string
		head   steps.ServerSpec
		want   string
	}{
		{"vllm", steps.ServerSpec{Args: one("hf_overrides", layers)}, "hf_overrides"},
		{"vllm", steps.ServerSpec{Args: one("hf_overrides.num_hidden_layers", int64(1))}, "hf_overrides"},
		{"vllm", steps.ServerSpec{Args: one("hf-overrides.text_config.num_hidden_layers", int64(1))}, "hf_overrides"},
		{"vllm", steps.ServerSpec{Args: one("hf_overrides", `{"num_hidden_layers":1}`)}, "hf_overrides"},
		{"vllm", steps.ServerSpec{Args: one("hf_over", layers)}, "hf_overrides"},
		{"vllm", steps.ServerSpec{Args: one("hf-o", layers)}, "hf_overrides"},
		{"vllm", steps.ServerSpec{Args: one("load_format", "dummy")}, "load_format"},
		{"vllm", steps.ServerSpec{Args: one("load-f", "dummy")}, "load_format"},
		{"vllm", steps.ServerSpec{Args: one("model_loader_extra_config.device", "cpu")}, "model_loader_extra_config"},
		{"vllm", steps.ServerSpec{Args: one("override_generation_config", map[string]any{"max_new_tokens": int64(1)})},
			"override_generation_config"},
		{"vllm", steps.ServerSpec{Args: one("override_generation_config.max_new_tokens", int64(1))}, "override_generation_config"},
		{"vllm", steps.ServerSpec{Args: one("generation_config", "vllm")}, "generation_config"},
		{"vllm", steps.ServerSpec{Args: one("chat_template", "x.jinja")}, "chat_template"},
		{"vllm", steps.ServerSpec{Args: one("revision", "abc")}, "revision"},
		{"vllm", steps.ServerSpec{Args: one("download_dir", "/x")}, "download_dir"},
		{"vllm", steps.ServerSpec{Args: one("data_parallel_size_local", int64(1))}, "data_parallel_size_local"},
		{"vllm", steps.ServerSpec{Args: one("device_ids", "1")}, "device_ids"},
		{"vllm", steps.ServerSpec{Args: one("max_model_len", int64(128))}, "max_model_len"},
		{"vllm", steps.ServerSpec{Args: one("speculative_config", map[string]any{"method": "ngram", "rejection_sample_method": "synthetic"})},
			"speculative_config.rejection_sample_method"},
		{"vllm", steps.ServerSpec{Args: one("speculative_config.synthetic_acceptance_length", 4.0)},
			"speculative_config.synthetic_acceptance_length"},
		{"vllm", steps.ServerSpec{Executable: []string{"python3", "-m", "vllm.entrypoints.openai.api_server", "--hf-overrides={}"}},
			"hf_overrides"},
		{"vllm", steps.ServerSpec{Executable: []string{"python3", "-m", "vllm.entrypoints.openai.api_server", "--hf_overrides", "{}"}},
			"hf_overrides"},
		{"vllm", steps.ServerSpec{Executable: []string{"python3", "-m", "vllm.entrypoints.openai.api_server", "-tp", "2"}},
			"tensor_parallel_size"},
		{"vllm", steps.ServerSpec{Executable: []string{"env", "HF_ENDPOINT=http://x", "vllm"}}, "HF_ENDPOINT"},
		{"sglang", steps.ServerSpec{Args: one("tp", int64(2))}, "tensor_parallel_size"},
		{"sglang", steps.ServerSpec{Args: one("json_model_override_args", `{"num_hidden_layers": 1}`)}, "json_model_override_args"},
		{"sglang", steps.ServerSpec{Args: one("json-model", `{"num_hidden_layers": 1}`)}, "json_model_override_args"},
		{"sglang", steps.ServerSpec{Args: one("base_gpu_id", int64(1))}, "base_gpu_id"},
		{"sglang", steps.ServerSpec{Args: one("allow_auto_truncate", true)}, "allow_auto_truncate"},
		{"sglang", steps.ServerSpec{Args: one("context_l", int64(64))}, "context_length"},
		{"sglang", steps.ServerSpec{Args: one("speculative_accept_threshold_acc", 0.1)}, "speculative_accept_threshold_acc"},
		{"openai", steps.ServerSpec{Args: one("tokenizer", "x")}, "tokenizer"},
		{"transformers", steps.ServerSpec{Args: one("force_model", "small")}, "force_model"},
		{"transformers", steps.ServerSpec{Args: one("default_seed", int64(1))}, "default_seed"},
		{"transformers", steps.ServerSpec{Args: one("device", "cuda:1")}, "device"},
		{"transformers", steps.ServerSpec{Args: one("force-model", "small")}, "force_model"},
		{"transformers", steps.ServerSpec{Env: env("HF_HUB_CACHE")}, "HF_HUB_CACHE"},
		{"transformers", steps.ServerSpec{Args: one("attn_implementation", "sdpa")}, ""},
		{"openai", steps.ServerSpec{Executable: []string{"llama-server", "-m", "/models/small.gguf"}}, "model"},
		{"openai", steps.ServerSpec{Executable: []string{"llama-server", "--model=/models/small.gguf"}}, "model"},
		{"openai", steps.ServerSpec{Executable: []string{"llama-server", "-hf", "org/small"}}, "model"},
		{"openai", steps.ServerSpec{Executable: []string{"llama-server", "--hf-repo", "org/small"}}, "model"},
		{"openai", steps.ServerSpec{Executable: []string{"llama-server", "-mu", "http://x/small"}}, "model"},
		{"openai", steps.ServerSpec{Executable: []string{"llama-server", "--n-predict", "4"}}, "n_predict"},
		{"openai", steps.ServerSpec{Executable: []string{"llama-server", "--ctx-size", "64"}}, "ctx_size"},
		{"openai", steps.ServerSpec{Executable: []string{"llama-server", "--override-kv", "llama.block_count=int:1"}}, "override_kv"},
		{"openai", steps.ServerSpec{Env: env("LLAMA_ARG_N_PREDICT")}, "LLAMA_ARG_N_PREDICT"},
		{"openai", steps.ServerSpec{Env: env("LLAMA_ARG_HF_REPO")}, "LLAMA_ARG_HF_REPO"},
		{"openai", steps.ServerSpec{Env: env("GGML_VK_VISIBLE_DEVICES")}, "GGML_VK_VISIBLE_DEVICES"},
		{"openai", steps.ServerSpec{Executable: []string{"trtllm-serve", "m", "--extra_llm_api_options", "x.yaml"}}, "extra_llm_api_options"},
		{"openai", steps.ServerSpec{Executable: []string{"llama-server", "-ngl", "0", "--threads", "2"}}, ""},
		{"openai", steps.ServerSpec{Env: env("LLAMA_ARG_THREADS")}, ""},
		{"vllm", steps.ServerSpec{Executable: []string{"vllm", "--max-model-len", "64"}}, "max_model_len"},
		{"sglang", steps.ServerSpec{Executable: []string{"python3", "-m", "sglang.launch_server", "--context-length=64"}}, "context_length"},
		{"vllm", steps.ServerSpec{Env: env("HF_ENDPOINT")}, "HF_ENDPOINT"},
		{"vllm", steps.ServerSpec{Env: env("HF_HOME")}, "HF_HOME"},
		{"vllm", steps.ServerSpec{Env: env("VLLM_USE_MODELSCOPE")}, "VLLM_USE_MODELSCOPE"},
		{"vllm", steps.ServerSpec{Env: env("HTTPS_PROXY")}, "HTTPS_PROXY"},
		{"sglang", steps.ServerSpec{Env: env("all_proxy")}, "all_proxy"},
		{"vllm", steps.ServerSpec{Env: env("REQUESTS_CA_BUNDLE")}, "REQUESTS_CA_BUNDLE"},
		{"vllm", steps.ServerSpec{Env: env("TIKTOKEN_ENCODINGS_BASE")}, "TIKTOKEN_ENCODINGS_BASE"},
		{"vllm", steps.ServerSpec{Env: env("VLLM_MODEL_REDIRECT_PATH")}, "VLLM_MODEL_REDIRECT_PATH"},
		{"vllm", steps.ServerSpec{Env: env("ASCEND_RT_VISIBLE_DEVICES")}, "ASCEND_RT_VISIBLE_DEVICES"},
		{"vllm", steps.ServerSpec{Env: env("NEURON_RT_VISIBLE_CORES")}, "NEURON_RT_VISIBLE_CORES"},
		{"sglang", steps.ServerSpec{Env: env("SGLANG_SIMULATE_ACC_LEN")}, "SGLANG_SIMULATE_ACC_LEN"},
		{"sglang", steps.ServerSpec{Env: env("SIMULATE_ACC_LEN")}, "SIMULATE_ACC_LEN"},

		{"vllm", steps.ServerSpec{Args: one("max_num_seqs", int64(4))}, ""},
		{"vllm", steps.ServerSpec{Args: one("quantization", "fp8")}, ""},
		{"vllm", steps.ServerSpec{Args: one("speculative_config", map[string]any{"method": "ngram"})}, ""},
		{"vllm", steps.ServerSpec{Args: one("compilation_config.level", int64(3))}, ""},
		{"vllm", steps.ServerSpec{Args: one("chat_template", nil)}, ""},
		{"vllm", steps.ServerSpec{Env: env("VLLM_ATTENTION_BACKEND")}, ""},
		{"vllm", steps.ServerSpec{Env: env("HF_HUB_ENABLE_HF_TRANSFER")}, ""},
		{"vllm", steps.ServerSpec{Executable: []string{"/opt/head/bin/vllm"}}, ""},
		{"sglang", steps.ServerSpec{Args: one("skip_tokenizer_init", false)}, ""},
		{"sglang", steps.ServerSpec{Args: one("chunked_prefill_size", int64(512))}, ""},
	} {
		for _, version := range map[string][]string{"vllm": {"0.33.0", "0.33.0rc1", "0.1.0", ""}, "sglang": {"0.5.23", "0.5.23rc1", "0.1.0", ""},
			"openai": {""}, "transformers": {""}}[tt.engine] {
			base := steps.ServerSpec{Engine: tt.engine, Version: version}
			head := tt.head
			head.Engine, head.Version = base.Engine, base.Version
			if got := argument.OtherWork(base, head); got != tt.want {
				t.Errorf("%s %q %v %v %v: %q, want %q", tt.engine, version, head.Args, head.Env, head.Executable, got, tt.want)
			}
			if got := argument.OtherWork(head, base); got != tt.want && !slices.Contains(lengths, tt.want) {
				t.Errorf("%s without %v %v %v: %q, want %q", tt.engine, head.Args, head.Env, head.Executable, got, tt.want)
			}
		}
	}
	length := func(v any) steps.ServerSpec { return vllmWith(steps.Arg{Name: "max_model_len", Value: v}) }
	if got := argument.OtherWork(length(int64(4096)), length("8k")); got != "" {
		t.Errorf("a longer sequence is other work: %s", got)
	}
	if got := argument.OtherWork(length("8k"), length(int64(4096))); got != "max_model_len" {
		t.Errorf("a shorter sequence is %q", got)
	}
}

// TestOtherWorkInAnyForm: whichever two forms of an argument the sides use, equal values are
// the same work and other ones are not.
func TestOtherWorkInAnyForm(t *testing.T) {
	heads := []string{"hf_overrides", "hf-overrides", "hf_over", "hf-ov"}
	rapid.Check(t, func(t *rapid.T) {
		form := func(label string, layers int64) steps.ServerSpec {
			head := rapid.SampledFrom(heads).Draw(t, label)
			inner := map[string]any{"num_hidden_layers": layers}
			switch rapid.IntRange(0, 2).Draw(t, label+" form") {
			case 0:
				return vllmWith(steps.Arg{Name: head, Value: inner})
			case 1:
				text, err := argument.CompactJSON(inner)
				if err != nil {
					t.Fatal(err)
				}
				return vllmWith(steps.Arg{Name: head, Value: text})
			}
			return vllmWith(steps.Arg{Name: head + ".num_hidden_layers", Value: layers})
		}
		x, y := rapid.Int64Range(1, 3).Draw(t, "x"), rapid.Int64Range(1, 3).Draw(t, "y")
		if got := argument.OtherWork(form("base", x), form("head", y)); (got == "") != (x == y) {
			t.Fatalf("%d and %d: %q", x, y, got)
		}
	})
}
