package llamacpp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/llamacpp"
	"github.com/zclconf/go-cty/cty"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRenderGolden(t *testing.T) {
	const file = "/models/qwen2.5-7b-instruct-q4_k_m.gguf"
	var b strings.Builder
	for _, spec := range []steps.ServerSpec{
		{Addr: "file", Model: "tiny.gguf", ServedName: "tiny"},
		{Addr: "hub", Model: "ggml-org/gemma-3-4b-it-GGUF:Q4_K_M"},
		{Addr: "url", Model: "https://example.com/m.gguf"},
		{Addr: "program", Executable: []string{"numactl", "--membind=0", "./build/bin/llama-server"}, Model: file, APIKey: "k",
			Args: []steps.Arg{
				{Name: "parallel", Value: int64(8)},
				{Name: "cont_batching", Value: false},
				{Name: "offline", Value: false},
				{Name: "seed", Value: int64(-1)},
				{Name: "flash_attn", Value: "on"},
				{Name: "gpu_layers", Value: "all"},
			}},
		{Addr: "metrics", Model: file, Args: []steps.Arg{{Name: "metrics", Value: false}}},
		{Addr: "image", Image: "ghcr.io/ggml-org/llama.cpp:server-cuda-b10434", Model: file, GPUs: 1, Container: &steps.ContainerSpec{}},
	} {
		p, err := llamacpp.New().Render(spec, spec.ListenHost(), steps.PortNumber(8080))
		if err != nil {
			t.Fatalf("%s: %v", spec.Addr, err)
		}
		fmt.Fprintf(&b, "# %s\n%s\n", p.Name, strings.Join(p.Argv, " "))
		for _, e := range p.Env {
			fmt.Fprintf(&b, "  %s, secret %t\n", e.Name, e.Secret)
		}
	}
	golden.Equal(t, "testdata/render.golden", b.String())
}

func TestRenderRefuses(t *testing.T) {
	arg := func(name string, value any) steps.ServerSpec {
		return steps.ServerSpec{Addr: "s", Model: "m.gguf", Args: []steps.Arg{{Name: name, Value: value}}}
	}
	for name, tt := range map[string]struct {
		spec steps.ServerSpec
		want string
	}{
		"no model": {steps.ServerSpec{Addr: "s"}, "model is not set"},
		"key":      {arg("api_key", "k"), "set api_key"},
		"token":    {arg("hf-token", "k"), "set HF_TOKEN in env"},
		"alias":    {arg("alias", "x"), "set served_name"},
	} {
		_, err := llamacpp.New().Render(tt.spec, "127.0.0.1", steps.PortNumber(1))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
}

func TestValidate(t *testing.T) {
	args := func(values map[string]cty.Value) map[string]cty.Value {
		return map[string]cty.Value{"model": cty.StringVal("m.gguf"), "version": cty.StringVal("b10434"), "args": cty.ObjectVal(values)}
	}
	for name, tt := range map[string]struct {
		attrs map[string]cty.Value
		want  string
	}{
		"model":        {map[string]cty.Value{"model": cty.StringVal("m.gguf")}, ""},
		"url":          {map[string]cty.Value{"url": cty.StringVal("http://h")}, ""},
		"no model":     {map[string]cty.Value{"executable": cty.StringVal("x")}, "model is missing"},
		"nodes":        {map[string]cty.Value{"model": cty.StringVal("m"), "nodes": cty.NumberIntVal(2)}, "serves from one node"},
		"known":        {args(map[string]cty.Value{"n_gpu_layers": cty.StringVal("all"), "no_kv_offload": cty.True}), ""},
		"abbreviation": {args(map[string]cty.Value{"ctx": cty.NumberIntVal(1)}), "llama.cpp b10434 has no argument ctx"},
		"short":        {args(map[string]cty.Value{"ngl": cty.NumberIntVal(1)}), "llama.cpp b10434 has no argument ngl"},
		"removed":      {args(map[string]cty.Value{"draft_max": cty.NumberIntVal(1)}), "llama.cpp b10434 has no argument draft_max"},
		"choice":       {args(map[string]cty.Value{"flash_attn": cty.StringVal("maybe")}), "must be one of on, off, auto"},
		"not a number": {args(map[string]cty.Value{"ctx_size": cty.StringVal("many")}), "takes a whole number"},
		"below 0":      {args(map[string]cty.Value{"ctx_size": cty.NumberIntVal(-1)}), "args.ctx_size cannot be -1"},
	} {
		found := llamacpp.Kind().Validate(steps.Object{Attrs: tt.attrs})
		if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) != 1 || !strings.Contains(found[0].Summary, tt.want)) {
			t.Errorf("%s: %v, want %s", name, found, tt.want)
		}
	}
}

