package convert_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"
	"pgregory.net/rapid"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/reports/result"
)

// exchanged are results of every tool and form.
var exchanged = []string{
	"published/vllm-mooncake.md", "published/sglang-random.txt", "published/vllm-sharegpt.txt", "tools/vllm-old.json", "tools/aiperf.json", "tools/hf.json",
	"tools/inference-perf.json", "real/vllm-0.32-appended.json", "real/sglang-0.5.23.jsonl", "real/guidellm-0.8.1.json", "real/aiperf-0.13.0.json",
}

// TestRoundTripRuns: what is written run by run is read again to the last bit, with all
// parameters, counts and definitions.
func TestRoundTripRuns(t *testing.T) {
	for name, form := range map[string]struct {
		file  string
		write func(*bytes.Buffer, []convert.Run) error
		tools []string // that the form takes, all unless given
	}{
		"CSV":  {"x.csv", func(b *bytes.Buffer, runs []convert.Run) error { return convert.WriteCSV(b, runs) }, nil},
		"vLLM": {"x.json", func(b *bytes.Buffer, runs []convert.Run) error { return convert.WriteVLLM(b, runs) }, []string{"vllm"}},
		"llm-d": {"x.json", func(b *bytes.Buffer, runs []convert.Run) error {
			return convert.WriteLLMD(b, runs)
		}, nil},
	} {
		for _, source := range exchanged {
			runs := readFile(t, source, convert.ReadOptions{})
			runs = slices.DeleteFunc(runs, func(r convert.Run) bool { return r.SameAs != 0 })
			if form.tools != nil && !slices.Contains(form.tools, runs[0].Tool) {
				continue
			}
			t.Run(name+"/"+source, func(t *testing.T) {
				out := again(t, form.file, runs, func(b *bytes.Buffer) error { return form.write(b, runs) })
				for i := range runs {
					checkDefined(t, &out[i])
					sameFigures(t, &out[i], &runs[i])
					if !maps.Equal(out[i].Params, runs[i].Params) {
						t.Errorf("%s: parameters (-was +is)\n%s", runs[i].At(), cmp.Diff(runs[i].Params, out[i].Params))
					}
				}
			})
		}
	}
}

// TestRoundTripDocuments: what is written of a document is a document of the same cells
// and runs again.
func TestRoundTripDocuments(t *testing.T) {
	for name, form := range map[string]struct {
		file  string
		write func(*bytes.Buffer, *result.Document) error
	}{
		"Go benchmarks": {"x.txt", func(b *bytes.Buffer, d *result.Document) error { return convert.WriteGoBench(b, d) }},
		"OpenMetrics":   {"x.prom", func(b *bytes.Buffer, d *result.Document) error { return convert.WriteOpenMetrics(b, d) }},
	} {
		for _, source := range exchanged {
			t.Run(name+"/"+source, func(t *testing.T) {
				runs := readFile(t, source, convert.ReadOptions{})
				want, err := convert.Document(runs, convert.Options{Tool: "pipeline test", LaunchBy: "line"})
				if err != nil { // no parameter tells launches apart, so that each result is a unit
					want, err = convert.Document(runs, convert.Options{Tool: "pipeline test"})
				}
				if err != nil {
					t.Fatal(err)
				}
				sameDocument(t, want, form.file, func(b *bytes.Buffer) error { return form.write(b, want) })
			})
		}
		t.Run(name+"/repeats", func(t *testing.T) {
			runs := passes()
			for i := range runs {
				runs[i].Params["side"] = "a value / of = many % words"
			}
			want, err := convert.Document(runs, convert.Options{By: []string{"qps", "side"}, LaunchBy: "start"})
			if err != nil {
				t.Fatal(err)
			}
			sameDocument(t, want, form.file, func(b *bytes.Buffer) error { return form.write(b, want) })
		})
	}
}

