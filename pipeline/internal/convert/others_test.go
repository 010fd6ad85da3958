package convert_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/pipeline/internal/convert"
)

// read reads the results of a text.
func read(t *testing.T, name, text string) []convert.Run {
	t.Helper()
	runs, err := convert.Read(strings.NewReader(text), name, convert.ReadOptions{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return runs
}

func hasNote(r *convert.Run, text string) bool {
	return slices.ContainsFunc(r.Warnings(), func(w string) bool { return strings.Contains(w, text) })
}

// vllmBlock is a block of vLLM's without failures, as its older versions print it.
const vllmBlock = `vllm bench serve --model m --num-prompts %d %s

============ Serving Benchmark Result ============
Successful requests:                     %d
Benchmark duration (s):                  9.89
Total input tokens:                      %d
Request throughput (req/s):              63.19
Total Token throughput (tok/s):          515914.01
==================================================
`

// What was asked for in another number of requests than prompts has not failed.
func TestPromptsThatShareRequestsHaveNotFailed(t *testing.T) {
	for _, tt := range []struct {
		name, args            string
		prompts, done, tokens int
		failed                int
		known                 bool
	}{
		{"alone", "--dataset-name random --random-input-len 512", 10000, 10000, 5102595, 0, true},
		{"failures", "--dataset-name random --random-input-len 512", 10000, 9000, 9000 * 512, 1000, true},
		{"batches", "--dataset-name random --random-input-len 512 --random-batch-size 16", 10000, 625, 5102595, 0, true},
		{"a batch that is not full", "--dataset-name random --random-batch-size=16", 100, 7, 51200, 0, true},
		{"batches of which some failed", "--dataset-name random --random-input-len 512 --random-batch-size 16", 10000, 600, 4915200, 25, true},
		{"batches by a name that is not known", "--dataset-name random --random-input-len 512 --prompts-each 16", 10000, 625, 5102595, 0, false},
		{"groups", "--dataset-name generated-shared-prefix --gsp-num-groups 4 --gsp-prompts-per-group 8", 1000, 32, 51200, 0, true},
		{"groups that are not said", "--dataset-name generated-shared-prefix", 1000, 32, 51200, 0, false},
		{"prefixes", "--dataset-name prefix_repetition --prefix-repetition-num-prefixes 7", 100, 98, 51200, 0, true},
		{"a small data set", "--dataset-name sharegpt --no-oversample", 1000, 800, 51200, 0, false},
	} {
		r := read(t, "x.log", fmt.Sprintf(vllmBlock, tt.prompts, tt.args, tt.done, tt.tokens))[0]
		if r.Counts.Failed != tt.failed || r.Counts.FailedKnown != tt.known {
			t.Errorf("%s: %d failed, known %v; want %d, %v", tt.name, r.Counts.Failed, r.Counts.FailedKnown, tt.failed, tt.known)
		}
	}
}

// work is what a result says was done.
func work(t *testing.T, runs []convert.Run) comparability.Facts {
	t.Helper()
	doc, err := convert.Document(runs, convert.Options{Chosen: true})
	if err != nil {
		t.Fatal(err)
	}
	return comparability.OfCell(doc, &doc.Benchmarks[0].Cells[0])
}

// In every format, what says how long prompts and answers are, and how many there were, reaches the check that
// both sides did the same work.
func TestWorkOfEveryFormat(t *testing.T) {
	const yaml = "metrics:\n  latency:\n    time_to_first_token: {mean: 1, units: s}\n  requests: {total: 10, failures: 0, input_length: " +
		"{mean: 7583}, output_length: {mean: 922}}\nscenario:\n  load: {name: vllm-benchmark}\nversion: '0.1'\n"
	const report = "run:\n  uid: x\nversion: '0.2'\nresults:\n  request_performance:\n    aggregate:\n      latency:\n        " +
		"time_to_first_token: {mean: 1, units: s}\n      requests: {total: 10, failures: 0, input_length: {mean: 7583}, output_length: {mean: " +
		"922}}\n"
	const sections = "Metric,avg,p50\nTime To First Token (ms),20.1,20\nInput Sequence Length (tokens),7583,7583\nOutput Sequence Length " +
		"(tokens),922,922\n\nMetric,Value\nRequest Count (count),10\n"
	for _, tt := range []struct{ name, text, from, to, field string }{
		{"x.csv", "mean_ttft_ms,p99_ttft_ms,isl,osl\n20.1,30,7583,922\n", "7583", "3000", "input_len"},
		{"x.csv", "mean_ttft_ms,p99_ttft_ms,Prompt Tokens,Output Tokens\n20.1,30,7583,922\n", "922", "90", "output_len"},
		{"x.csv", "mean_ttft_ms,p99_ttft_ms,completed,mean input tokens\n20.1,30,10,7583\n", "7583", "3000", "input_tokens"},
		{"x.csv", "mean_ttft_ms,p99_ttft_ms,completed,Avg OSL\n20.1,30,10,922\n", "922", "90", "output_tokens"},
		{"x.csv", "mean_ttft_ms,p99_ttft_ms,users\n20.1,30,16\n", "16", "32", "max_concurrency"},
		{"x.csv", "mean_ttft_ms,p99_ttft_ms,target_qps\n20.1,30,16\n", "16", "32", "request_rate"},
		{"x.csv", "mean_ttft_ms,p99_ttft_ms,Prompt len (tok),Tokens out\n20.1,30,7583,922\n", "7583", "3000", "input_len"},
		{"x.csv", "mean_ttft_ms,p99_ttft_ms,Prompt len (tok),Tokens out\n20.1,30,7583,922\n", "922", "90", "output_len"},
		{"x.csv", "mean_ttft_ms,p99_ttft_ms,Offered load [req/s]\n20.1,30,16\n", "16", "32", "request_rate"},
		{"x.csv", "mean_ttft_ms,p99_ttft_ms,QPS target\n20.1,30,16\n", "16", "32", "request_rate"},
		{"x.csv", "mean_ttft_ms,p99_ttft_ms,VUs\n20.1,30,16\n", "16", "32", "max_concurrency"},
		{"x.csv", "mean_ttft_ms,p99_ttft_ms,Concurrency (#)\n20.1,30,16\n", "16", "32", "max_concurrency"},
		{"x.csv", "mean_ttft_ms,p99_ttft_ms,served_model_name\n20.1,30,llama\n", "llama", "qwen", "model"},
		{"x.csv", "mean_ttft_ms,p99_ttft_ms,num_requests\n20.1,30,16\n", "16", "32", "num_prompts"},
		{"x.md", "| Input/output | Mean TTFT (ms) | Req/s |\n|---|---|---|\n| 7583/922 | 20.1 | 3.1 |\n", "7583", "3000", "input_len"},
		{"x.md", "| Metric | Value |\n|---|---|\n| Prompt length | 7583 |\n| Mean TTFT (ms) | 20.1 |\n| Req/s | 3.1 |\n", "7583",
			"3000", "input_len"},
		{"genai_perf.csv", sections, "7583", "3000", "input_tokens"},
		{"genai_perf.csv", sections, "922", "90", "output_tokens"},
		{"x.yaml", yaml, "7583", "3000", "input_tokens"},
		{"x.yaml", yaml, "922", "90", "output_tokens"},
		{"x.yaml", report, "7583", "3000", "input_tokens"},
		{"x.json", `{"load_summary": {"requested_rate": 4}, "failures": {"count": 0}, "successes": {"count": 10, "latency": {"time_to_first_token": {"mean": 1}}, "prompt_len": {"mean": 7583}}}`, "7583", "3000", "input_tokens"},
		{"x.json", `{"aiperf_version": "1", "time_to_first_token": {"unit": "ms", "avg": 20}, "request_count": {"avg": 10}, "input_sequence_length": {"avg": 7583}}`, "7583", "3000", "input_tokens"},
		{"x.json", `{"completed": 10, "duration": 3, "mean_ttft_ms": 20.1, "input_len": 7583}`, "7583", "3000", "input_len"},
		{"x.log", fmt.Sprintf(vllmBlock, 10, "--random-input-len 7583 --dataset-name random", 10, 75830), "--random-input-len 7583",
			"--random-input-len 7000", "input_len"},
		{"x.log", fmt.Sprintf(vllmBlock, 10, "", 10, 75830), "75830", "30000", "input_tokens"},
		{"x.log", fmt.Sprintf(vllmBlock, 10, "--random-batch-size 2", 5, 75830), "--random-batch-size 2", "--random-batch-size 4",
			"prompts_per_request"},
	} {
		base := work(t, read(t, tt.name, tt.text))
		head := work(t, read(t, tt.name, strings.ReplaceAll(tt.text, tt.from, tt.to)))
		found := comparability.Compare(base, head, nil).Invalid()
		if !slices.ContainsFunc(found, func(d comparability.Difference) bool { return d.Field == tt.field }) {
			t.Errorf("%s for %s in\n%s: the sides differ in %q, and not in %s", tt.to, tt.from, tt.text, found.Labels(), tt.field)
		}
	}
}

// No column is lost, and none takes the place of another.
func TestColumnsStayApart(t *testing.T) {
	long := strings.Repeat("a_long_name_", 6)
	for _, tt := range []struct{ first, second string }{
		{"параллельность", "длина"},
		{"并发数", "长度"},
		{"a-b", "a b"},
		{"№", "±"},
		{"qps limit", "QPS_limit"},
		{long + "1", long + "2"},
		{"Größe", "Große"},
	} {
		csv := fmt.Sprintf("mean_ttft_ms,p99_ttft_ms,%s,%s\n20.1,30,x,u\n25.2,40,x,v\n26.2,41,w,v\n", tt.first, tt.second)
		table := fmt.Sprintf("| Mean TTFT (ms) | P99 TTFT (ms) | %s | %s |\n|---|---|---|---|\n| 20.1 | 30 | x | u |\n| 25.2 | 40 | x | v |\n| "+
			"26.2 | 41 | w | v |\n", tt.first, tt.second)
		for name, text := range map[string]string{"x.csv": csv, "x.md": table} {
			runs := read(t, name, text)
			seen := map[string]bool{}
			for i := range runs {
				seen[fmt.Sprint(runs[i].Params)] = true
			}
			values := slices.Sorted(maps.Values(runs[0].Params))
			if len(seen) != 3 || !slices.Contains(values, "x") || !slices.Contains(values, "u") {
				t.Errorf("%s with %q and %q: parameters %v", name, tt.first, tt.second, seen)
			}
			if _, err := convert.Document(runs, convert.Options{}); err == nil {
				t.Errorf("%s with %q and %q: results that differ in them are one cell", name, tt.first, tt.second)
			}
		}
	}
}

// Numbers that nothing here understands are named.
func TestNumbersThatAreNotUnderstoodAreNamed(t *testing.T) {
	r := read(t, "x.csv", "mean_ttft_ms,p99_ttft_ms,Wärme (W),side\n20.1,30,412.7,base\n")[0]
	if !hasNote(&r, "Wärme (W)") || hasNote(&r, "side") {
		t.Errorf("notes %q", r.Warnings())
	}
}

// Every published form gives its figures.
func TestPublishedForms(t *testing.T) {
	for name, want := range map[string][]map[string]float64{
		"others/llmd-guide.md": {
			{"request_throughput.mean": 5.0788, "ttft.value": 55.996, "tpot.value": 0.05299, "itl.value": 0.03192, "e2el.value": 108.052,
				"input_throughput.mean": 38491.14},
			{"ttft.value": 59.362, "itl.value": 0.03177},
		},
		"others/llmd-0.1.yaml": {{"ttft.mean": 2.1675998359240474, "inference_perf_e2el.p99": 39.51040306784445,
			"inference_perf_itl.p99.9": 0.6424302404634074, "request_throughput.mean": 3.798167020643812}},
		"others/llmd-0.1.md": {{"ttft.mean": 2.1675998359240474, "request_throughput.mean": 3.798167020643812}},
		"others/jetstream.txt": {
			{"ttft.mean": 114.96078, "ttft.p50": 115.48855, "ttft.p99": 243.65912, "tpot.p99": 132.71043, "request_throughput.mean": 6.05,
				"output_throughput.mean": 1412.49},
			{"ttft.mean": 1.27409, "tpot.p50": 0.03434},
		},
		"others/guided.txt": {{"e2el.mean": 5.37205, "e2el.p99": 5.82996, "ttft.p50": 0.05016, "itl.p99": 0.02072,
			"request_throughput.mean": 7.17, "success.rate": 0}},
		"others/aisbench.txt": {{"e2el.mean": 91.6104, "e2el.max": 158.1311, "ttft.p50": 4.633}},
		"others/sglang-pd.md": {{"request_throughput.mean": 1.9, "ttft.mean": 5.89311}, {"request_throughput.mean": 1.82},
			{"request_throughput.mean": 1.87}, {"request_throughput.mean": 1.44}},
	} {
		runs := readFile(t, name, convert.ReadOptions{})
		if len(runs) != len(want) {
			t.Errorf("%s: %d results, want %d", name, len(runs), len(want))
			continue
		}
		for i, w := range want {
			for id, v := range w {
				got, ok := runs[i].Metrics[id]
				if v == 0 && ok || v != 0 && got != v {
					t.Errorf("%s: %s = %v (%v), want %v", runs[i].At(), id, got, ok, v)
				}
			}
		}
	}
	llmd := readFile(t, "others/llmd-0.1.yaml", convert.ReadOptions{})[0]
	for key, v := range map[string]string{"model": "Qwen/Qwen3-32B", "request_rate": "10", "dataset_name": "shared_prefix",
		"output_len": "1000"} {
		if got, _ := llmd.Param(key); got != v {
			t.Errorf("%s is %q, want %q", key, got, v)
		}
	}
	if got := readFile(t, "others/guided.txt", convert.ReadOptions{})[0].Counts; got.Sent != 100 || got.InputTokens != 30691 {
		t.Errorf("counts %+v", got)
	}
	if in, _ := readFile(t, "others/sglang-pd.md", convert.ReadOptions{})[0].Param("input_len"); in != "4096" {
		t.Errorf("input length %q", in)
	}
}

// A rate is a setting where it is a round number, and a figure where it was measured.
func TestMeasuredRatesAreNoSettings(t *testing.T) {
	for _, tt := range []struct {
		header, values string
		setting        bool
	}{
		{"qps | Mean TTFT (ms) | P99 TTFT (ms)", "2 | 20.1 | 30; 4 | 21.2 | 31; inf | 22 | 32", true},
		{"QPS | Mean TTFT (ms) | P99 TTFT (ms)", "0.25 | 20.1 | 30; 0.5 | 21.2 | 31; 1.25 | 22 | 32", true},
		{"Mean TTFT (ms) | P99 TTFT (ms) | QPS", "20.1 | 30 | 1.90; 21.2 | 31 | 1.82; 22 | 32 | 2", false},
		{"RPS | Mean TTFT (ms) | P99 TTFT (ms)", "11.37 | 20.1 | 30", false},
		{"Request rate | QPS | Mean TTFT (ms) | P99 TTFT (ms)", "4 | 3 | 20.1 | 30", false},
	} {
		header := strings.Split(tt.header, " | ")
		text := "| " + tt.header + " |\n|" + strings.Repeat("---|", len(header)) + "\n"
		csv := strings.Join(header, ",") + "\n"
		for row := range strings.SplitSeq(tt.values, "; ") {
			text += "| " + row + " |\n"
			csv += strings.ReplaceAll(row, " | ", ",") + "\n"
		}
		for name, text := range map[string]string{"x.md": text, "x.csv": csv} {
			for _, r := range read(t, name, text) {
				_, figure := r.Metrics["request_throughput.mean"]
				if figure == tt.setting {
					t.Errorf("%s of %q: figures %v, parameters %v", name, tt.header, r.Metrics, r.Params)
				}
			}
		}
	}
	r := read(t, "x.csv", "mean_ttft_ms,p99_ttft_ms,tok_s,concur,n\n20.1,30,412.7,15.8,5\n")[0]
	if r.Metrics["token_throughput.value"] != 412.7 || r.Metrics["concurrency.mean"] != 15.8 || len(r.Params) != 0 {
		t.Errorf("figures %v, parameters %v", r.Metrics, r.Params)
	}
}

// A time per output token is what is left of a request after its first token: without that it is none.
func TestDerivedFiguresNeedTheirParts(t *testing.T) {
	text := `{"completed": 10, "duration": 3, "mean_ttft_ms": %s, "median_ttft_ms": %s, "mean_tpot_ms": 23.4, "median_tpot_ms": 22, "mean_e2el_ms": 900.5}`
	for ttft, kept := range map[string]bool{"0.0": false, "null": false, "20.1": true} {
		r := read(t, "x.json", fmt.Sprintf(text, ttft, ttft))[0]
		_, tpot := r.Metrics["tpot.mean"]
		if _, e2el := r.Metrics["e2el.mean"]; tpot != kept || !e2el {
			t.Errorf("with a TTFT of %s: %v", ttft, r.Metrics)
		}
	}
}

// A run that was cancelled is a part of one.
func TestCancelledRunsAreNotWhole(t *testing.T) {
	text := `{"aiperf_version": "1", "time_to_first_token": {"unit": "ms", "avg": 20}, "request_count": {"avg": 10}, "was_cancelled": %v}`
	for _, cancelled := range []bool{false, true} {
		if r := read(t, "x.json", fmt.Sprintf(text, cancelled))[0]; (r.Cut != "") != cancelled {
			t.Errorf("cancelled %v: %q", cancelled, r.Cut)
		}
	}
}

// A summary beside its stages is no result of its own, and a stage that was not sent as asked says so.
func TestStagesAndTheirSummary(t *testing.T) {
	var runs []convert.Run
	for _, name := range []string{"stage_0", "stage_5", "summary"} {
		runs = append(runs, readFile(t, "others/stages/"+name+"_lifecycle_metrics.json", convert.ReadOptions{})...)
	}
	doc, err := convert.Document(runs, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var rates []string
	for _, c := range doc.Benchmarks[0].Cells {
		rates = append(rates, c.Values[0].Value)
	}
	if len(rates) != 2 || slices.Contains(rates, "not said") {
		t.Errorf("cells of the rates %q", rates)
	}
	notes := strings.Join(doc.Warnings, "\n")
	if !strings.Contains(notes, "requests per second that were asked for") || !strings.Contains(notes, "sums up several stages") {
		t.Errorf("notes\n%s", notes)
	}
	if alone, err := convert.Document(runs[2:], convert.Options{}); err != nil || len(alone.Benchmarks[0].Cells) != 1 {
		t.Errorf("a summary alone: %v", err)
	}
}

// What looks like a result and is none says why.
func TestNoResultSaysWhy(t *testing.T) {
	for _, tt := range []struct{ name, text, why string }{
		{"x.log", "Mean TTFT: 20.1\n", "unit of time"},
		{"x.md", "| Mean TTFT | P99 TTFT |\n|---|---|\n| 20.1 | 30 |\n", "unit of time"},
		{"x.log", "Mean TTFT (ms): 20.1\nP99 TTFT (ms): 30\n", "4 are needed"},
		{"x.log", "Throughput: 20.1\n", "what it counts"},
		{"x.csv", "Mean TTFT,P99 TTFT\n20.1,30\n", "unit of time"},
		{"x.csv", "build_commit,model_type,n_prompt,n_gen,avg_ts\n8cf427ff,qwen2 7B,512,0,7285.6\n", "llama-bench -o json"},
		{"x.json", `{"my_ttft": 3}`, "my_ttft"},
		{"x.log", "ℹ Server Throughput Statistics (All Requests)\n| Benchmark | Requests ||\n", "a table that guidellm prints is not read"},
		{"x.yaml", "metrics:\n  latency: {}\nscenario:\n  a: 1\nversion: '0.7'\n", "only 0.2 is read"},
	} {
		_, err := convert.Read(strings.NewReader(tt.text), tt.name, convert.ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.why)
		}
	}
}

// Results that show one launch of the server are not of several, whatever is declared.
func TestSharedLaunch(t *testing.T) {
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	file := func(i int, begin time.Duration, extra string) convert.Run {
		date := at.Add(begin).Format("20060102-150405")
		r := read(t, fmt.Sprintf("base%d.json", i),
			fmt.Sprintf(`{"date": %q, "completed": 100, "duration": 60, "mean_ttft_ms": %d.5, "total_input_tokens": 6400%s}`, date, 20+i, extra))[0]
		return r
	}
	by := func(tool string, runs ...convert.Run) []convert.Run {
		for i := range runs {
			runs[i].Tool = tool
		}
		return runs
	}
	for _, tt := range []struct {
		name   string
		runs   []convert.Run
		shared bool
	}{
		{"apart", []convert.Run{file(1, 0, ""), file(2, 5*time.Minute, "")}, false},
		{"one after the other", []convert.Run{file(1, 0, ""), file(2, 62*time.Second, "")}, true},
		{"one after the other, of llama.cpp", []convert.Run{file(1, 0, `, "backend": "llama.cpp"`),
			file(2, 62*time.Second, `, "backend": "llama.cpp"`)}, false},
		{"one after the other, of a GGUF file", []convert.Run{file(1, 0, `, "model_id": "qwen2.5-0.5b-q4_k_m.gguf"`),
			file(2, 62*time.Second, `, "model_id": "qwen2.5-0.5b-q4_k_m.gguf"`)}, false},
		{"one after the other, of a server that nothing names", by("guidellm", file(1, 0, ""), file(2, 62*time.Second, "")), false},
		{"one after the other, of vLLM", by("guidellm", file(1, 0, `, "backend": "vllm"`), file(2, 62*time.Second, `, "backend": "vllm"`)), true},
		{"the same start", []convert.Run{file(1, 0, `, "server_start_time": "2026-03-01T09:00:00Z"`),
			file(2, 5*time.Minute, `, "server_start_time": "2026-03-01T09:00:00Z"`)}, true},
		{"a start each", []convert.Run{file(1, 0, `, "server_start_time": "2026-03-01T09:00:00Z"`),
			file(2, 5*time.Minute, `, "server_start_time": "2026-03-01T10:03:00Z"`)}, false},
		{"one container", []convert.Run{file(1, 0, `, "container_id": "4f2"`), file(2, 5*time.Minute, `, "container_id": "4f2"`)}, true},
		{"counters go on", []convert.Run{file(1, 0, `, "server_requests_total": 100`),
			file(2, 5*time.Minute, `, "server_requests_total": 200`)}, true},
		{"counters begin anew", []convert.Run{file(1, 0, `, "server_requests_total": 100`),
			file(2, 5*time.Minute, `, "server_requests_total": 101`)}, false},
		{"uptime", []convert.Run{file(1, 0, `, "server_uptime_s": 600`), file(2, 5*time.Minute, `, "server_uptime_s": 900`)}, true},
	} {
		if why := convert.SharedLaunch(tt.runs, convert.Options{OneLaunchPerFile: true}); (why != "") != tt.shared {
			t.Errorf("%s: %q", tt.name, why)
		}
	}
}

// What is looked for before an expression lets through whatever the expression matches.
func TestLogWithManyLinesIsReadAsBefore(t *testing.T) {
	noise := strings.Repeat("INFO 05-01 12:00:00 [loggers.py:1] nothing of interest: 12\n", 50)
	runs := read(t, "x.log", noise+"guidellm benchmark --rate 4\n"+noise+"vllm serve llama --max-num-seqs 8\n"+noise+
		fmt.Sprintf(vllmBlock, 10, "--request-rate 3", 10, 5120)+noise)
	if rate, _ := runs[0].Param("request_rate"); len(runs) != 1 || rate != "3" || runs[0].Params["serve_max_num_seqs"] != "8" {
		t.Errorf("%d results, parameters %v", len(runs), runs[0].Params)
	}
}
