package convert_test

import (
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
)

// pasted holds the expected values of a result in a pasted text. The value "-" stands for a parameter that is absent.
type pasted struct {
	metrics map[string]float64
	params  map[string]string
}

// TestPastedResults: each number of a pasted text is in the result of its side and setting, with its unit, and none of them is a
// setting.
func TestPastedResults(t *testing.T) {
	of := func(params string, metrics map[string]float64) pasted {
		p := pasted{metrics, map[string]string{}}
		for item := range strings.SplitSeq(params, ";") {
			if key, value, ok := strings.Cut(item, "="); ok {
				p.params[key] = value
			}
		}
		return p
	}
	type values = map[string]float64
	for name, want := range map[string][]pasted{
		"genai-perf.txt": {of("", values{"e2el.mean": 4.11062343, "e2el.p99": 5.217352175, "e2el.p75": 4.626917531})},
		"aiperf.txt": {of("tool=aiperf", values{"ttft.mean": 0.91229, "aiperf_itl.p99": 0.0211, "aiperf_output_throughput.mean": 5388.43,
			"request_throughput.mean": 1.8, "output_token_per_user_tok_s_user_throughput.value": 69.01, "time_to_second_token.p90": 0.69501})},
		"evalscope.txt": {
			of("max_concurrency=1;num_prompts=10", values{"ttft.mean": 0.237, "tpot.mean": 0.021, "e2el.mean": 19.37,
				"output_throughput.mean": 47.5}),
			of("percentile=-;input_len=-", values{"ttft.p10": 0.1811, "ttft.p50": 0.2211, "ttft.p99": 0.4211, "tpot.p99": 0.0226,
				"e2el.p50": 17.69}),
		},
		"mlperf.txt": {of("tool=-", values{"ttft.mean": 0.169476022, "ttft.p50": 0.14, "e2el.p99": 10.112658342,
			"output_throughput.mean": 1264.46})},
		"trtllm-bench.txt": {of("tool=trtllm-bench;input_len=1024;output_len=1024;model=deepseek-ai/DeepSeek-R1", values{
			"trtllm_request_throughput.mean": 7.3411, "trtllm_output_throughput.mean": 7517.2584, "trtllm_total_throughput.mean": 15034.5168,
			"trtllm_e2el.p99": 148.8877569, "trtllm_e2el.min": 39.9031921, "trtllm_e2el.mean": 138.7859})},
		"trtllm-two.md": {
			of("column=column 1", values{"request_throughput.mean": 0.9765, "output_throughput.mean": 15999.06, "e2el.mean": 257.8058}),
			of("column=column 2", values{"request_throughput.mean": 0.9812, "output_throughput.mean": 16075.82, "e2el.mean": 256.4443}),
		},
		"kimi.md": {
			of("max_concurrency=4;num_prompts=20;config=sglang_opt_new;interactivity_tok_s_user=-;token_tput_gpu_tok_s=-", values{"ttft.p50": 0.21,
				"e2el.mean": 266.65723, "interactivity_tok_s_user_throughput.value": 30.76}),
			of("config=sglang_optimized", nil), of("config=sglang_original", nil), of("max_concurrency=8", nil), of("max_concurrency=8", nil),
		},
		"tenstorrent.md": {
			of("input_len=128;output_len=128;max_concurrency=1;num_prompts=8;req_tput_rps=-;tput_decode_tps=-", values{"ttft.value": 0.2128,
				"request_throughput.mean": 0.252, "decode_tok_s_throughput.value": 33.9, "prefill_tok_s_throughput.value": 601.5}),
			of("max_concurrency=32", nil), of("output_len=1024", nil),
		},
		"omni.md": {
			of("column=Baseline before this PR;config=qwen3_omni_vllm_text / random / c=1 / prompts=4", values{"ttft.mean": 0.3, "e2el.mean": 6}),
			of("column=Jun 1-8 average", values{"ttft.mean": 0.0727659}), of("column=Updated baseline", values{"e2el.mean": 4.3827211}),
			of("config=qwen3_omni_vllm_text / random / c=4 / prompts=16", values{"ttft.mean": 0.3}), of("", nil), of("", nil),
		},
		"llama-bench.json": {
			of("tool=llama-bench;input_len=512;output_len=0;build_commit=8cf427ff", values{"llama_bench_input_throughput.mean": 7100.002165}),
			of("input_len=0;output_len=128;model=qwen2 7B Q4_K - Medium", values{"llama_bench_output_throughput.mean": 118.881588}),
		},
		"llama-bench.md": {
			of("test=pp64;n_batch=64;type_k=q8_0;model=qwen3 8B Q1_0", values{"token_throughput.value": 1053.91}),
			of("test=tg128", values{"token_throughput.value": 105.84}),
		},
		"load-test.txt": {
			of("", values{"request_throughput.mean": 5.459, "e2el.mean": 0.182445, "e2el.p90": 0.183, "output_throughput.mean": 21.834}),
			of("", values{"request_throughput.mean": 20.196, "e2el.p90": 0.249, "input_throughput.mean": 121.179}),
		},
		"moss.md": {
			of("column=vanilla;max_concurrency=2", values{"request_throughput.mean": 0.817}),
			of("column=perf;max_concurrency=2", values{"request_throughput.mean": 2.256}),
			of("column=vanilla;max_concurrency=4", values{"request_throughput.mean": 1.444}), of("column=perf", nil),
		},
		"compare-llama-bench.md": {
			of("column=master;test=pp512;speedup=-", values{"token_throughput.value": 4875.12}),
			of("column=sl/backend-sched;test=pp512", values{"token_throughput.value": 5394.6}),
			of("column=master;test=tg128", values{"token_throughput.value": 55.19}), of("", nil), of("", nil), of("", nil),
		},
		"tpu.txt": {
			of("label=Before;request_rate=10", values{"request_throughput.mean": 0.96, "ttft.mean": 13.88529, "tpot.mean": 0.03941}),
			of("label=After;request_rate=10", values{"request_throughput.mean": 1.06}),
		},
		"arrow.txt": {
			of("label=Base;max_concurrency=8", values{"ttft.p50": 0.02744, "ttft.p99": 0.09769}),
			of("label=Optmized", values{"ttft.p50": 0.02644}),
		},
		"lmcache.txt": {of("tool=-", values{"ttft.p90": 0.58721, "output_throughput.mean": 81.69, "mean_decode_tok_s_throughput.value": 48.23})},
		"evalscope-zh.md": {
			of("max_concurrency=1;column=-", values{"ttft.mean": 0.05359, "tpot.mean": 0.01359}),
			of("max_concurrency=2", values{"ttft.mean": 0.05404}), of("max_concurrency=4", values{"tpot.mean": 0.0143}),
		},
		"vllm-speculative.txt": {of("max_concurrency=32", values{"spec_decode.acceptance_length": 2.89, "spec_decode.acceptance_rate": 0.6294,
			"ttft.p75": 0.42819, "goodput.rate": 0})},
		"xinference.md": {
			of("h2=Before;throughput=-", values{"request_throughput.mean": 0.78, "token_throughput.value": 145.40378699622423, "e2el.mean": 38.63}),
			of("h2=After", values{"request_throughput.mean": 4.98}),
		},
		"reasoning.md": {of("label=main", values{"ttft.mean": 0.31328}), of("label=this pr", values{"ttft.mean": 0.21328})},
		"gemma.md": {
			of("column=V1;max_concurrency=1", values{"request_throughput.mean": 2.25, "total_throughput.mean": 513.05, "ttft.p50": 0.01585,
				"ss_req_s_throughput.value": 2.02}),
			of("column=V2;max_concurrency=1", values{"request_throughput.mean": 2.4, "tpot.p90": 0.00312}),
			of("column=V1;max_concurrency=2", nil), of("column=V2;max_concurrency=2", nil),
		},
		"kimi-k3.md": {
			of("column=0.27.1;max_concurrency=1", values{"e2el.mean": 12.37, "ttft.mean": 2.2629, "token_throughput.value": 83.3}),
			of("column=0913 main;max_concurrency=1", values{"e2el.mean": 5.3, "ttft.mean": 0.3763, "token_throughput.value": 183.3}),
			of("column=0.27.1;max_concurrency=4", nil), of("column=0913 main;max_concurrency=4", values{"ttft.mean": 0.6405}),
		},
		"by-row.md": {
			of("column=main;max_concurrency=1", values{"ttft.mean": 0.0205, "tpot.mean": 0.0055, "output_throughput.mean": 185.5}),
			of("column=PR;max_concurrency=1", values{"ttft.mean": 0.0191}),
			of("column=main;max_concurrency=32", values{"ttft.mean": 0.2205, "tpot.mean": 0.0155}), of("column=PR;max_concurrency=32", nil),
		},
		"two-tables.md": {
			of("column=Baseline;tp=1;mean_tpot=-", values{"tpot.mean": 0.0102, "ttft.mean": 0.1205, "output_throughput.mean": 1234.5}),
			of("column=This PR;tp=1", values{"ttft.mean": 0.0991}),
			of("column=Baseline;tp=2", values{"ttft.mean": 1.2}), of("column=This PR;tp=2", values{"ttft.mean": 0.0991}),
		},
		"page.html.md": {of("max_concurrency=1", values{"ttft.mean": 1.1205, "output_throughput.mean": 99.1})},
	} {
		t.Run(name, func(t *testing.T) {
			runs := readFile(t, "pasted/"+name, convert.ReadOptions{})
			if len(runs) != len(want) {
				t.Fatalf("%d results, want %d", len(runs), len(want))
			}
			for i, w := range want {
				checkDefined(t, &runs[i])
				for id, v := range w.metrics {
					if got, ok := runs[i].Metrics[id]; !ok || math.Abs(got-v) > 1e-12*math.Abs(v) {
						t.Errorf("%s: %s = %v (%v), want %v", runs[i].At(), id, got, ok, v)
					}
				}
				for key, v := range w.params {
					if got, ok := runs[i].Param(key); ok == (v == "-") || ok && got != v {
						t.Errorf("%s: %s is %q (%v), want %q", runs[i].At(), key, got, ok, v)
					}
				}
			}
		})
	}
}

