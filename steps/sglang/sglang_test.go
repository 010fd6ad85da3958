package sglang_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/sglang"
	"github.com/zclconf/go-cty/cty"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRenderGolden(t *testing.T) {
	const model = "meta-llama/Llama-3.1-8B-Instruct"
	var b strings.Builder
	for _, spec := range []steps.ServerSpec{
		{Addr: "default", Model: model},
		{Addr: "args", Model: model, ServedName: "sut", Args: []steps.Arg{
			{Name: "enable_piecewise_cuda_graph", Value: true},
			{Name: "disable_radix_cache", Value: false},
			{Name: "lora_strict_loading", Value: false},
			{Name: "mem_fraction_static", Value: 0.85},
			{Name: "cuda_graph_bs", Value: []any{int64(1), int64(8)}},
			{Name: "json_model_override_args", Value: map[string]any{"a": int64(1)}},
			{Name: "quantization", Value: nil},
		}},
		{Addr: "interpreter", Executable: []string{"/opt/venv/bin/python"}, Model: model},
		{Addr: "command", Executable: []string{"uv", "run", "sglang"}, Model: model},
		{Addr: "module", Executable: []string{"python3.12", "-m", "sglang.launch_server"}, Model: model},
		{Addr: "image", Image: "lmsysorg/sglang:v0.5.5", Model: model, GPUs: 2, Container: &steps.ContainerSpec{ShmSize: 16 << 30}},
		{
			Addr: "image with its own program", Image: "lmsysorg/sglang:v0.5.5", Model: model,
			Container: &steps.ContainerSpec{Network: steps.NetworkHost, Entrypoint: []string{"/opt/venv/bin/python"}},
		},
	} {
		p, err := sglang.New().Render(spec, spec.ListenHost(), steps.PortNumber(30000))
		if err != nil {
			t.Fatalf("%s: %v", spec.Addr, err)
		}
		fmt.Fprintf(&b, "# %s\n%s\n", p.Name, strings.Join(p.Argv, " "))
		if c := p.Container; c != nil {
			fmt.Fprintf(&b, "  image %s, GPUs %+v, shared memory %d, own entrypoint %v\n", c.Image, c.GPUs, c.ShmSize, c.OwnEntrypoint)
		}
	}
	golden.Equal(t, "testdata/render.golden", b.String())
}

// The same arguments for two versions, each a command line that its parser takes.
func TestRenderVersions(t *testing.T) {
	var b strings.Builder
	for _, version := range []string{"0.5.5", "0.5.23"} {
		spec := steps.ServerSpec{
			Addr: "SGLang " + version, Image: "lmsysorg/sglang:v" + version + "-cu129", OwnImages: sglang.Kind().Images,
			Model: "meta-llama/Llama-3.1-8B-Instruct",
			Args: []steps.Arg{
				{Name: "tp_size", Value: int64(2)},
				{Name: "disable_radix_cache", Value: false},
				{Name: "enable_mixed_chunk", Value: true},
				{Name: "enable_tf32_matmul", Value: false},
				{Name: "chunked_prefill_size", Value: int64(-1)},
				{Name: "bucket_time_to_first_token", Value: []any{0.1, 0.5, int64(1)}},
				{Name: "json_model_override_args", Value: map[string]any{"a": int64(1)}},
			},
		}
		p, err := sglang.New().Render(spec, spec.ListenHost(), steps.PortNumber(30000))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "# %s\n%s\n", p.Name, strings.Join(p.Argv, "\n  "))
	}
	golden.Equal(t, "testdata/versions.golden", b.String())
}

func TestRenderRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		spec steps.ServerSpec
		want string
	}{
		"no model":   {steps.ServerSpec{Addr: "s"}, "model is not set"},
		"key":        {steps.ServerSpec{Addr: "s", Model: "m", APIKey: "k"}, "every user of the machine can read"},
		"model_path": {steps.ServerSpec{Addr: "s", Model: "m", Args: []steps.Arg{{Name: "model_path", Value: "x"}}}, "set model"},
	} {
		_, err := sglang.New().Render(tt.spec, "127.0.0.1", steps.PortNumber(1))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), `"k"`) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
}

func fake(t *testing.T, h http.HandlerFunc) (steps.Engine, steps.Endpoint) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return sglang.New(), steps.Endpoint{BaseURL: s.URL, Model: "m"}
}

