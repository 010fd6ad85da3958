package simulate_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
	client "github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// TestTraces profiles simulated servers as the engines' clients do: one trace for each rank, with
// a kernel for each operation of the steps between start and stop.
func TestTraces(t *testing.T) {
	vllmOf := func(version string) func(dir string) *httptest.Server {
		return func(dir string) *httptest.Server {
			return startServer(t, fastSettings(version), nil, "vllm", "serve", "org/model", "--tensor-parallel-size", "2",
				"--profiler-config", `{"profiler":"torch","torch_profiler_dir":"`+dir+`","torch_profiler_with_stack":false,"ignore_frontend":true}`)
		}
	}
	for name, start := range map[string]func(dir string) *httptest.Server{
		"vllm":      vllmOf("0.33.0"),
		"vllm 0.13": vllmOf("0.13.0"),
		"vllm before 0.13": func(dir string) *httptest.Server {
			return startServer(t, fastSettings("0.11.0"), map[string]string{"VLLM_TORCH_PROFILER_DIR": dir}, "vllm", "serve", "org/model",
				"--tensor-parallel-size", "2")
		},
		"sglang": func(dir string) *httptest.Server {
			return startServer(t, fastSettings("0.5.23"), map[string]string{"SGLANG_TORCH_PROFILER_DIR": dir}, "python3", "-m",
				"sglang.launch_server", "--model-path", "org/model", "--tp-size", "2")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "traces")
			ts := start(dir)
			started := make(chan struct{})
			tokens := 0.0
			observe := func(context.Context, steps.Endpoint) (steps.Observation, error) {
				defer func() { tokens += 8 }()
				if tokens == 0 {
					close(started)
				}
				return steps.Observation{Counters: map[string]float64{metric.CounterGenerationTokens: tokens}}, nil
			}
			untilStopped := steps.ProfileWindow{Dir: dir, Window: time.Hour}
			stop, err := client.NewClient().Profile(t.Context(), steps.Endpoint{BaseURL: ts.URL}, untilStopped,
				map[string]any{"output_dir": dir}, observe)
			if err != nil {
				t.Fatal(err)
			}
			<-started
			if status, body := request(t, ts, "POST", "/v1/completions",
				`{"model":"org/model","prompt":"Hello there","max_tokens":8,"ignore_eos":true}`); status != http.StatusOK {
				t.Fatalf("%d %s", status, body)
			}
			got, err := stop(t.Context())
			if err != nil || got.Tokens == nil || *got.Tokens != 8 {
				t.Fatalf("%+v, %v", got, err)
			}
			files, err := filepath.Glob(filepath.Join(dir, "*.json.gz"))
			if err != nil || len(files) != 2 {
				t.Fatalf("%q, %v", files, err)
			}
			for _, file := range files {
				kernels := kernelsIn(t, file)
				if kernels[model.KernelOf("attention")] != 8 || kernels[model.KernelOf("all_reduce")] != 8 {
					t.Errorf("%s: %v", file, kernels)
				}
			}
			if status, _ := request(t, ts, "POST", "/stop_profile", ""); status != http.StatusBadRequest {
				t.Errorf("a profiler that is not on is stopped: %d", status)
			}
		})
	}
}

// A server that was not started to be profiled has no profiler.
func TestNoProfiler(t *testing.T) {
	ts := vllmServer(t)
	observe := func(context.Context, steps.Endpoint) (steps.Observation, error) { return steps.Observation{}, nil }
	stop, err := client.NewClient().Profile(t.Context(), steps.Endpoint{BaseURL: ts.URL}, steps.ProfileWindow{}, nil, observe)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stop(t.Context()); err == nil || !strings.Contains(err.Error(), "no profiler") {
		t.Error(err)
	}
}

// kernelsIn counts the kernels of a trace by name.
func kernelsIn(t *testing.T, file string) map[string]int {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		Events []struct {
			Cat, Name string
			Dur       float64
		} `json:"traceEvents"`
	}
	if err := json.NewDecoder(z).Decode(&trace); err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, e := range trace.Events {
		if e.Cat == "kernel" && e.Dur > 0 {
			out[e.Name]++
		}
	}
	return out
}