// TestBehindNumbers: a number keeps its value and its unit whatever stands behind it, and a note says what is not read.
func TestBehindNumbers(t *testing.T) {
	for cell, want := range map[string]float64{
		"20.1 ± 0.3": 0.0201, "20.1 +/- 0.3": 0.0201, "20.1 ± 1.5%": 0.0201, "20.1 ± 0.3 ms": 0.0201, "1.5 ± 0.3 s": 1.5,
		"**20.1 (−57.2%)**": 0.0201, "20.1 (+3%)": 0.0201, "20.1 ms (-3.5 %)": 0.0201, "20.1 (1.2x)": 0.0201, "20.1 ↓": 0.0201,
		"20.1 ✅": 0.0201, "20.1     <=====": 0.0201,
	} {
		runs, err := convert.Read(strings.NewReader("| Mean TTFT (ms) | Mean TPOT (ms) |\n|---|---|\n| "+cell+" | 7.5 |\n"), "x.md",
			convert.ReadOptions{})
		if err != nil || len(runs) != 1 || math.Abs(runs[0].Metrics["ttft.mean"]-want) > 1e-12 || !hasNote(&runs[0], "behind the numbers") {
			t.Errorf("%s: %d results, %v", cell, len(runs), err)
		}
	}
	for _, cell := range []string{"20.1 (99.0)", "20.1 / 30", "20.1 (p99 30)", "12INFO 01-02"} {
		if runs, err := convert.Read(strings.NewReader("| Mean TTFT (ms) | Mean TPOT (ms) |\n|---|---|\n| "+cell+" | 7.5 |\n"), "x.md",
			convert.ReadOptions{}); err == nil {
			t.Errorf("%s: %+v", cell, runs[0].Metrics)
		}
	}
}