func sameDocument(t *testing.T, want *result.Document, file string, write func(*bytes.Buffer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	runs, err := convert.Read(bytes.NewReader(b.Bytes()), file, convert.ReadOptions{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.Bytes())
	}
	for i := range runs {
		checkDefined(t, &runs[i])
	}
	opt := convert.Options{By: want.Benchmarks[0].Axes, Chosen: true}
	if len(want.Launches) > 0 {
		opt.LaunchBy = "repeat"
	}
	got, err := convert.Document(runs, opt)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(essence(want), essence(got)); diff != "" {
		t.Errorf("(-was +is)\n%s\n%s", diff, b.Bytes())
	}
}

// essence is what a document says of its cells: their values, and of each run what it did
// and what was measured.
func essence(d *result.Document) []result.Cell {
	var out []result.Cell
	for _, c := range d.Benchmarks[0].Cells {
		cell := result.Cell{Hash: c.Hash, Values: c.Values, Summary: c.Summary}
		for _, r := range c.Runs {
			audit := map[string]any{}
			for _, key := range []string{"input_tokens", "output_tokens", "tool", "failures"} {
				if v, ok := r.Audit[key]; ok {
					audit[key] = v
				}
			}
			cell.Runs = append(cell.Runs, result.Run{Repeat: r.Repeat, Pass: r.Pass, Launch: r.Launch, Status: r.Status, Duration: r.Duration, Sent: r.Sent, Failed: r.Failed, Metrics: r.Metrics, Audit: audit})
		}
		out = append(out, cell)
	}
	return out
}

// TestGoBench: benchstat's own reader reads the lines, their units and directions.
func TestGoBench(t *testing.T) {
	doc := side(t, "published/vllm-mooncake.md?h3=MooncakeTransferEngine with TCP backend", convert.Options{By: []string{"input_len", "qps", "h3"}, Tool: "pipeline\ntest"})
	var b bytes.Buffer
	if err := convert.WriteGoBench(&b, doc); err != nil {
		t.Fatal(err)
	}
	golden(t, "bench.txt", b.Bytes())
	results, reader := 0, benchfmt.NewReader(bytes.NewReader(b.Bytes()), "bench.txt")
	for reader.Scan() {
		switch rec := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(rec)
		case *benchfmt.Result:
			results++
			base, parts := rec.Name.Parts()
			if string(base) != "Imported" || len(parts) != 3 || string(parts[2]) != "/h3=MooncakeTransferEngine%20with%20TCP%20backend" || rec.Iters != 200 {
				t.Errorf("%d iterations of %s %s", rec.Iters, base, parts)
			}
			cell := doc.Benchmarks[0].Cells[results-1]
			for id, want := range cell.Runs[0].Metrics {
				if got, ok := rec.Value(unitOf(rec, id)); !ok || got != want {
					t.Errorf("%s = %v (%v), want %v", id, got, ok, want)
				}
			}
		}
	}
	if err := reader.Err(); err != nil || results != 5 {
		t.Errorf("%d results, %v", results, err)
	}
	units := reader.Units()
	for unit, better := range map[string]int{"ttft.mean-s": -1, "output_throughput.mean-tok-per-s": 1, "failed-requests": 0} {
		if got := units.GetBetter(unit); got != better {
			t.Errorf("%s is better at %d, want %d", unit, got, better)
		}
	}
	if c := benchunit.ClassOf("ttft.mean-s"); c != benchunit.Decimal {
		t.Errorf("class %v", c)
	}
}

// unitOf is the unit of a result that has a metric's id.
func unitOf(r *benchfmt.Result, id string) string {
	for _, v := range r.Values {
		if v.Unit == id || strings.HasPrefix(v.Unit, id+"-") {
			return v.Unit
		}
	}
	return id
}

