package vllm_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/vllm"
)

func TestLogPoint(t *testing.T) {
	for name, tt := range map[string]struct {
		line string
		want map[string]float64
	}{
		"V1": {
			"(APIServer pid=7) INFO 09-02 13:08:10 [loggers.py:127] Engine 000: Avg prompt throughput: 64.0 tokens/s, Avg generation throughput: " +
				"16.5 tokens/s, Running: 3 reqs, Waiting: 2 reqs, GPU KV cache usage: 12.5%, Prefix cache hit rate: 40.0%",
			map[string]float64{"prompt_throughput": 64, "generation_throughput": 16.5, "running": 3, "waiting": 2,
				"kv_usage": 0.125, "hit_rate": 0.4},
		},
		"more fields, on a CPU": {
			"(APIServer pid=7) INFO 11-21 10:00:00 [loggers.py:312] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: " +
				"2.0 tokens/s, Running: 1 reqs, Waiting: 4 reqs, Deferred: 1 reqs, KV fetch: 0 waiting to start, 1 in progress, 0 completed waiting, " +
				"Preemptions: 2, CPU KV cache usage: 3.0%, Prefix cache hit rate: 1.0%, External prefix cache hit rate: 85.0%",
			map[string]float64{"prompt_throughput": 1, "generation_throughput": 2, "running": 1, "waiting": 4, "kv_usage": 0.03, "hit_rate": 0.01},
		},
		"V0": {
			"INFO 11-05 12:00:00 metrics.py:449] Avg prompt throughput: 130.9 tokens/s, Avg generation throughput: 5.1 tokens/s, Running: 2 reqs, " +
				"Swapped: 0 reqs, Pending: 1 reqs, GPU KV cache usage: 0.8%, CPU KV cache usage: 0.0%.",
			map[string]float64{"prompt_throughput": 130.9, "generation_throughput": 5.1, "running": 2, "waiting": 1, "kv_usage": 0.008},
		},
		"another line":   {"INFO:     127.0.0.1:52134 - \"POST /v1/completions HTTP/1.1\" 200 OK", nil},
		"a line of ours": {"Avg prompt throughput: as always", nil},
	} {
		got, ok := observer.LogPoint(tt.line)
		if ok != (tt.want != nil) {
			t.Errorf("%s: ok is %v", name, ok)
		}
		if d := cmp.Diff(tt.want, got, approx); ok && d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

var observer = vllm.New().Capabilities().Observer

var approx = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(a)) })