func TestReset(t *testing.T) {
	for name, tt := range map[string]struct {
		statuses []int
		asked    int
		want     error
	}{
		"flushed":     {[]int{200}, 1, nil},
		"busy first":  {[]int{400, 400, 200}, 3, nil},
		"always busy": {[]int{400}, 10, engine.ErrBusy},
		"no endpoint": {[]int{404}, 1, steps.ErrNoReset},
	} {
		asked := 0
		g, ep := fake(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != "/flush_cache" {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			w.WriteHeader(tt.statuses[min(asked, len(tt.statuses)-1)])
			asked++
		})
		synctest.Test(t, func(t *testing.T) { // the server is outside, and the client keeps no connections
			if err := g.Reset(t.Context(), ep); !errors.Is(err, tt.want) || asked != tt.asked {
				t.Errorf("%s: %v after %d requests; want %v after %d", name, err, asked, tt.want, tt.asked)
			}
		})
	}
	g, ep := fake(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) })
	if err := g.Reset(context.Background(), ep); err == nil || errors.Is(err, steps.ErrNoReset) {
		t.Errorf("status 401: %v", err)
	}
}

func TestDescribe(t *testing.T) {
	for _, path := range []string{"/server_info", "/get_server_info"} {
		g, ep := fake(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case path:
				_, _ = w.Write([]byte(`{"version":"0.5.3","tp_size":1,"api_key":"k","internal_states":[{"last_gen_throughput":3.1}]}`))
			case "/v1/models":
				_, _ = w.Write([]byte(`{"data":[{"id":"m","max_model_len":4096}]}`))
			default:
				http.NotFound(w, r)
			}
		})
		got, err := g.Describe(context.Background(), ep)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"version": "0.5.3", "model": "m", "max_model_len": "4096",
			"server_info.version": "0.5.3", "server_info.tp_size": "1", "server_info.api_key": "(redacted)",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", path, diff)
		}
	}
	g, ep := fake(t, http.NotFound)
	if _, err := g.Describe(context.Background(), ep); err == nil {
		t.Error("a server that says nothing has no description")
	}
}

func TestReady(t *testing.T) {
	health := 503
	g, ep := fake(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/health":
			w.WriteHeader(health)
		case "/v1/models":
			_, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`))
		case "/v1/completions":
			_, _ = w.Write([]byte(`{"choices":[{"text":" a"}],"usage":{"completion_tokens":1}}`))
		}
	})
	ctx := context.Background()
	if state, ready, _ := g.Ready(ctx, ep, steps.Readiness{}); ready || state != steps.StateListening {
		t.Errorf("models are listed before the server is healthy: state %s, ready %v", state, ready)
	}
	health = 200
	if state, ready, err := g.Ready(ctx, ep, steps.Readiness{}); !ready || state != steps.StateReady {
		t.Errorf("state %s, ready %v, %v", state, ready, err)
	}
}

// Lines as SGLang 0.5 prints them.
func TestClassify(t *testing.T) {
	for line, want := range map[string]string{
		"RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.":                            "kv_cache_too_small",
		"ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.":              "gpu_busy",
		"Initialization failed. warmup error: Traceback (most recent call last):":                                   "slow_start",
		"Disaggregation warmup failed (mode=prefill), status code: 500":                                             "transfer_mismatch",
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.":                                   "out_of_memory",
		"Received sigquit from a child process. It usually means the child failed.":                                 "engine_failed",
		"[2026-01-01 00:00:00] The server is fired up and ready to roll!":                                           "unknown",
		"launch_server.py: error: unrecognized arguments: --enable-foo":                                             "arguments",
		"/usr/bin/python3: Error while finding module specification: ModuleNotFoundError: No module named 'sglang'": "not_installed",
		"ERROR: [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use":  "port_in_use",
	} {
		if class, _ := sglang.New().Classify([]string{"INFO x", line}); class != want {
			t.Errorf("%s: got %s, want %s", line, class, want)
		}
	}
}

func TestValidate(t *testing.T) {
	k := sglang.Kind()
	if k.Block != "server" || k.Name != sglang.Name || k.Doc == "" {
		t.Errorf("kind is %s %s", k.Block, k.Name)
	}
	m := cty.StringVal("m")
	for name, tt := range map[string]struct {
		attrs map[string]cty.Value
		want  int
	}{
		"plain":         {map[string]cty.Value{"image": cty.StringVal("i:v1"), "model": m}, 0},
		"no model":      {map[string]cty.Value{"image": cty.StringVal("i:v1")}, 1},
		"key":           {map[string]cty.Value{"model": m, "api_key": cty.StringVal("k")}, 1},
		"key for a url": {map[string]cty.Value{"url": cty.StringVal("http://h"), "api_key": cty.StringVal("k")}, 0},
		"reserved":      {map[string]cty.Value{"model": m, "args": cty.ObjectVal(map[string]cty.Value{"api-key": m})}, 1},
	} {
		if got := k.Validate(steps.Object{Attrs: tt.attrs}); len(got) != tt.want {
			t.Errorf("%s: %v, want %d problems", name, got, tt.want)
		}
	}
}