// TestPhasesAreNoSides: headings that distinguish figures do not distinguish sides.
func TestPhasesAreNoSides(t *testing.T) {
	for _, header := range []string{
		"Prefill throughput (tok/s) | Decode throughput (tok/s)", "Input throughput (tok/s) | Output throughput (tok/s)",
		"Mean TTFT (ms) | Peak TTFT (ms)", "S_PP t/s | S_TG t/s", "P50 TTFT ms | P90 TTFT ms",
	} {
		runs, err := convert.Read(strings.NewReader("| n_kv | "+header+" |\n|---|---|---|\n| 8 | 20.5 | 30.5 |\n"), "x.md", convert.ReadOptions{})
		if err != nil && strings.Contains(header, "Peak") {
			continue // one figure alone
		}
		if err != nil || len(runs) != 1 || runs[0].Params["column"] != "" || len(runs[0].Metrics) != 2 {
			t.Errorf("%s: %d results, %v", header, len(runs), err)
		}
	}
}

// TestSpannedHeadings: headings of two rows, a CSV file and a plain table of the same sides are the same results.
func TestSpannedHeadings(t *testing.T) {
	const page = `<table><tr><th rowspan="2">Concurrency</th><th colspan="2">TTFT (ms)</th><th colspan="2">TPOT (ms)</th></tr>` +
		`<tr><th>main</th><th>PR</th><th>main</th><th>PR</th></tr>` +
		`<tr><td>8</td><td>20.5</td><td>19.5</td><td>5.5</td><td>5.4</td></tr>` +
		`<tr><td>9</td><td>21</td><td>20</td><td>6</td><td>5</td></tr></table>`
	for name, text := range map[string]string{
		"page.md":   page,
		"broken.md": strings.ReplaceAll(page, "<tr>", "<tr\nclass=\"a\">"), // a tag that goes on in the next line
		"two.md": "|  | TTFT (ms) |  | TPOT (ms) |  |\n|---|---|---|---|---|\n| Concurrency | main | PR | main | PR |\n" +
			"| 8 | 20.5 | 19.5 | 5.5 | 5.4 |\n| 9 | 21 | 20 | 6 | 5 |\n",
		"plain.md": "| Concurrency | main TTFT (ms) | PR TTFT (ms) | TPOT (ms) main | TPOT (ms) PR |\n|---|---|---|---|---|\n" +
			"| 8 | `20.5` 🚀 | 19.5 | 5.5 | 5.4 |\n| 9 | 21 | 20 | 6 | 5 |\n",
		"sides.csv": "Concurrency,main TTFT (ms),PR TTFT (ms),main TPOT (ms),PR TPOT (ms)\n8,20.5,19.5,5.5,5.4\n9,21,20,6,5\n",
	} {
		runs := read(t, name, text)
		if len(runs) != 4 {
			t.Errorf("%s: %d results", name, len(runs))
			continue
		}
		for i, want := range []float64{0.0205, 0.0195} {
			limit, _ := runs[i].Param("max_concurrency")
			if runs[i].Metrics["ttft.value"] != want || runs[i].Params["column"] != []string{"main", "PR"}[i] || limit != "8" {
				t.Errorf("%s: %v, %v", name, runs[i].Metrics, runs[i].Params)
			}
		}
	}
}
