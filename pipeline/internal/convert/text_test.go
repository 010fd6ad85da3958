package convert_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
)

// TestLogOfManyKinds: blocks after progress bars, between engine lines, behind the
// prefixes of logs and as comments; commands over several lines; lists above a group.
func TestLogOfManyKinds(t *testing.T) {
	runs := readFile(t, "tools/session.log", convert.ReadOptions{})
	wants := []struct {
		succeeded int
		metrics   map[string]float64
		params    map[string]string
		absent    []string
		warnings  int
	}{
		{10, map[string]float64{"ttft.mean": 2.11151, "output_throughput.mean": 218.04},
			map[string]string{"num_prompts": "10", "model": "Qwen2-7B-Instruct", "input_len": "1024", "save_result": "true",
				"h2": "Test 1: 2 GPU pods (KV cache 11.03 GiB)"},
			[]string{"param:header"}, 0},
		{1, map[string]float64{"ttft.mean": 0.31458}, map[string]string{"num_prompts": "1", "seq_length": "80", "heading": "Lengths"},
			[]string{"param:model"}, 0},
		{2, map[string]float64{"ttft.mean": 0.3728}, map[string]string{"num_prompts": "2", "seq_length": "80"}, nil, 0},
		{98, map[string]float64{
			"ttft.p99.9": 0.09, "ttft.p50": 0.01, "goodput.rate": 0, "queue.mean": 0, "e2el_from_schedule.mean": 0.2105, "probe_e2el.p50": 0.0055,
			"concurrency.peak_second": 40, "spec_decode.acceptance_rate": 0.7125, "spec_decode.accepted_tokens": 1710,
			"total_throughput.mean": 300.3,
		}, map[string]string{"qps": "10", "concurrency": "32", "goodput": "ttft:100"}, []string{"param:seq_length"}, 1},
		{5, map[string]float64{"ttft.mean": 0.01225}, nil, nil, 0},
		{6, map[string]float64{"ttft.mean": 0.01325}, nil, nil, 0},
		{7, map[string]float64{"ttft.mean": 0.01425}, nil, nil, 0},
		{0, nil, nil, []string{"ttft.mean", "request_throughput.mean"}, 1},
	}
	if len(runs) != len(wants) {
		t.Fatalf("%d runs, want %d", len(runs), len(wants))
	}
	for i, w := range wants {
		r := &runs[i]
		checkDefined(t, r)
		if r.Counts.Succeeded != w.succeeded || len(r.Warnings()) != w.warnings {
			t.Errorf("%s: counts %+v, warnings %q", r.At(), r.Counts, r.Warnings())
		}
		for id, v := range w.metrics {
			if got, ok := r.Metrics[id]; !ok || got != v {
				t.Errorf("%s: %s = %v (%v), want %v", r.At(), id, got, ok, v)
			}
		}
		for key, v := range w.params {
			if got, _ := r.Param(key); got != v {
				t.Errorf("%s: %s is %q, want %q", r.At(), key, got, v)
			}
		}
		for _, id := range w.absent {
			if key, isParam := strings.CutPrefix(id, "param:"); isParam {
				if v, ok := r.Param(key); ok {
					t.Errorf("%s: %s is %q, but is not this block's", r.At(), key, v)
				}
			} else if v, ok := r.Metrics[id]; ok {
				t.Errorf("%s: %s = %v without data", r.At(), id, v)
			}
		}
	}
	if c := runs[3].Counts; c != (convert.Counts{Sent: 100, Succeeded: 98, Failed: 2, FailedKnown: true, InputTokens: 1000,
		OutputTokens: 2000}) {
		t.Errorf("counts %+v", c)
	}
	if runs[3].Other["Position 0"] != "85.70" {
		t.Errorf("other lines %q", runs[3].Other)
	}
	checkEngine(t, runs[0].Engine)
}

