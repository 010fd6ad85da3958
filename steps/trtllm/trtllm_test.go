package trtllm_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
	. "github.com/servegate/pipeline/steps/trtllm"
	"github.com/zclconf/go-cty/cty"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRenderGolden(t *testing.T) {
	const model = "meta-llama/Llama-3.1-8B-Instruct"
	var b strings.Builder
	for _, spec := range []steps.ServerSpec{
		{Addr: "plain", Model: model},
		{Addr: "options", Model: model, Version: "1.2.1", Args: []steps.Arg{
			{Name: "tp_size", Value: int64(2)}, {Name: "trust_remote_code", Value: true},
			{Name: "config", Value: map[string]any{"return_perf_metrics": true, "cuda_graph_config": nil,
				"kv_cache_config": map[string]any{"free_gpu_memory_fraction": 0.85}, "tiny": []any{0.00001, int64(3)}}},
		}},
		{Addr: "options before 1.2", Model: model, Version: "1.0.0", Args: []steps.Arg{
			{Name: "extra_llm_api_options", Value: map[string]any{"enable_attention_dp": true}}, {Name: "ep_size", Value: int64(4)},
		}},
		{Addr: "interpreter", Model: model, Executable: []string{"python3"},
			Args: []steps.Arg{{Name: "custom_module_dirs", Value: []any{"a", "b"}}}},
		{Addr: "words", Model: model, Executable: []string{"numactl", "--membind=0", "/opt/bin/trtllm-serve"}},
		{Addr: "image", Image: "nvcr.io/nvidia/tensorrt-llm/release:1.2.0", Model: model, GPUs: 1, Container: &steps.ContainerSpec{}},
	} {
		p, err := New().Render(spec, spec.ListenHost(), steps.PortNumber(8000))
		if err != nil {
			t.Fatalf("%s: %v", spec.Addr, err)
		}
		fmt.Fprintf(&b, "# %s\n%s\n", p.Name, strings.Join(p.Argv, " "))
		for _, f := range p.Files {
			fmt.Fprintf(&b, "%s\n%s", f.Name, f.Content)
		}
	}
	golden.Equal(t, "testdata/render.golden", b.String())
}

func TestRenderRefuses(t *testing.T) {
	arg := func(name string, value any) steps.ServerSpec {
		return steps.ServerSpec{Addr: "s", Model: "m", Args: []steps.Arg{{Name: name, Value: value}}}
	}
	for name, tt := range map[string]struct {
		spec steps.ServerSpec
		want string
	}{
		"no model": {steps.ServerSpec{Addr: "s"}, "model is not set"},
		"port":     {arg("port", int64(1)), "set port"},
		"role":     {arg("server_role", "CONTEXT"), "disaggregated serving is not modelled"},
		"url":      {steps.ServerSpec{Addr: "s", URL: "http://h"}, "is not started"},
	} {
		_, err := New().Render(tt.spec, "127.0.0.1", steps.PortNumber(1))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
}

func TestValidate(t *testing.T) {
	server := func(version string, gpus int64, args map[string]cty.Value) map[string]cty.Value {
		return map[string]cty.Value{"model": cty.StringVal("m"), "version": cty.StringVal(version), "gpus": cty.NumberIntVal(gpus),
			"args": cty.ObjectVal(args)}
	}
	options := func(values map[string]cty.Value) map[string]cty.Value {
		return map[string]cty.Value{"config": cty.ObjectVal(values)}
	}
	for name, tt := range map[string]struct {
		attrs map[string]cty.Value
		want  string
	}{
		"model":    {map[string]cty.Value{"model": cty.StringVal("m")}, ""},
		"no model": {map[string]cty.Value{"executable": cty.StringVal("x")}, "model is missing"},
		"nodes":    {map[string]cty.Value{"model": cty.StringVal("m"), "nodes": cty.NumberIntVal(2)}, "runs on one node"},
		"key": {map[string]cty.Value{"model": cty.StringVal("m"), "api_key": cty.StringVal("k")},
			"api_key needs a server that already runs"},
		"options": {server("1.2.0", 4, options(map[string]cty.Value{"tensor_parallel_size": cty.NumberIntVal(4)})), ""},
		"GPUs in the options": {server("1.2.0", 2, options(map[string]cty.Value{"tensor_parallel_size": cty.NumberIntVal(4)})),
			"tensor and pipeline parallelism need 4 GPUs, and the server has 2"},
		"a size in the options": {server("1.2.0", 1, options(map[string]cty.Value{"max_seq_len": cty.NumberIntVal(0)})),
			"args.config.max_seq_len cannot be 0"},
		"a path for options": {server("1.2.0", 1, map[string]cty.Value{"config": cty.StringVal("options.yaml")}), "takes an object"},
		"both": {server("1.1.0", 2, map[string]cty.Value{"tp_size": cty.NumberIntVal(2),
			"extra_llm_api_options": cty.ObjectVal(map[string]cty.Value{"tensor_parallel_size": cty.NumberIntVal(2)})}),
			"args.tp_size and args.extra_llm_api_options.tensor_parallel_size are the same setting"},
		"newer": {server("1.1.0", 1, map[string]cty.Value{"config": cty.EmptyObjectVal}), "TensorRT-LLM 1.1.0 has no argument config"},
		"abbreviation": {server("1.2.0", 1, map[string]cty.Value{"max_batch": cty.NumberIntVal(1)}),
			"TensorRT-LLM 1.2.0 has no argument max_batch"},
	} {
		found := Kind().Validate(steps.Object{Attrs: tt.attrs})
		if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) != 1 || !strings.Contains(found[0].Summary, tt.want)) {
			t.Errorf("%s: %v, want %s", name, found, tt.want)
		}
	}
}