// TestRoundTripAnyDocument: whatever cells are called and whatever was measured, both forms
// of documents give it back.
func TestRoundTripAnyDocument(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := strings.TrimSpace(rapid.StringMatching(`[a-zA-Z][ -~äöü€]{0,20}`).Draw(rt, "value"))
		n := rapid.IntRange(1, 3).Draw(rt, "runs")
		var runs []convert.Run
		for i := range n {
			sent := rapid.IntRange(1, 1000).Draw(rt, "sent")
			failed := rapid.IntRange(0, sent-1).Draw(rt, "failed")
			r := measured("a", nil, rapid.Float64Range(1e-9, 1e6).Draw(rt, "ttft"))
			r.Metrics["sglang_e2el.p99"] = rapid.Float64Range(1e-9, 1e6).Draw(rt, "e2el")
			r.Definitions = map[string]string{"sglang_e2el.p99": "x"}
			r.Counts = convert.Counts{Sent: sent, Succeeded: sent - failed, Failed: failed, FailedKnown: true, InputTokens: int64(10 * sent), OutputTokens: int64(sent)}
			r.Duration = rapid.Float64Range(0.001, 1e5).Draw(rt, "duration")
			batch := []convert.Run{r}
			convert.Label(batch, map[string]string{"side": value, "launch": string(rune('1' + i))})
			runs = append(runs, batch...)
		}
		want, err := convert.Document(runs, convert.Options{By: []string{"side"}, LaunchBy: "launch"})
		if err != nil {
			rt.Skip("no such value") // "none"
		}
		if len(want.Benchmarks[0].Cells[0].Runs) != n {
			rt.Skip("equal results")
		}
		sameDocument(t, want, "x.txt", func(b *bytes.Buffer) error { return convert.WriteGoBench(b, want) })
		sameDocument(t, want, "x.prom", func(b *bytes.Buffer) error { return convert.WriteOpenMetrics(b, want) })
	})
}

// ownReport is a report of llm-d with our own figures, and more of them in its second line.
func ownReport(more string) string {
	return `{"version": "0.2", "run": {"uid": "x"}, "results": {"request_performance": {}, "observability": {"pipeline": {"tool": "vllm",
` + more + `, "succeeded": 8, "failed": 2, "duration_s": 2, "input_tokens": 4, "output_tokens": 6, "metrics": {"request_throughput.mean": 0, "input_throughput.mean": 0, "output_throughput.mean": 0, "total_throughput.mean": 0}}}}}`
}