// server answers as llama-server b10434 did to a model of 0.6 MB with four slots.
func server(t *testing.T, loading bool) steps.Endpoint {
	t.Helper()
	pages := map[string]string{"/health": "health.json", "/v1/models": "models.json", "/props": "props.json", "/metrics": "metrics.txt",
		"/v1/completions": "completion.json"}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if loading {
			file = "loading.json"
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(s.Close)
	return steps.Endpoint{BaseURL: s.URL, Model: "tiny"}
}

func TestReady(t *testing.T) {
	ctx, e := context.Background(), llamacpp.New()
	if state, ready, err := e.Ready(ctx, server(t, true), steps.Readiness{}); ready || err == nil || state != steps.StateListening {
		t.Errorf("while it loads: %s, %v, %v", state, ready, err)
	}
	if state, ready, err := e.Ready(ctx, server(t, false), steps.Readiness{}); !ready || state != steps.StateReady {
		t.Errorf("%s, %v, %v", state, ready, err)
	}
	if err := e.Reset(ctx, steps.Endpoint{}); !errors.Is(err, steps.ErrNoReset) {
		t.Errorf("reset: %v", err)
	}
}

func TestDescribe(t *testing.T) {
	facts, err := llamacpp.New().Describe(context.Background(), server(t, false))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"version": "b10434", "model": "tiny", "model_root": "/models/quick.gguf", "slots": "4",
		"max_model_len": "1024", "props.endpoint_metrics": "true", "props.media_marker": "", "props.is_sleeping": ""} {
		if facts[name] != want {
			t.Errorf("%s is %q, want %q", name, facts[name], want)
		}
	}
	if facts["props.default_generation_settings.params.temperature"] == "" {
		t.Errorf("the sampling defaults are missing: %v", facts)
	}
}

func TestObserve(t *testing.T) {
	o, err := llamacpp.New().Capabilities().Observer.Observe(context.Background(), server(t, false))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"prompt_tokens": 22, "prefix_queries": 22, "prefix_hits": 10, "generation_tokens": 8}
	if d := cmp.Diff(want, o.Counters); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]float64{"running": 1, "waiting": 2}, o.Gauges); d != "" {
		t.Error(d)
	}
}

// TestStartFacts reads lines as b10068 and b10434 write them.
func TestStartFacts(t *testing.T) {
	const mib = 1 << 20
	for name, tt := range map[string]struct {
		log  []string
		want map[string]float64
	}{
		"timed": {[]string{"0.00.012.000 I srv    load_model: loading model '/models/quick.gguf'",
			"0.02.262.500 I srv    load_model: initializing, n_slots = 1, n_ctx_slot = 1024, kv_unified = 'false'"},
			map[string]float64{"kv_cache_tokens": 1024, "model_load_seconds": 2.2505}},
		"divided": {[]string{"0.00.287.761 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 1024, kv_unified = 'false'"},
			map[string]float64{"kv_cache_tokens": 4096}},
		"shared": {[]string{"0.01.372.287 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 512, kv_unified = 'true'"},
			map[string]float64{"kv_cache_tokens": 512}},
		"verbose": {[]string{
			"0.00.068.224 I print_info: file size   = 0.56 MiB (32.00 BPW) ",
			"0.00.026.906 I llama_kv_cache: size =    2.00 MiB (  1024 cells,   2 layers,  4/4 seqs), K (f16):    1.00 MiB, V (f16):    1.00 MiB",
		}, map[string]float64{"weight_bytes": 0.56 * mib, "kv_cache_bytes": 2 * mib}},
	} {
		if d := cmp.Diff(tt.want, llamacpp.New().Capabilities().Observer.StartFacts(tt.log)); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

// TestClassify reads lines as b10434 wrote them.
func TestClassify(t *testing.T) {
	for want, line := range map[string]string{
		"arguments":     "error: invalid argument: --foo",
		"port_in_use":   "0.00.009.487 E srv         start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 18933",
		"model_missing": "0.00.067.587 E gguf_init_from_file: failed to open GGUF file '/nope.gguf' (No such file or directory)",
		"model_invalid": "0.00.021.000 E llama_model_load: error loading model: unknown model architecture: 'x'",
		"out_of_memory": "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4403.49 MiB on device 0: cudaMalloc failed: out of memory",
		"unknown":       "0.00.293.071 I srv  llama_server: model loaded",
	} {
		if got, _ := llamacpp.New().Classify([]string{line}); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if got, _ := llamacpp.New().Classify([]string{`error while handling argument "--ctx-size": stoi`}); got != "arguments" {
		t.Errorf("a value: %s", got)
	}
}