// TestSameWork compares settings wherever they stand: as a flag, by its other name, or in the file of options.
func TestSameWork(t *testing.T) {
	spec := func(args ...steps.Arg) steps.ServerSpec {
		return steps.ServerSpec{Engine: Name, Version: "1.2.0", Model: "m", Args: args}
	}
	config := func(key string, value any) steps.Arg {
		return steps.Arg{Name: "config", Value: map[string]any{key: value}}
	}
	for name, tt := range map[string]struct {
		base, head steps.ServerSpec
		want       string
	}{
		"a flag and its setting": {spec(steps.Arg{Name: "tp_size", Value: int64(2)}), spec(config("tensor_parallel_size", int64(2))), ""},
		"GPUs":                   {spec(), spec(config("tensor_parallel_size", int64(2))), "tensor_parallel_size"},
		"a shorter length":       {spec(config("max_seq_len", int64(4096))), spec(config("max_seq_len", int64(1024))), "max_seq_len"},
		"a longer length":        {spec(config("max_seq_len", int64(1024))), spec(config("max_seq_len", int64(4096))), ""},
		"fewer layers":           {spec(), spec(config("model_kwargs", map[string]any{"num_hidden_layers": int64(2)})), "model_kwargs"},
		"how":                    {spec(), spec(config("kv_cache_config", map[string]any{"enable_block_reuse": false})), ""},
		"speculation":            {spec(), spec(config("speculative_config", map[string]any{"decoding_type": "MTP"})), ""},
		"speculation that is off": {spec(), spec(config("speculative_config", map[string]any{"relaxed_topk": int64(10)})),
			"speculative_config.relaxed_topk"},
	} {
		if got := argument.OtherWork(tt.base, tt.head); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	forced := spec()
	forced.Env = []steps.EnvVar{{Name: "TLLM_OVERRIDE_LAYER_NUM", Value: "2"}}
	if got := argument.OtherWork(spec(), forced); got != "TLLM_OVERRIDE_LAYER_NUM" {
		t.Errorf("layers by a variable: %q", got)
	}
}

// server answers as the routes of openai_server.py in 1.2 do.
func server(t *testing.T) steps.Endpoint {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/health":
		case "/version":
			_, _ = w.Write([]byte(`{"version":"1.2.0"}`))
		case "/v1/models":
			_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"llama","object":"model","owned_by":"tensorrt_llm"}]}`))
		case "/v1/completions":
			_, _ = w.Write([]byte(`{"choices":[{"text":" x","index":0,"finish_reason":"length"}],"usage":{"completion_tokens":1}}`))
		case "/prometheus/metrics":
			text, err := os.ReadFile("testdata/metrics.txt")
			if err != nil {
				t.Error(err)
			}
			_, _ = w.Write(text)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return steps.Endpoint{BaseURL: s.URL, Model: "/models/llama"}
}

func TestServer(t *testing.T) {
	ctx, e, ep := context.Background(), New(), server(t)
	if state, ready, err := e.Ready(ctx, ep, steps.Readiness{}); !ready || state != steps.StateReady {
		t.Errorf("%s, %v, %v", state, ready, err)
	}
	if err := e.Reset(ctx, ep); !errors.Is(err, steps.ErrNoReset) {
		t.Errorf("reset: %v", err)
	}
	facts, err := e.Describe(ctx, ep)
	if err != nil || facts["version"] != "1.2.0" || facts["model"] != "llama" {
		t.Errorf("%v, %v", facts, err)
	}
	o, err := e.Capabilities().Observer.Observe(ctx, ep)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"prompt_tokens": 5120, "generation_tokens": 640, "prefix_hits": 1024, "prefix_queries": 5120,
		"queue_seconds": 0.25, "queued": 20, "request_success.length": 20}
	if d := cmp.Diff(want, o.Counters); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]float64{"running": 1, "waiting": 2, "kv_usage": 0.125, "hit_rate": 0.2}, o.Gauges); d != "" {
		t.Error(d)
	}
}

// TestStartFacts reads a start of 1.1.0rc3 with its PyTorch backend, as published with its times: the server measures
// with a small KV cache, and then starts again with the final one.
func TestStartFacts(t *testing.T) {
	text, err := os.ReadFile("testdata/start.log")
	if err != nil {
		t.Fatal(err)
	}
	const gib = 1 << 30
	got := New().Capabilities().Observer.StartFacts(strings.Split(string(text), "\n"))
	want := map[string]float64{steps.StartWeights: 63.32 * gib, steps.StartLoad: 49.14, steps.StartKVTokens: 86720,
		steps.StartKVBytes: 5.95 * gib,
		steps.StartCompile: 27 + 1, steps.StartGraphs: 13 + 4}
	close := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(a) })
	if d := cmp.Diff(want, got, close); d != "" {
		t.Error(d)
	}
}

func TestClassify(t *testing.T) {
	for want, line := range map[string]string{
		"arguments":     "Error: No such option: --foo",
		"port_in_use":   "RuntimeError: Failed to bind socket to 127.0.0.1:8000: [Errno 98] Address already in use",
		"out_of_memory": "RuntimeError: Executor creation failed due to insufficient GPU memory.",
		"driver":        "ValueError: No GPU devices found on the node",
		"unknown":       "Model init total -- 49.14s",
	} {
		if got, _ := New().Classify([]string{line}); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	const unknown = "pydantic_core._pydantic_core.ValidationError: 1 validation error for TorchLlmArgs"
	if got, _ := New().Classify([]string{unknown}); got != "arguments" {
		t.Errorf("an unknown option: %s", got)
	}
}
