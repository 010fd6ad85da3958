package vllm_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/vllm"
	"github.com/zclconf/go-cty/cty"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers with the handler.
func server(t *testing.T, h http.HandlerFunc) (steps.Engine, steps.Endpoint) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return vllm.New(), steps.Endpoint{BaseURL: s.URL, Model: "m"}
}

func TestReset(t *testing.T) {
	tests := map[string]struct {
		status int
		bodies []string
		asked  int
		want   error
	}{
		"no body":        {200, []string{""}, 1, nil},
		"success":        {200, []string{`{"success":true}`}, 1, nil},
		"busy at first":  {200, []string{`{"success":false}`, `{"success":false}`, `{"success":true}`}, 3, nil},
		"always busy":    {200, []string{`{"success":false}`}, 10, engine.ErrBusy},
		"no development": {404, []string{`{"detail":"Not Found"}`}, 1, steps.ErrNoReset},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			asked := 0
			v, ep := server(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost || r.URL.Path != "/reset_prefix_cache" {
					t.Errorf("%s %s", r.Method, r.URL)
				}
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.bodies[min(asked, len(tt.bodies)-1)]))
				asked++
			})
			synctest.Test(t, func(t *testing.T) { // the server is outside, and the client keeps no connections
				err := v.Reset(t.Context(), ep)
				if !errors.Is(err, tt.want) || asked != tt.asked {
					t.Errorf("%v after %d requests; want %v after %d", err, asked, tt.want, tt.asked)
				}
			})
		})
	}
}

func TestResetFails(t *testing.T) {
	v, ep := server(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	if err := v.Reset(context.Background(), ep); err == nil || errors.Is(err, steps.ErrNoReset) || errors.Is(err, engine.ErrBusy) {
		t.Errorf("status 500: %v", err)
	}
}

func TestDescribe(t *testing.T) {
	v, ep := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/version":
			_, _ = w.Write([]byte(`{"version":"0.11.0"}`))
		case "/v1/models":
			_, _ = w.Write([]byte(`{"data":[{"id":"other"},{"id":"m","root":"org/m","max_model_len":8192}]}`))
		case "/server_info":
			_, _ = w.Write([]byte(`{"vllm_config":{"cache_config":{"block_size":16}},"vllm_env":{"VLLM_API_KEY":"k","HOME":"/root"}}`))
		default:
			http.NotFound(w, r)
		}
	})
	got, err := v.Describe(context.Background(), ep)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"version": "0.11.0", "model": "m", "model_root": "org/m", "max_model_len": "8192",
		"server_info.vllm_config.cache_config.block_size": "16",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	v, ep = server(t, http.NotFound)
	if _, err := v.Describe(context.Background(), ep); err == nil {
		t.Error("a server that says nothing has no description")
	}
}

func TestReadyPath(t *testing.T) {
	v, ep := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/custom":
		case "/v1/models":
			_, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`))
		case "/v1/completions":
			_, _ = w.Write([]byte(`{"choices":[{"text":" a"}],"usage":{"completion_tokens":1}}`))
		default:
			http.NotFound(w, r)
		}
	})
	ctx := context.Background()
	if state, ready, err := v.Ready(ctx, ep, steps.Readiness{Path: "/custom"}); state != steps.StateReady || !ready || err != nil {
		t.Errorf("own path: %s, %v, %v", state, ready, err)
	}
	if state, ready, err := v.Ready(ctx, ep, steps.Readiness{}); state != steps.StateListening || ready ||
		!strings.Contains(err.Error(), "/health") {
		t.Errorf("default path: %s, %v, %v", state, ready, err)
	}
}

// Lines as vLLM 0.6 to 0.33 prints them.
func TestClassify(t *testing.T) {
	for line, want := range map[string]string{
		"ValueError: Free memory on device cuda:0 (3.2/79.1 GiB) on startup is less than desired GPU memory utilization (0.9, 71.2 GiB).": "gpu_busy",
		"ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.":     "kv_cache_too_small",
		"ValueError: To serve at least one request with the model's max seq len (131072), 16.0 GiB KV cache is needed":                    "kv_cache_too_small",
		"RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests.":                                     "out_of_memory",
		"TimeoutError: Timed out waiting for engine core processes to start. This is often caused by slow weight loading for large models. " +
			"Waited 600s (configured by VLLM_ENGINE_READY_TIMEOUT_S)": "slow_start",
		"vllm: error: unrecognized arguments: --foo":                                                     "arguments",
		"RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}": "engine_failed",
		"INFO:     Application startup complete.":                                                        "unknown",
	} {
		class, evidence := vllm.New().Classify([]string{"INFO x", line})
		if class != want || class != "unknown" && evidence != line {
			t.Errorf("%s: got %s (%s), want %s", line, class, evidence, want)
		}
	}
}

// Whole logs of starts that failed: the cause is found although what follows it is longer
// than the end of a log that reports show.
func TestClassifyRealLogs(t *testing.T) {
	for name, want := range map[string]struct{ class, evidence string }{
		"unknown-argument": {"arguments", "vllm: error: unrecognized arguments: --foo 3"},
		"bad-model":        {"model_missing", "HFValidationError: Repo id must be in the form"},
		"port-in-use":      {"port_in_use", "OSError: [Errno 98] Address already in use"},
		"kv-too-small":     {"kv_cache_too_small", "ValueError: To serve at least one request with the model's max seq len (2048)"},
		"no-flashinfer":    {"not_installed", "ModuleNotFoundError: No module named 'flashinfer'"},
	} {
		text, err := os.ReadFile("testdata/start-" + name + ".log")
		if err != nil {
			t.Fatal(err)
		}
		class, evidence := vllm.New().Classify(strings.Split(string(text), "\n"))
		if class != want.class || !strings.Contains(evidence, want.evidence) {
			t.Errorf("%s: got %s (%s)", name, class, evidence)
		}
	}
}

func TestValidate(t *testing.T) {
	k := vllm.Kind()
	if k.Block != "server" || k.Name != vllm.Name || k.Doc == "" {
		t.Errorf("kind is %s %s", k.Block, k.Name)
	}
	count := func(attrs map[string]cty.Value) int { return len(k.Validate(steps.Object{Attrs: attrs})) }
	m := cty.StringVal("m")
	for name, tt := range map[string]struct {
		attrs map[string]cty.Value
		want  int
	}{
		"plain":         {map[string]cty.Value{"executable": cty.StringVal("vllm"), "model": m}, 0},
		"no model":      {map[string]cty.Value{"executable": cty.StringVal("vllm"), "model": cty.NullVal(cty.String)}, 1},
		"empty model":   {map[string]cty.Value{"model": cty.StringVal("")}, 1},
		"unknown model": {map[string]cty.Value{"model": cty.UnknownVal(cty.String)}, 0},
		"url alone":     {map[string]cty.Value{"url": cty.StringVal("http://h")}, 0},
		"reserved and malformed arguments": {map[string]cty.Value{"model": m, "args": cty.ObjectVal(map[string]cty.Value{
			"port": cty.NumberIntVal(1), "--x": cty.True, "seed": cty.UnknownVal(cty.String)})}, 2},
		"argument of no version": {map[string]cty.Value{"model": m, "version": cty.StringVal("0.11.0"),
			"args": cty.ObjectVal(map[string]cty.Value{"max_modellen": cty.NumberIntVal(1)})}, 1},
		"unknown arguments": {map[string]cty.Value{"model": m, "args": cty.DynamicVal}, 0},
	} {
		if got := count(tt.attrs); got != tt.want {
			t.Errorf("%s: %d problems, want %d", name, got, tt.want)
		}
	}
}
