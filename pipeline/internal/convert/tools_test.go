package convert_test

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
)

// want is what a file must give: metrics exactly, and parameters.
type want struct {
	format  convert.Format
	line    int
	metrics map[string]float64
	params  map[string]string
	counts  convert.Counts
	absent  []string // groups that must not be there
	warning string
}

func TestToolFiles(t *testing.T) {
	tests := map[string][]want{
		"tools/vllm-old.json": {{
			format: "vllm", line: 1,
			metrics: map[string]float64{"ttft.mean": 0.054577085783294024, "ttft.p50": 0.052999333499883505, "ttft.p99.9": 0.0955,
				"ttft.std": 0.00927197373989555, "itl.p99": 0.0342, "request_throughput.mean": 8.297655},
			params: map[string]string{"model": "meta-llama/Llama-3.2-3B-Instruct", "request_rate": "10", "input_len": "1000", "gpu": "4xL40S"},
			counts: convert.Counts{Sent: 300, Succeeded: 299, Failed: 1, FailedKnown: true, InputTokens: 299700, OutputTokens: 81050},
			absent: []string{"goodput"}, warning: "1 of 300 requests did not succeed",
		}, {
			format: "vllm", line: 2,
			metrics: map[string]float64{"ttft.p99": 0.07, "queue.mean": 0.0005, "output_throughput.peak_second": 12, "concurrency.peak_second": 64,
				"spec_decode.acceptance_rate": 0.7125, "spec_decode.acceptance_length": 2.4},
			params: map[string]string{"request_rate": "inf", "max_concurrency": "32"},
			counts: convert.Counts{Sent: 300, Succeeded: 300, FailedKnown: true, InputTokens: 299700, OutputTokens: 300},
			absent: []string{"tpot", "itl", "rtfx"}, warning: "every figure of itl is 0",
		}},
		"tools/sglang.jsonl": {{
			format: "sglang", line: 1,
			metrics: map[string]float64{"sglang_e2el.p50": 0.47, "ttft.mean": 0.15, "sglang_tpot.mean": 0.151, "itl_token.mean": 0.15,
				"itl_token.p90": 0.2, "e2el.mean": 0.45, "tpot.mean": 0.15, "ttft.p90": 0.19, "concurrency.mean": 0.47},
			params: map[string]string{"model": "Qwen/Qwen2.5-7B-Instruct", "server_tp_size": "2", "request_rate": "inf", "input_len": "1024"},
			counts: convert.Counts{Sent: 2, Succeeded: 2, FailedKnown: true, InputTokens: 2048, OutputTokens: 6},
			absent: []string{"itl", "success"},
		}, {
			format: "sglang", line: 2,
			metrics: map[string]float64{"itl.p99": 0.02, "sglang_e2el.mean": 0.48},
			params:  map[string]string{"request_rate": "4"},
			counts:  convert.Counts{Succeeded: 4, InputTokens: 2048, OutputTokens: 400},
			absent:  []string{"itl_token", "e2el"}, warning: "std_ttft_ms has no value",
		}},
		"tools/guidellm.json": {{
			format: "guidellm", line: 2,
			metrics: map[string]float64{"guidellm_ttft.p99": 0.3, "guidellm_ttft.p99.9": 0.31, "guidellm_e2el.p99": 3, "guidellm_itl.mean": 0.0125,
				"guidellm_request_throughput.mean": 8.5},
			params: map[string]string{"strategy_kind": "concurrent", "strategy_streams": "4"},
			counts: convert.Counts{Sent: 100, Succeeded: 99, Failed: 1, FailedKnown: true, InputTokens: 50688},
			absent: []string{"ttft", "itl", "e2el", "request_throughput"},
		}},
		"tools/aiperf.json": {{
			format: "aiperf", line: 1,
			metrics: map[string]float64{"e2el.p50": 5.799897624499999, "ttft.p95": 4.05142644575, "aiperf_itl.p50": 0.052,
				"request_throughput.mean": 13.16, "aiperf_output_throughput.mean": 1274.6},
			params: map[string]string{"max_concurrency": "8", "endpoint_type": "chat"},
			counts: convert.Counts{Sent: 203, Succeeded: 200, Failed: 3, FailedKnown: true, InputTokens: 110000, OutputTokens: 19370},
			absent: []string{"itl", "output_throughput"},
		}},
		"tools/aiperf-aggregate.json": {{
			format: "aiperf", line: 1,
			metrics: map[string]float64{"ttft.p99": 0.0853, "e2el.mean": 1.5, "aiperf_itl.p50": 0.012, "request_throughput.mean": 47.2,
				"aiperf_output_throughput.mean": 4720},
			counts: convert.Counts{Sent: 801, Succeeded: 800, Failed: 1, FailedKnown: true, InputTokens: 440000},
			absent: []string{"itl", "goodput"}, warning: "means over 4 profile runs of aiperf on one server",
		}},
		"tools/genai-perf.json": {{
			format: "genai-perf", line: 1,
			metrics: map[string]float64{"genai_perf_ttft.mean": 1.1463, "genai_perf_e2el.p99": 9.4361, "genai_perf_itl.p50": 0.03013,
				"genai_perf_output_throughput.mean": 261.25, "request_throughput.mean": 1.5},
			params: map[string]string{"model": "m", "tokenizer": "t", "endpoint_type": "chat", "max_concurrency": "10", "input_len": "3000",
				"output_len": "", "seed": "0"},
			counts: convert.Counts{Succeeded: 40, InputTokens: 120002, OutputTokens: 6976},
			absent: []string{"ttft", "e2el", "aiperf_itl"},
		}, {
			format: "genai-perf", line: 2,
			metrics: map[string]float64{"genai_perf_ttft.p50": 0.6401, "genai_perf_e2el.mean": 6.4062},
			params: map[string]string{"model": "m", "tokenizer": "t", "endpoint_type": "chat", "request_rate": "2", "input_len": "3000",
				"output_len": "174", "seed": "0"},
			counts: convert.Counts{Succeeded: 40, InputTokens: 120002, OutputTokens: 6976},
			absent: []string{"ttft", "e2el", "aiperf_itl"},
		}},
		"tools/inference-perf.json": {{
			format: "inference-perf", line: 1,
			metrics: map[string]float64{"ttft.p99": 0.9, "ttft.p99.9": 0.95, "tpot.p90": 0.055, "inference_perf_e2el.p50": 1.4,
				"inference_perf_ntpot.mean": 0.02, "output_throughput.mean": 512.5},
			params: map[string]string{"request_rate": "2"},
			counts: convert.Counts{Sent: 120, Succeeded: 118, Failed: 2, FailedKnown: true},
			absent: []string{"itl", "e2el"},
		}},
		"tools/llmperf.json": {{
			format: "llmperf", line: 1,
			metrics: map[string]float64{
				"llmperf_ttft.p99": 0.75, "llmperf_ttft.mean": 0.375, "llmperf_itl.p50": 0.0212, "llmperf_e2el.max": 4.2,
				"llmperf_output_throughput.mean": 181.25, "llmperf_request_throughput.mean": 1.2125,
			},
			params: map[string]string{"model": "meta-llama/Llama-3-8B", "max_concurrency": "4", "input_len": "550", "output_len": "150"},
			counts: convert.Counts{Sent: 150, Succeeded: 147, Failed: 3, FailedKnown: true},
			absent: []string{"ttft", "itl", "e2el", "output_throughput"},
		}},
		"tools/trtllm-bench.json": {{
			format: "trtllm-bench", line: 1,
			metrics: map[string]float64{
				"trtllm_ttft.p99": 2.9, "trtllm_tpot.mean": 0.08025, "trtllm_e2el.p50": 9.40025, "trtllm_output_throughput.mean": 5000,
				"trtllm_request_throughput.mean": 50,
			},
			params: map[string]string{"model": "meta-llama/Llama-3.1-8B", "world_tp_size": "2", "input_len": "128", "output_len": "100",
				"machine_name": "NVIDIA H200"},
			counts: convert.Counts{Succeeded: 1000, InputTokens: 128000, OutputTokens: 100000},
			absent: []string{"ttft", "tpot", "e2el", "itl", "request_throughput"},
		}},
		"tools/vllm-offline.jsonl": {{
			format: "vllm-offline", line: 1,
			metrics: map[string]float64{"vllm_offline_batch_latency.mean": 0.5, "vllm_offline_batch_latency.p10": 0.492,
				"vllm_offline_batch_latency.p99": 0.5098},
			params: map[string]string{"model": "Qwen/Qwen2.5-7B-Instruct"}, absent: []string{"e2el"},
			counts: convert.Counts{Sent: 1, Succeeded: 1, FailedKnown: true},
		}, {
			format: "vllm-offline", line: 2,
			metrics: map[string]float64{"vllm_offline_request_throughput.mean": 25, "vllm_offline_total_throughput.mean": 9600},
			counts:  convert.Counts{Sent: 100, Succeeded: 100, FailedKnown: true},
			absent:  []string{"request_throughput", "total_throughput"},
		}, {
			format: "vllm-offline", line: 3,
			metrics: map[string]float64{"vllm_offline_cold_startup.mean": 41, "vllm_offline_cold_startup.p90": 41.8,
				"vllm_offline_warm_startup.p50":     21,
				"vllm_offline_cold_compilation.p50": 20, "vllm_offline_warm_compilation.mean": 2.5},
			absent: []string{"startup"}, counts: convert.Counts{Sent: 1, Succeeded: 1, FailedKnown: true},
		}},
		"tools/sglang-offline.jsonl": {{
			format: "sglang-offline", line: 1,
			metrics: map[string]float64{"sglang_offline_prefill_latency.mean": 0.125, "sglang_offline_decode_latency.p50": 0.0125,
				"sglang_offline_batch_latency.mean": 0.325, "sglang_offline_total_throughput.mean": 3347.6923076923076},
			params: map[string]string{"batch_size": "4", "input_len": "256", "output_len": "16"}, absent: []string{"ttft", "total_throughput"},
			counts: convert.Counts{Sent: 1, Succeeded: 1, FailedKnown: true},
		}, {
			format: "sglang-offline", line: 2,
			metrics: map[string]float64{"sglang_offline_request_throughput.mean": 8, "sglang_offline_output_throughput.mean": 128},
			counts:  convert.Counts{Sent: 64, Succeeded: 64, FailedKnown: true, InputTokens: 16384, OutputTokens: 1024},
			absent:  []string{"output_throughput"},
		}},
		"tools/hf.json": {{
			format: "inference-benchmarker", line: 3,
			metrics: map[string]float64{"ttft.p99": 0.04, "ttft.p60": 0.021, "hf_itl.mean": 0.0091, "hf_e2el.p50": 0.21,
				"hf_output_throughput.mean": 40.5},
			params: map[string]string{"request_rate": "2", "max_vus": "128", "id": "constant@2.00req/s"},
			counts: convert.Counts{Sent: 240, Succeeded: 239, Failed: 1, FailedKnown: true, InputTokens: 48000, OutputTokens: 4800},
			absent: []string{"itl", "request_throughput"},
		}},
	}
	for name, wants := range tests {
		t.Run(filepath.Base(name), func(t *testing.T) {
			runs := readFile(t, name, convert.ReadOptions{})
			if len(runs) != len(wants) {
				t.Fatalf("%d runs, want %d", len(runs), len(wants))
			}
			for i, w := range wants {
				checkDefined(t, &runs[i])
				w.check(t, &runs[i])
			}
		})
	}
}