func TestExchangeErrors(t *testing.T) {
	report := func(results string) string {
		return `{"version": "0.2", "run": {"uid": "x"}, "results": {"request_performance": {"aggregate": ` + results + `}}}`
	}
	tests := []struct{ file, text, want string }{
		{"x.txt", "Unit ttft.mean-s better=lower\nBenchmarkX/qps=2 10 fast ttft.mean-s\n", `x.txt:2: ttft.mean: "fast" is not a number`},
		{"x.txt", "Unit ttft.mean-s better=lower\nBenchmarkX/qps=2 10 12\n", "x.txt:2: not a line of a benchmark"},
		{"x.txt", "Unit ttft.mean-s better=lower\nBenchmarkX 10 12 ns/op\n", `x.txt:2: "ns/op" is no unit of ours`},
		{"x.txt", "Unit ttft.mean-s better=lower\nBenchmarkX/a=%zz 10 1 ttft.mean-s\n", "x.txt:2: the name"},
		{"x.txt", "Unit ttft.mean-s better=lower\nBenchmarkX 10 1 ttft.mean-s 11 failed-requests\n", "x.txt:2: 11 of 10 requests failed"},
		{"x.txt", "Unit ttft.mean-s better=lower\nBenchmarkX 10 -1 ttft.mean-s\n", `x.txt:2: ttft.mean: "-1" is negative`},
		{"x.txt", "goos: linux\nBenchmarkX 10 12 ns/op\n", "no result found"},
		{"x.prom", "# TYPE pipeline_ttft_seconds gauge\npipeline_ttft_seconds{repeat=\"1\"} 1\n", `x.prom:2: "pipeline_ttft_seconds" is no metric of ours`},
		{"x.prom", "# TYPE pipeline_ttft_seconds gauge\npipeline_ttft_seconds{stat=\"p50\"} fast\n", `fast" is no sample of ours`},
		{"x.prom", "# TYPE pipeline_ttft_seconds gauge\nother 1\n", `x.prom:2: "other 1" is no sample of ours`},
		{"x.prom", "# TYPE pipeline_requests gauge\npipeline_requests{repeat=\"1\"} 1.5\n", `x.prom:2: "1.5" is not a count`},
		{"x.json", report(`{"requests": {"total": 10}, "latency": {"time_to_first_token": {"units": "count", "mean": 1}}}`), `time_to_first_token has the units "count"`},
		{"x.json", report(`{"requests": {"total": 10}, "latency": {"time_to_first_token": {"units": "ms", "mean": "fast"}}}`), `"fast" is not a number`},
		{"x.json", strings.Replace(report(`{}`), "0.2", "0.1", 1), `a Benchmark Report of version "0.1": only 0.2 is read`},
		{"x.json", report(`{}`), "a result without a figure"},
		// Files that were cut: what is left reads well, and is not all.
		{"x.txt", "Unit ttft.mean-s better=lower\nBenchmarkX 10 1 ttft.mean-s\nBenchmarkX 10 1 ttft.mean-s", "x.txt:3: the file ends in the middle of this line"},
		{"x.txt", "BenchmarkX 10 1 ttft.mean-s\n# measured-by vl", "x.txt:2: the file ends in the middle of this line"},
		{"x.prom", "# TYPE pipeline_ttft_seconds gauge\npipeline_ttft_seconds{stat=\"p50\"} 1\n", "x.prom:2: the file ends here, without a line \"# EOF\""},
		{"x.prom", "# TYPE pipeline_ttft_seconds gauge\npipeline_ttft_seconds{stat=\"p50\"} 1\npipeline_ttft_seconds{st", "x.prom:3: the file ends here, without a line \"# EOF\""},
		{"x.prom", "# TYPE pipeline_ttft_seconds gauge\npipeline_ttft_seconds{stat=\"p50\"} 1\n# EO", "x.prom:3: the file ends here, without a line \"# EOF\""},
		// Counts of llm-d that cannot be read are not counts that are not there.
		{"x.json", report("\n{\"requests\":\n\"many\"}"), "x.json:3: requests is not an object"},
		{"x.json", report("{\"requests\": {\n\"total\": \"many\"}}"), `x.json:2: total: "many" is not a number`},
		{"x.json", report("{\"requests\": {\"total\": 10,\n\"failures\": 0.5}}"), `x.json:2: failures: "0.5" is not a count`},
		{"x.json", report("{\"requests\": {\"total\": 10,\n\"incomplete\": []}}"), `x.json:2: incomplete: "" is not a number`},
		{"x.json", report("{\"requests\":\n{\"total\": 10, \"failures\": 9, \"incomplete\": 2}}"), "x.json:2: 9 of 10 requests failed and 2 are incomplete"},
		{"x.json", ownReport(`"sent": "many"`), `x.json:2: sent: "many" is not a number`},
		{"x.json", ownReport(`"sent": 9`), "x.json:2: sent: 9 requests, of which 8 succeeded and 2 failed"},
		{"x.json", ownReport(`"sent": 1e10`), "x.json:2: sent: 10000000000 requests"},
	}
	for _, tt := range tests {
		_, err := convert.Read(strings.NewReader(tt.text), tt.file, convert.ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.text, err, tt.want)
		}
	}
	if _, err := convert.Read(strings.NewReader(report(`{}`)), "x.json", convert.ReadOptions{}); errors.Is(err, convert.ErrNoResult) {
		t.Errorf("a report is known: %v", err)
	}
}