func checkEngine(t *testing.T, samples []convert.EngineSample) {
	t.Helper()
	if len(samples) != 3 {
		t.Fatalf("%d engine lines, want 3", len(samples))
	}
	s := samples[1]
	if s.Time.Format("01-02 15:04:05") != "09-02 13:08:20" || s.Engine != "000" || s.Line != 9 {
		t.Errorf("engine sample %+v", s)
	}
	for name, v := range map[string]float64{
		"prompt_throughput": 12.5, "generation_throughput": 98.7, "running": 4, "waiting": 2, "kv_usage": 0.141, "hit_rate": 0.539,
	} {
		if s.Values[name] != v {
			t.Errorf("%s = %v, want %v", name, s.Values[name], v)
		}
	}
}

const rule = "============ Serving Benchmark Result ============\n"
const end = "==================================================\n"

func TestDamagedBlocks(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"word for a figure", rule + "Successful requests:  10\nMean TTFT (ms):   fast\n" + end,
			`x.log:3: Mean TTFT (ms): "fast" is not a number`},
		{"no figure", rule + "Successful requests:  10\nMean TTFT (ms):\n" + end, `x.log:3: Mean TTFT (ms): "" is not a number`},
		{"no colon", rule + "Successful requests:  10\nMean TTFT (ms)   12.5\n" + end,
			`x.log:3: "Mean TTFT (ms)   12.5" is not a label and a value`},
		{"thousands", rule + "Total input tokens:  202,314\n" + end, `x.log:2: Total input tokens: "202,314" is not a number`},
		{"a log line in a figure", rule + "Mean TTFT (ms):   12INFO 01-02 x\n" + end, "is not a number"},
		{"half a request", rule + "Successful requests:  10.5\n" + end, "is not a count"},
		{"negative", rule + "Mean TTFT (ms):  -1.00\n" + end, `"-1.00" is negative`},
		{"infinite", rule + "Mean TTFT (ms):  inf\n" + end, "is not a number"},
		{"cut in a figure", rule + "Successful requests:  10\nMean TTFT (ms):   46", "x.log:3: the file ends in the middle of a figure"},
		{"twice", rule + "Mean TTFT (ms):  1.00\nMean TTFT (ms):  2.00\n" + end, "is there twice"},
		{"empty", rule + end, "x.log:1: a result without a figure"},
		{"short row", "| a | Mean TTFT (ms) | P99 TTFT (ms) |\n|---|---|---|\n| x | 1 |\n", "x.log:3: a row of 2 cells in a table of 3 columns"},
		{"word in a table", "| a | Mean TTFT (ms) | P99 TTFT (ms) |\n|---|---|---|\n| x | 1 | fast |\n",
			`x.log:3: P99 TTFT (ms): "fast" is not a number`},
		{"a comma that may be decimal", "| a | Mean TTFT (ms) | P99 TTFT (ms) |\n|---|---|---|\n| x | 1,250 | 2 |\n", `"1,250" is not a number`},
		{"nothing at all", "hello\nworld\n", "no result found"},
		{"nothing", "", "no result found"},
		{"not text", "\x00\x01\x02", "no result found"},
	}
	for _, tt := range tests {
		runs, err := convert.Read(strings.NewReader(tt.text), "x.log", convert.ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v (%d runs), want %q", tt.name, err, len(runs), tt.want)
		}
	}
}