func (w want) check(t *testing.T, r *convert.Run) {
	t.Helper()
	if r.Format != w.format || r.Line != w.line || r.Counts != w.counts {
		t.Errorf("%s: format %s, counts %+v, want line %d, %s, %+v", r.At(), r.Format, r.Counts, w.line, w.format, w.counts)
	}
	for id, v := range w.metrics {
		if got, ok := r.Metrics[id]; !ok || math.Abs(got-v) > 1e-15*math.Abs(v)+1e-16 && math.Abs(got-v) > 1e-9*math.Abs(v) {
			t.Errorf("%s: %s = %v (%v), want %v", r.At(), id, got, ok, v)
		}
	}
	for key, v := range w.params {
		if got, _ := r.Param(key); got != v {
			t.Errorf("%s: %s is %q, want %q", r.At(), key, got, v)
		}
	}
	for id := range r.Metrics {
		if group, _, _ := strings.Cut(id, "."); slices.Contains(w.absent, group) {
			t.Errorf("%s: %s is there", r.At(), id)
		}
	}
	for key, v := range r.Params {
		if strings.Contains(v, "not-for-reports") {
			t.Errorf("%s: the secret %s was kept", r.At(), key)
		}
	}
	if w.warning == "" && len(r.Warnings()) > 0 || !strings.Contains(strings.Join(r.Warnings(), "\n"), w.warning) {
		t.Errorf("%s: warnings %q, want %q", r.At(), r.Warnings(), w.warning)
	}
}