// TestForeignLLMD: a report of llm-d's own making has no figures of ours, and its units
// may be milliseconds.
func TestForeignLLMD(t *testing.T) {
	const report = `{"version": "0.2", "run": {"uid": "x", "time": {"duration": "PT1M2.5S"}},
"scenario": {"load": {"standardized": {"tool": "inference-perf", "rate_qps": 2.0, "input_seq_len": {"distribution": "fixed", "value": 64}}, "native": {"args": {"seed": 7}}}},
"results": {"request_performance": {"aggregate": {"requests": {"total": 100, "failures": 2, "incomplete": 3},
 "latency": {"time_to_first_token": {"units": "ms", "mean": 12.5, "p99p9": 30, "p0p1": 1}, "request_latency": {"units": "s", "mean": 0.5, "p50": 0.4}, "normalized_time_per_output_token": {"units": "s/token", "mean": 0.02}},
 "throughput": {"output_token_rate": {"units": "tokens/s", "mean": 512.5}}}}}}`
	runs, err := convert.Read(strings.NewReader(report), "x.json", convert.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := &runs[0]
	checkDefined(t, r)
	want{
		format: convert.FormatLLMD, line: 1, counts: convert.Counts{Sent: 97, Succeeded: 95, Failed: 2, FailedKnown: true},
		metrics: map[string]float64{"ttft.mean": 0.0125, "ttft.p99.9": 0.03, "ttft.p0.1": 0.001, "inference_perf_e2el.p50": 0.4, "inference_perf_ntpot.mean": 0.02, "output_throughput.mean": 512.5},
		params:  map[string]string{"request_rate": "2", "input_len": "64", "seed": "7"}, absent: []string{"e2el"},
	}.check(t, r)
	if r.Duration != 62.5 || r.Audit["incomplete_requests"] != 3.0 {
		t.Errorf("%v s, audit %v", r.Duration, r.Audit)
	}
}

// TestLLMDIsReadInOneOrder: the first error is the same one each time, and so are the
// warnings.
func TestLLMDIsReadInOneOrder(t *testing.T) {
	const report = `{"version": "0.2", "run": {"uid": "x"}, "results": {"request_performance": {"aggregate": {"requests": {"total": 10}, "latency": {
 "time_to_first_token": {"units": "s", "mean": "a"}, "time_per_output_token": {"units": "s/token", "mean": "b"},
 "inter_token_latency": {"units": "s/token", "mean": "c"}, "request_latency": {"units": "s", "mean": "d"}}}}}}`
	var errs, warnings []string
	for range 32 {
		_, err := convert.Read(strings.NewReader(report), "x.json", convert.ReadOptions{})
		errs = append(errs, err.Error())
		runs, err := convert.Read(strings.NewReader(ownReport(`"sent": 10`)), "x.json", convert.ReadOptions{})
		if err != nil || len(runs[0].Warnings) != 4 || runs[0].Counts.Sent != 10 {
			t.Fatalf("%+v, %v", runs, err)
		}
		warnings = append(warnings, strings.Join(runs[0].Warnings, "; "))
	}
	if errs, warnings := slices.Compact(errs), slices.Compact(warnings); len(errs) > 1 || len(warnings) > 1 {
		t.Errorf("errors %q, warnings %q", errs, warnings)
	}
}

// TestBenchToolInAnyOrder: the tool stands in the head where all runs are known to be its,
// whichever run comes first.
func TestBenchToolInAnyOrder(t *testing.T) {
	for _, tt := range []struct {
		tools []string
		want  string
	}{
		{[]string{"vllm", "vllm"}, "vllm"}, {[]string{"vllm", ""}, ""}, {[]string{"", "vllm"}, ""}, {[]string{"vllm", "sglang"}, ""}, {[]string{"vllm", "sglang", "vllm"}, ""},
	} {
		cell := result.Cell{}
		for i, tool := range tt.tools {
			run := result.Run{Repeat: i + 1, Status: result.RunOK, Sent: 1, Metrics: map[string]float64{"ttft.mean": 1}, Audit: map[string]any{}}
			if tool != "" {
				run.Audit["tool"] = tool
			}
			cell.Runs = append(cell.Runs, run)
		}
		var b bytes.Buffer
		if err := convert.WriteGoBench(&b, &result.Document{Benchmarks: []result.Benchmark{{Addr: "benchmark.b", Cells: []result.Cell{cell}}}}); err != nil {
			t.Fatal(err)
		}
		_, after, reported := strings.Cut(b.String(), "# measured-by ")
		if got, _, _ := strings.Cut(after, "\n"); got != tt.want || reported != (tt.want != "") {
			t.Errorf("%q: measured by %q (%v), want %q", tt.tools, got, reported, tt.want)
		}
	}
}