func TestLiberalAroundBlocks(t *testing.T) {
	const body = "Successful requests:  10\nMean TTFT (ms):  12.50\n"
	tests := []struct{ name, text, warning string }{
		{"windows line ends", strings.ReplaceAll(rule+body+end, "\n", "\r\n"), ""},
		{"colours", "\x1b[32m" + rule + "\x1b[0m" + body + end, ""},
		{"quoted in a mail", "> " + strings.ReplaceAll(rule+body+strings.TrimSuffix(end, "\n"), "\n", "\n> ") + "\n", ""},
		{"indented", "    " + strings.ReplaceAll(rule+body+end, "\n", "\n    "), ""},
		{"white space lost", strings.ReplaceAll(rule+body+end, "  ", " "), ""},
		{"no closing rule", rule + body, "no closing line (the text ends)"},
		{"fence ends it", "```\n" + rule + body + "```\ntext\n", "no closing line (a fence ends it)"},
		{"a warning inside", rule + "Successful requests:  10\n/usr/lib/x.py:3 something happened\nMean TTFT (ms):  12.50\n" + end,
			"1 lines inside the block"},
		{"a label of the future", rule + body + "Energy per token (J):  0.3\n" + end, `not known here are kept as text: "Energy per token (J)"`},
		{"of all", rule + "Successful requests:  10/10\nMean TTFT (ms):  12.50\n" + end, ""},
		{"median and p50", rule + body + "Median TTFT (ms): 5.00\nP50 TTFT (ms): 5.00\n" + end, ""},
		{"byte order mark", "\ufeff" + rule + body + end, ""},
	}
	for _, tt := range tests {
		runs, err := convert.Read(strings.NewReader(tt.text), "x.log", convert.ReadOptions{})
		if err != nil || len(runs) != 1 {
			t.Errorf("%s: %d runs, %v", tt.name, len(runs), err)
			continue
		}
		r := runs[0]
		if r.Counts.Succeeded != 10 || r.Metrics["ttft.mean"] != 0.0125 {
			t.Errorf("%s: %+v", tt.name, r)
		}
		if tt.warning == "" && len(r.Warnings()) > 0 || !strings.Contains(strings.Join(r.Warnings(), "\n"), tt.warning) {
			t.Errorf("%s: warnings %q, want %q", tt.name, r.Warnings(), tt.warning)
		}
	}
}

// TestTurnedTable: metrics as rows and settings as columns, with a column that compares.
func TestTurnedTable(t *testing.T) {
	const text = `
# Before and after

| Metric | main | PR \| fast | change |
|:--|--:|--:|--:|
| Request throughput (req/s) | 2.02 | **2.50** | +24 % |
| Mean TTFT (ms) | 461.52 | 301.00 | -35 % |
| P99 ITL (ms) | 20.5 | - | |
`
	runs, err := convert.Read(strings.NewReader(text), "pr.md", convert.ReadOptions{})
	if err != nil || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	if v, _ := runs[1].Param("column"); v != "PR | fast" || runs[1].Metrics["request_throughput.mean"] != 2.5 ||
		runs[0].Metrics["ttft.mean"] != 0.46152 {
		t.Errorf("%+v", runs)
	}
	if v, ok := runs[1].Metrics["itl.p99"]; ok {
		t.Errorf("an empty cell is %v", v)
	}
	if w := strings.Join(runs[0].Warnings(), "\n"); !strings.Contains(w, "does not say which tool") {
		t.Errorf("warnings %q", w)
	}
}

// TestBlocksWithoutRules: a block of which only the figures were pasted is one, a sentence
// with a figure is not, and a summary that repeats a block is not a second measurement.
func TestBlocksWithoutRules(t *testing.T) {
	const figures = "Successful requests:                     10\nBenchmark duration (s):                  4.25\n" +
		"Request throughput (req/s):              2.35\n---------------Time to First Token----------------\nMean TTFT (ms):                    " +
		"      12.50\nP99 TTFT (ms):                           19.75\n"
	text := "## main fp16\n```\n" + figures + "```\nIn short:\nMean TTFT (ms): 12.50\nThat is all.\n"
	runs, err := convert.Read(strings.NewReader(text), "pr.md", convert.ReadOptions{})
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	r := runs[0]
	if r.Line != 3 || r.Metrics["ttft.p99"] != 0.01975 || r.Counts.Succeeded != 10 || r.Params["heading"] != "main fp16" ||
		len(r.Warnings()) != 1 {
		t.Errorf("%+v", r)
	}
	if _, err := convert.Read(strings.NewReader("Mean TTFT (ms): 12.50\nThat is all.\n"), "x.md", convert.ReadOptions{}); err == nil {
		t.Error("a sentence is taken for a result")
	}
	const summary = "Summary\nRequest throughput (req/s): 2.35\nMean TTFT (ms): 12.50\nP99 TTFT (ms): 19.75\nBenchmark duration (s): 4.25\n"
	runs, err = convert.Read(strings.NewReader(rule+figures+end+summary), "x.md", convert.ReadOptions{})
	if err != nil || len(runs) != 2 || runs[1].SameAs != 1 {
		t.Errorf("a summary: %v, %+v", err, runs)
	}
	damaged := strings.Replace(figures, "19.75", "19,75", 1)
	if _, err := convert.Read(strings.NewReader(damaged), "x.md", convert.ReadOptions{}); err == nil ||
		!strings.Contains(err.Error(), `x.md:6: P99 TTFT (ms): "19,75" is not a number`) {
		t.Errorf("a damaged figure: %v", err)
	}
}