// recorded is a run of 40 requests with the values that numpy computes from it by vLLM's
// formulas (see steps/record/testdata/vectors.py).
func recorded(t *testing.T) (run record.Run, expected map[string]float64) {
	t.Helper()
	for name, v := range map[string]any{"run.json": &run, "expected.json": &expected} {
		b, err := os.ReadFile(filepath.Join("..", "..", "..", "steps", "record", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
	}
	return run, expected
}

// TestDetailedVLLM: from the arrays of a detailed file every metric comes out as numpy
// computes it, also those that the file does not have, and the file agrees with itself.
func TestDetailedVLLM(t *testing.T) {
	run, expected := recorded(t)
	// The file has a waiting time for every request: those without a plan waited for none.
	run.Requests.Edit(func(r *record.Request) {
		if r.Planned < 0 {
			r.Planned = r.Sent
		}
	})
	for id, v := range record.Reduce(run) {
		if m, _ := metric.Lookup(id); strings.HasSuffix(m.Group, "from_schedule") || m.Group == "queue" {
			expected[id] = v
		}
	}
	data, err := load.VLLMJSON(run, load.VLLMOptions{Detailed: true, MaxConcurrency: 8, RequestRate: 5, Backend: "vllm"})
	if err != nil {
		t.Fatal(err)
	}
	runs, err := convert.Read(strings.NewReader(string(data)), "detailed.json", convert.ReadOptions{Records: true})
	if err != nil {
		t.Fatal(err)
	}
	got := runs[0]
	checkDefined(t, &got)
	if text := strings.Join(got.Warnings(), "\n"); !strings.HasPrefix(text, "2 requests got their tokens in one piece") ||
		len(got.Warnings()) > 1 || got.Records == nil || got.Records.Requests.Len() != run.Requests.Len() {
		t.Errorf("warnings %q, records %v", got.Warnings(), got.Records != nil)
	}
	compared := 0
	for id, w := range expected {
		m, _ := metric.Lookup(id)
		// The file lacks the end of responses, how many tokens an event brought, and who
		// failed why; the exact peak and the steady window are of what it has. Of a goodput it
		// has the rate and not the limits.
		if m.Group == "itl_token" || m.Group == "success" || m.Group == "concurrency" || strings.HasPrefix(m.Group, "steady_") ||
			id == "goodput.share" {
			continue
		}
		compared++
		if v, ok := got.Metrics[id]; !ok || math.Abs(v-w) > 1e-7*math.Max(1e-9, math.Abs(w)) {
			t.Errorf("%s = %.12g (%v), numpy says %.12g", id, v, ok, w)
		}
	}
	if compared < 40 {
		t.Errorf("only %d metrics were compared: %v", compared, slices.Sorted(maps.Keys(got.Metrics)))
	}
}

func TestRecordsBeyondTheLimit(t *testing.T) {
	run, _ := recorded(t)
	data, err := load.VLLMJSON(run, load.VLLMOptions{Detailed: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, lim := range map[string]convert.Limits{"requests": {Requests: 10}, "events": {Events: 20}} {
		runs, err := convert.Read(strings.NewReader(string(data)), "d.json", convert.ReadOptions{Records: true, Limits: lim})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := runs[0].Metrics["ttft.p99"]; !ok || runs[0].Records != nil || !strings.Contains(strings.Join(runs[0].Warnings(), " "),
			"more requests than are kept") {
			t.Errorf("%s: records %v, metrics %v, warnings %q", name, runs[0].Records != nil, runs[0].Metrics, runs[0].Warnings())
		}
	}
}

func TestFileThatContradictsItself(t *testing.T) {
	const file = `{"backend":"vllm","duration":2,"completed":2,"mean_ttft_ms":999,"ttfts":[0.1,0.2],"itls":[[0.1],[0.1]],"output_lens":[2,2]}`
	runs, err := convert.Read(strings.NewReader(file), "x.json", convert.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if v := runs[0].Metrics["ttft.mean"]; math.Abs(v-0.15) > 1e-12 {
		t.Errorf("ttft.mean = %v, the requests say 0.15", v)
	}
	if w := strings.Join(runs[0].Warnings(), "\n"); !strings.Contains(w,
		"ttft.mean is 0.15 s by the requests and 0.999 s by the file's own summary") {
		t.Errorf("warnings %q", w)
	}
}

func TestJSONErrors(t *testing.T) {
	tests := []struct{ file, want string }{
		{`{"completed": 1, "duration": 2, "mean_ttft_ms": "fast"}`, `x.json:1: mean_ttft_ms: "fast" is not a number`},
		{"{\"completed\": 1,\n \"duration\": 2,\n \"mean_ttft_ms\": -3}", `x.json:3: mean_ttft_ms: "-3" is negative`},
		{`{"completed": 1, "duration": 2`, "in the middle of a value"},
		{`{"completed": 1 "duration": 2}`, "after object value (expecting ',' or '}')"},
		{`{"completed": 1.5, "duration": 2}`, `"1.5" is not a count`},
		{`{"completed": 1e30, "duration": 2}`, `is not a count`},
		{`{"hello": 1}`, "no result found"},
		{`[1, 2]`, "no result found"},
		{`["a"]`, "not an object"},
		{`{"completed": 2, "duration": 1, "ttfts": [1, 2], "itls": [[1]], "output_lens": [1, 1]}`, "1 itls for 2 ttfts"},
		{`{"completed": 1, "duration": 1, "ttfts": [1], "itls": [[-1]], "output_lens": [1]}`, "a gap of -1 seconds"},
		{`{"completed": 1, "duration": 1, "ttfts": [Infinity], "itls": [[]], "output_lens": [1]}`, "out of range"},
		{`{"completed": 1, "duration": 0x10}`, "invalid character"},
		{`{"metrics": {}, "metadata": {}}`, "import profile_export_aiperf.json"},
		{`{"schema": "pipeline/result/1.0"}`, "already a result document"},
		{`{"benchmarks": 1, "metadata": {}}`, "benchmarks is not a list"},
		{`{"time_to_first_token": {"unit": "tokens", "avg": 3}}`, "not one of time"},
		{strings.Repeat(`[`, 100), "nesting deeper than"},
	}
	for _, tt := range tests {
		_, err := convert.Read(strings.NewReader(tt.file), "x.json", convert.ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.file[:min(len(tt.file), 80)], err, tt.want)
		}
	}
}

func TestLimitsOfRead(t *testing.T) {
	many := strings.Repeat(`{"completed": 1, "duration": 2, "request_throughput": 0.5}`+"\n", 50)
	tests := []struct {
		file string
		lim  convert.Limits
	}{
		{many, convert.Limits{Runs: 10}},
		{many, convert.Limits{Bytes: 100}},
		{many, convert.Limits{Values: 2}},
	}
	for _, tt := range tests {
		if _, err := convert.Read(strings.NewReader(tt.file), "x.json", convert.ReadOptions{Limits: tt.lim}); !errors.Is(err, convert.ErrLimit) {
			t.Errorf("%+v: %v", tt.lim, err)
		}
	}
}

// TestRequestsWithoutText: SGLang's client counts a request whose chunks held no text as
// one with a first token after no time. It succeeded, and it makes nothing faster.
func TestRequestsWithoutText(t *testing.T) {
	const file = `{"backend":"vllm","duration":2,"completed":3,"mean_ttft_ms":100,"median_ttft_ms":100,"mean_tpot_ms":150,"mean_e2e_latency_ms":500,` +
		`"ttfts":[0.1,0.0,0.2],"itls":[[0.1],[],[0.1]],"input_lens":[8,8,8],"output_lens":[2,2,2],"errors":["","",""]}`
	runs, err := convert.Read(strings.NewReader(file), "x.jsonl", convert.ReadOptions{Records: true})
	if err != nil {
		t.Fatal(err)
	}
	r := &runs[0]
	checkDefined(t, r)
	if r.Counts.Succeeded != 3 || r.Counts.Failed != 0 || !r.Counts.FailedKnown || r.Records.Requests.Len() != 3 {
		t.Errorf("counts %+v", r.Counts)
	}
	if v := r.Metrics["ttft.mean"]; math.Abs(v-0.15) > 1e-12 {
		t.Errorf("ttft.mean = %v, the two requests that brought text say 0.15", v)
	}
	if _, ok := r.Metrics["sglang_tpot.mean"]; ok || r.Metrics["sglang_e2el.mean"] != 0.5 {
		t.Errorf("metrics %v", r.Metrics)
	}
	if w := strings.Join(r.Warnings(), "\n"); len(r.Warnings()) != 1 || !strings.Contains(w, "1 requests brought no text") {
		t.Errorf("warnings %q", r.Warnings())
	}
	failed := strings.Replace(file, `"errors":["","",""]`, `"errors":["","timeout",""]`, 1)
	if runs, err = convert.Read(strings.NewReader(failed), "x.jsonl", convert.ReadOptions{}); err != nil || runs[0].Counts.Failed != 1 {
		t.Errorf("with an error it failed: %+v, %v", runs, err)
	}
}

// TestTableOfTools: names and prefixes of tools are their own, and definitions have a prefix.
func TestTableOfTools(t *testing.T) {
	seen := map[string]bool{}
	for _, tool := range convert.StandardTools() {
		for _, name := range slices.Compact([]string{tool.Name, tool.Prefix}) {
			if seen[name] && name != "" {
				t.Errorf("%q is the name or the prefix of two tools", name)
			}
			seen[name] = true
		}
		if len(tool.Differences) > 0 && tool.Prefix == "" {
			t.Errorf("%s has definitions of its own without a prefix", tool.Name)
		}
	}
}
