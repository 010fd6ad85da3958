package convert_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/reports/result"
)

// fuzzLimits keep an input of a few bytes from meaning gigabytes.
var fuzzLimits = convert.Limits{Bytes: 1 << 20, Runs: 100, Values: 10_000, Requests: 1000, Events: 10_000}

func seed(f *testing.F, patterns ...string) {
	f.Helper()
	for _, p := range patterns {
		names, err := filepath.Glob(filepath.Join("testdata", p))
		if err != nil || len(names) == 0 {
			f.Fatalf("no file %s: %v", p, err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(b[:min(len(b), 4_000)]))
		}
	}
}

// checkRead reads a hostile file. What is accepted keeps the promises of Run and makes a
// document that can be written and read.
func checkRead(t *testing.T, name, text string) {
	t.Helper()
	runs, err := convert.Read(strings.NewReader(text), name, convert.ReadOptions{Records: true, Limits: fuzzLimits})
	if err != nil {
		if len(runs) > 0 {
			t.Errorf("%d runs with the error %v", len(runs), err)
		}
		return
	}
	for i := range runs {
		checkDefined(t, &runs[i])
	}
	doc, err := convert.Document(runs, convert.Options{OneLaunchPerFile: true})
	if err != nil {
		return
	}
	if err := result.Validate(doc); err != nil {
		t.Errorf("the document is not valid: %v", err)
	}
}

func FuzzReadText(f *testing.F) {
	seed(f, "published/*.txt", "tools/*.log")
	f.Add("| a | Mean TTFT (ms) | P99 TTFT (ms) |\n|---|---|---|\n| x | 1 | 2 |\n")
	f.Add(rule + "Successful requests: 1\nMean TTFT (ms): 1e-3\n" + end)
	f.Add("[pod/a/b] 2026-01-02T03:04:05Z " + rule +
		"[pod/a/b] 2026-01-02T03:04:06Z Successful requests: 1\n&gt; Mean TTFT (ms):&nbsp;1<br>\n" + end)
	f.Add("INFO 01-02 03:04:05 x] Engine 000: Avg prompt throughput: 0.0 tokens/s, Running: 1 reqs\n" + rule +
		"Successful requests: 1\nMean TTFT (ms): 1\n" + end)
	f.Add("\xff\xfe=\x00=\x00=\x00")
	f.Fuzz(func(t *testing.T, text string) { checkRead(t, "x.log", text) })
}

// FuzzReadOurs reads what our exports write.
func FuzzReadOurs(f *testing.F) {
	seed(f, "golden/bench.txt") // cut, as files are
	f.Add("# measured-by vllm\nUnit ttft.mean-s better=lower\nBenchmarkX/qps=2 10 0.5 ttft.mean-s 1 failed-requests 20 input-tokens\n")
	f.Add("# TYPE pipeline_ttft_seconds gauge\npipeline_ttft_seconds{axis_h3=\"a \\\"b\\\" \\n\",repeat=\"1\",stat=\"p50\"} " +
		"0.5\npipeline_requests{repeat=\"1\"} 10\n# EOF\n")
	f.Fuzz(func(t *testing.T, text string) { checkRead(t, "x.txt", text) })
}

func FuzzReadJSON(f *testing.F) {
	seed(f, "tools/*.json", "tools/*.jsonl", "golden/llmd.json")
	f.Add(ownReport(`"sent": 10`))
	f.Add(`{"version": "0.2", "run": {}, "results": {"request_performance": {"aggregate": {"requests": {"total": 10, "failures": 1, "incomplete": 2}}}}}`)
	f.Fuzz(func(t *testing.T, text string) { checkRead(t, "x.json", text) })
}

func FuzzReadCSV(f *testing.F) {
	seed(f, "published/*.csv")
	f.Add("benchmark,qps,sent,failed,metric,unit,value\nb,2,10,1,ttft.mean,s,0.5\n")
	f.Add("tool,request_rate,ttft.mean,sglang_e2el.mean\nsglang,'=1,0.5,1\n")
	f.Fuzz(func(t *testing.T, text string) { checkRead(t, "x.csv", text) })
}

// FuzzReadPacked: reports in YAML, sections of CSV, and logs of containers are results or
// errors.
func FuzzReadPacked(f *testing.F) {
	f.Add(reportYAML)
	f.Add("Metric,avg,min\nTime to First Token (ms),\"1,000.5\",1\n\nMetric,Value\nRequest Count (count),3.00\n")
	f.Add(`{"log":"` + "============ Serving Benchmark Result ============" + `\n","stream":"stdout","time":"2026"}` + "\n" +
		`{"log":"Mean TTFT (ms): 20 ms\n","stream":"stdout","time":"2026"}` + "\n")
	f.Add("results: &a\n  x: *a\nrun:\n")
	f.Add("\x1f\x8b\x08\x00")
	f.Add("num_prompts: 1, 2\nseq_length: 10\n" + printedBlock(1, 10, 5) + printedBlock(1, 999, 5) + "vllm serve m --tp 2\n" +
		printedBlock(2, 20, 6))
	f.Fuzz(func(t *testing.T, text string) {
		runs, err := convert.Read(strings.NewReader(text), "x.txt", convert.ReadOptions{Limits: convert.Limits{Bytes: 1 << 20, Depth: 16}})
		if err != nil {
			return
		}
		for i := range runs {
			checkDefined(t, &runs[i])
		}
		if doc, err := convert.Document(runs, convert.Options{}); err == nil {
			if err := result.Validate(doc); err != nil {
				t.Errorf("%v of %q", err, text)
			}
		}
	})
}