// TestSGLangBlocks: an older block with its misspelt label, of another backend than
// SGLang's own endpoint.
func TestSGLangBlocks(t *testing.T) {
	text := rule + "Backend:  vllm\nTraffic request rate:  4.0\nMax reqeuest concurrency:  16\nSuccessful requests:  10\n" +
		"Total generated tokens:  100\nTotal generated tokens (retokenized):  99\nConcurrency:  3.25\nAccept length:  1.75\n" +
		"----------------End-to-End Latency----------------\nMean E2E Latency (ms):  500.00\n---------------Inter-Token " +
		"Latency----------------\nMean ITL (ms):  9.50\nMax ITL (ms):  20.00\n" + end
	runs, err := convert.Read(strings.NewReader(text), "x.log", convert.ReadOptions{})
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	r := runs[0]
	checkDefined(t, &r)
	for id, want := range map[string]float64{"itl.mean": 0.0095, "itl.max": 0.02, "sglang_e2el.mean": 0.5, "concurrency.mean": 3.25,
		"spec_decode.acceptance_length": 1.75} {
		if got := r.Metrics[id]; got != want {
			t.Errorf("%s = %v, want %v: %v", id, got, want, r.Metrics)
		}
	}
	if v, _ := r.Param("max_concurrency"); v != "16" || r.Audit["retokenized_tokens"] != 99.0 {
		t.Errorf("%+v", r)
	}
}

// TestTablesOfPeople: headings without a unit in parentheses, thousands with commas where
// other numbers show that the point is decimal, elided cells.
func TestTablesOfPeople(t *testing.T) {
	const text = `
**Model:** some/model

| ISL | Concurrency | Output tok/s | Req/s | Mean TTFT (ms) | Mean TPOT (ms) | Completed |
|--:|--:|--:|--:|--:|--:|--:|
| 1024 | 16 | 1,035 | 1.01 | 3,171 | 20.5 | 1,000 |
| 1024 | **64** | **1,749** | 1.71 | 1,945 | 25.5 | ... |
`
	runs, err := convert.Read(strings.NewReader(text), "page.md", convert.ReadOptions{Tool: "vllm"})
	if err != nil || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	r := &runs[0]
	if r.Metrics["output_throughput.mean"] != 1035 || r.Metrics["ttft.mean"] != 3.171 || r.Metrics["request_throughput.mean"] != 1.01 ||
		r.Counts.Succeeded != 1000 {
		t.Errorf("%+v", r)
	}
	for key, want := range map[string]string{"input_len": "1024", "max_concurrency": "16", "model": "some/model"} {
		if got, _ := r.Param(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if v, _ := runs[1].Param("concurrency"); v != "64" || runs[1].Counts.Succeeded != 0 {
		t.Errorf("concurrency %q of %+v", v, runs[1])
	}
}

// TestManyBlocks: a long log costs memory by its results, not by its length.
func TestManyBlocks(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "Namespace(request_rate=%d.0, model='m')\n%s%s", i, strings.Repeat("noise of the server\n", 50), rule)
		fmt.Fprintf(&b, "Successful requests:  %d\nMean TTFT (ms):  %d.25\n%s", i+1, i+1, end)
	}
	runs, err := convert.Read(strings.NewReader(b.String()), "long.log", convert.ReadOptions{})
	if err != nil || len(runs) != 300 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for i, r := range runs {
		rate, _ := r.Param("qps")
		if rate != fmt.Sprint(i) || math.Abs(r.Metrics["ttft.mean"]-(float64(i)+1.25)/1e3) > 1e-12 {
			t.Fatalf("run %d: rate %s, %v", i, rate, r.Metrics)
		}
	}
}