// Lines as vLLM 0.6.4, 0.11.0 (on a GPU) and 0.32.0 (on a CPU) write them.
func TestStartFacts(t *testing.T) {
	const gib = 1 << 30
	for name, tt := range map[string]struct {
		log  []string
		want map[string]float64
	}{
		"0.11.0": {
			[]string{
				"(EngineCore_DP0 pid=9) INFO 10-02 13:00:01 [default_loader.py:267] Loading weights took 4.21 seconds",
				"(EngineCore_DP0 pid=9) INFO 10-02 13:00:02 [gpu_model_runner.py:2653] Model loading took 14.2717 GiB and 5.125000 seconds",
				"(EngineCore_DP0 pid=9) INFO 10-02 13:00:20 [monitor.py:34] torch.compile takes 31.07 s in total",
				"(EngineCore_DP0 pid=9) INFO 10-02 13:00:21 [gpu_worker.py:298] Available KV cache memory: 55.50 GiB",
				"(EngineCore_DP0 pid=9) INFO 10-02 13:00:21 [kv_cache_utils.py:1087] GPU KV cache size: 1,039,280 tokens",
				"(EngineCore_DP0 pid=9) INFO 10-02 13:00:21 [kv_cache_utils.py:1091] Maximum concurrency for 8,192 tokens per request: 126.87x",
				"(EngineCore_DP0 pid=9) INFO 10-02 13:00:50 [gpu_model_runner.py:3480] Graph capturing finished in 22 secs, took 0.51 GiB",
				"(EngineCore_DP0 pid=9) INFO 10-02 13:00:51 [core.py:210] init engine (profile, create kv cache, warmup model) took 60.50 seconds",
			},
			map[string]float64{
				"model_load_seconds": 4.21, "weight_bytes": 14.2717 * gib, "compile_seconds": 31.07, "kv_cache_bytes": 55.5 * gib,
				"kv_cache_tokens": 1039280, "max_concurrency": 126.87, "graph_capture_seconds": 22,
				"profile_seconds": 60.5 - 31.07 - 22,
			},
		},
		"two workers": {
			[]string{"Loading weights took 4.00 seconds", "Loading weights took 9.00 seconds", "Loading weights took 5.00 seconds"},
			map[string]float64{"model_load_seconds": 9},
		},
		"0.6.4": {
			[]string{
				"INFO 11-05 12:00:00 model_runner.py:1077] Loading model weights took 14.9888 GB",
				"INFO 11-05 12:00:09 gpu_executor.py:122] # GPU blocks: 7670, # CPU blocks: 4681",
				"INFO 11-05 12:00:09 gpu_executor.py:126] Maximum concurrency for 10000 tokens per request: 12.27x",
			},
			map[string]float64{"weight_bytes": 14.9888 * gib, "kv_cache_blocks": 7670, "kv_cache_tokens": 122700, "max_concurrency": 12.27},
		},
		"0.32.0 on a CPU": {
			[]string{
				"(EngineCore pid=9) INFO 11-21 10:00:00 [cpu_worker.py:258] Explicitly set (0.25/23.4) GiB for KV cache on node 0.",
				"(EngineCore pid=9) INFO 11-21 10:00:00 [kv_cache_utils.py:2327] CPU KV cache size: 1,048,576 tokens, Maximum concurrency for 2,048 " +
					"tokens per request: 512.00x",
				"(EngineCore pid=9) INFO 11-21 10:00:30 [monitor.py:76] torch.compile took 21.50 s in total",
			},
			map[string]float64{"kv_cache_bytes": 0.25 * gib, "kv_cache_tokens": 1048576, "max_concurrency": 512, "compile_seconds": 21.5},
		},
		"nothing": {[]string{"", "INFO: hello"}, map[string]float64{}},
	} {
		if d := cmp.Diff(tt.want, observer.StartFacts(tt.log), approx); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

// TestStartFactsOfAGPU reads what the engine of a vLLM logged when it compiled and captured graphs on a GPU.
func TestStartFactsOfAGPU(t *testing.T) {
	text, err := os.ReadFile("testdata/start-0.26.0-h200.log")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"model_load_seconds": 0.08, "weight_bytes": 0.32 * (1 << 30), "compile_seconds": 11.62, "graph_capture_seconds": 1,
		"profile_seconds": 13.9,
		"kv_cache_bytes":  36.06 * (1 << 30), "kv_cache_tokens": 65536, "max_concurrency": 32,
	}
	if d := cmp.Diff(want, observer.StartFacts(strings.Split(string(text), "\n")), approx); d != "" {
		t.Error(d)
	}
}

// Expositions as three versions write them, cut to what counts and something beside it.
func TestFigures(t *testing.T) {
	for file, want := range map[string]steps.Observation{
		"metrics-0.6.4.txt": {
			Gauges: map[string]float64{"running": 2, "waiting": 1, "kv_usage": 0.125, "hit_rate": 0.5, "prompt_throughput": 130.5,
				"generation_throughput": 5},
			Counters: map[string]float64{"prompt_tokens": 1024, "generation_tokens": 64, "preemptions": 1, "request_success.length": 4,
				"request_success.stop": 0},
		},
		"metrics-0.11.0.txt": {
			Gauges: map[string]float64{"running": 5, "waiting": 0, "kv_usage": 0.25},
			Counters: map[string]float64{
				"prompt_tokens": 2048, "generation_tokens": 128, "preemptions": 0, "prefix_queries": 2048, "prefix_hits": 512,
				"kv_transfer_bytes": 1048576, "kv_transfer_seconds": 0.25, "kv_transfer_failures": 0, "request_success.length": 8,
			},
		},
		"metrics-0.32.0.txt": {
			Gauges: map[string]float64{"running": 1, "waiting": 0, "kv_usage": 0.01},
			Counters: map[string]float64{
				"prompt_tokens": 640, "generation_tokens": 160, "preemptions": 0, "prefix_queries": 640, "prefix_hits": 0,
				"external_prefix_queries": 600, "external_prefix_hits": 512, "prompt_tokens_by_source.local_compute": 128,
				"prompt_tokens_by_source.external_kv_transfer": 512, "prompt_tokens_by_source.local_cache_hit": 0,
				"request_success.length": 10,
			},
		},
	} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
		got, err := observer.Observe(t.Context(), steps.Endpoint{BaseURL: s.URL})
		s.Close()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, approx, cmpopts.IgnoreFields(steps.Observation{}, "At", "Exposition")); d != "" {
			t.Errorf("%s:\n%s", file, d)
		}
	}
}

func FuzzLogLines(f *testing.F) {
	f.Add("Engine 000: Avg prompt throughput: 64.0 tokens/s, Running: 3 reqs, GPU KV cache usage: 12.5%, Prefix cache hit rate: 40.0%")
	f.Add("GPU KV cache size: 643,232 tokens, Maximum concurrency for 40,960 tokens per request: 15.70x")
	f.Add("Avg prompt throughput: ....... tokens/s, Avg generation throughput: 9" + string(make([]byte, 100)))
	f.Fuzz(func(t *testing.T, line string) {
		gauges, ok := observer.LogPoint(line)
		if ok != (len(gauges) > 0) {
			t.Fatalf("%v %v", gauges, ok)
		}
		for _, m := range []map[string]float64{gauges, observer.StartFacts([]string{line, line})} {
			for name, v := range m {
				if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
					t.Fatalf("%s is %v", name, v)
				}
			}
		}
	})
}
