package sglang_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/sglang"
)

var observer = sglang.New().Capabilities().Observer

var approx = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(a)) })

// Lines as SGLang 0.5.5 and 0.5.23 write them.
func TestLogPoint(t *testing.T) {
	for name, tt := range map[string]struct {
		line string
		want map[string]float64
	}{
		"decode": {
			"[2026-09-02 13:08:10] Decode batch, #running-req: 7, #token: 3580, token usage: 0.02, cuda graph: True, gen throughput (token/s): " +
				"812.11, #queue-req: 1, ",
			map[string]float64{"running": 7, "waiting": 1, "kv_usage": 0.02, "generation_throughput": 812.11},
		},
		"decode side of a pair": {
			"[2026-09-02 13:08:10 TP0] Decode batch [120], #running-req: 7, #full token: 3580, full token usage: 0.02, swa token usage: 0.50, " +
				"accept len: 1.90, accept rate: 0.45, pre-allocated usage: 0.10, #prealloc-req: 3, #transfer-req: 2, #retracted-req: 0, cuda graph: " +
				"True, gen throughput (token/s): 812.11, #queue-req: 0, ",
			map[string]float64{"running": 7, "waiting": 0, "kv_usage": 0.02, "generation_throughput": 812.11},
		},
		"prefill": {
			"[2026-09-02 13:08:10] Prefill batch, #new-seq: 1, #new-token: 384, #cached-token: 128, token usage: 0.01, #running-req: 3, " +
				"#queue-req: 2, #pending-token: 0, cuda graph: False, input throughput (token/s): 4096.00",
			map[string]float64{"running": 3, "waiting": 2, "kv_usage": 0.01, "hit_rate": 0.25, "prompt_throughput": 4096},
		},
		"another line": {"[2026-09-02 13:08:10] The server is fired up and ready to roll!", nil},
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

func TestStartFacts(t *testing.T) {
	const gib = 1 << 30
	for name, tt := range map[string]struct {
		log  []string
		want map[string]float64
	}{
		"0.5.5": {
			[]string{
				"[2026-09-02 13:00:01] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=62.49 GB, mem usage=14.98 GB.",
				"[2026-09-02 13:00:02] KV Cache is allocated. #tokens: 443512, K size: 27.07 GB, V size: 27.07 GB",
				"[2026-09-02 13:00:30] Capture cuda graph end. Time elapsed: 11.25 s. mem usage=1.02 GB. avail mem=7.00 GB.",
				"[2026-09-02 13:00:31] max_total_num_tokens=443512, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=4096, " +
					"context_len=131072, available_gpu_mem=6.90 GB",
			},
			map[string]float64{"weight_bytes": 14.98 * gib, "kv_cache_bytes": 54.14 * gib, "kv_cache_tokens": 443512,
				"graph_capture_seconds": 11.25},
		},
		"0.5.23": {
			[]string{
				"[2026-09-02 13:00:01] Load weight end. elapsed=4.50 s, type=LlamaForCausalLM, avail mem=62.49 GB, mem usage=14.98 GB.",
				"[2026-09-02 13:00:02] Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 443512, KV size: 54.14 GB, avail " +
					"mem=7.00 GB",
				"[2026-09-02 13:00:30] Capture decode CUDA graph end. elapsed=11.25 s, mem usage=1.02 GB, avail mem=7.00 GB.",
			},
			map[string]float64{"weight_bytes": 14.98 * gib, "model_load_seconds": 4.5, "kv_cache_bytes": 54.14 * gib, "kv_cache_tokens": 443512,
				"graph_capture_seconds": 11.25},
		},
	} {
		if d := cmp.Diff(tt.want, observer.StartFacts(tt.log), approx); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

func TestFigures(t *testing.T) {
	for file, want := range map[string]steps.Observation{
		"metrics-0.5.5.txt": {
			Gauges: map[string]float64{"running": 3, "waiting": 1, "kv_usage": 0.02, "hit_rate": 0.25, "generation_throughput": 812.5},
			Counters: map[string]float64{"prompt_tokens": 1024, "prefix_queries": 1024, "prefix_hits": 256,
				"generation_tokens": 64, "preemptions": 0},
		},
		"metrics-0.5.23.txt": {
			Gauges: map[string]float64{"running": 3, "waiting": 1, "kv_usage": 0.02, "hit_rate": 0.25, "generation_throughput": 812.5},
			Counters: map[string]float64{
				"prompt_tokens": 1024, "prefix_queries": 1024, "prefix_hits": 300, "generation_tokens": 64, "preemptions": 2,
				"kv_transfer_bytes": 8 << 20, "kv_transfer_seconds": 0.125, "kv_transfer_failures": 1,
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
	f.Add("Decode batch, #running-req: 7, #token: 3580, token usage: 0.02, gen throughput (token/s): 812.11, #queue-req: 1, ")
	f.Add("Prefill batch, #new-token: 384, #cached-token: 128, token usage: 0.01, #running-req: 3")
	f.Add("KV Cache is allocated. #tokens: 443512, K size: 27.07 GB, V size: 27.07 GB")
	f.Fuzz(func(t *testing.T, line string) {
		gauges, _ := observer.LogPoint(line)
		for _, m := range []map[string]float64{gauges, observer.StartFacts([]string{line, line})} {
			for name, v := range m {
				if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
					t.Fatalf("%s is %v", name, v)
				}
			}
		}
	})
}
