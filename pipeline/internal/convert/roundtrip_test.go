package convert_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/reports/result"
	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"
)

// exchanged are results of every tool and form.
var exchanged = []string{
	"published/vllm-mooncake.md", "published/sglang-random.txt", "published/vllm-sharegpt.txt", "tools/vllm-old.json",
	"tools/aiperf.json", "tools/hf.json",
	"tools/inference-perf.json", "real/vllm-0.32-appended.json", "real/sglang-0.5.23.jsonl", "real/guidellm-0.8.1.json",
	"real/aiperf-0.13.0.json",
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

// TestGoBench: benchstat's own reader reads the lines, their units and directions.
func TestGoBench(t *testing.T) {
	doc := side(t, "published/vllm-mooncake.md?h3=MooncakeTransferEngine with TCP backend",
		convert.Options{By: []string{"input_len", "qps", "h3"}, Tool: "pipeline\ntest"})
	var b bytes.Buffer
	if err := convert.WriteGoBench(&b, doc); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/golden/bench.txt", b.Bytes())
	results, reader := 0, benchfmt.NewReader(bytes.NewReader(b.Bytes()), "bench.txt")
	for reader.Scan() {
		switch rec := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(rec)
		case *benchfmt.Result:
			results++
			base, parts := rec.Name.Parts()
			if string(base) != "Imported" || len(parts) != 3 || string(parts[2]) != "/h3=MooncakeTransferEngine%20with%20TCP%20backend" ||
				rec.Iters != 200 {
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
		{"x.json", report(`{"requests": {"total": 10}, "latency": {"time_to_first_token": {"units": "count", "mean": 1}}}`),
			`time_to_first_token has the units "count"`},
		{"x.json", report(`{"requests": {"total": 10}, "latency": {"time_to_first_token": {"units": "ms", "mean": "fast"}}}`),
			`"fast" is not a number`},
		{"x.json", strings.Replace(report(`{}`), "0.2", "0.1", 1), `a Benchmark Report of version "0.1": only 0.2 is read`},
		{"x.json", report(`{}`), "a result without a figure"},
		// Counts of llm-d that cannot be read are not counts that are not there.
		{"x.json", report("\n{\"requests\":\n\"many\"}"), "x.json:3: requests is not an object"},
		{"x.json", report("{\"requests\": {\n\"total\": \"many\"}}"), `x.json:2: total: "many" is not a number`},
		{"x.json", report("{\"requests\": {\"total\": 10,\n\"failures\": 0.5}}"), `x.json:2: failures: "0.5" is not a count`},
		{"x.json", report("{\"requests\": {\"total\": 10,\n\"incomplete\": []}}"), `x.json:2: incomplete: "" is not a number`},
		{"x.json", report("{\"requests\":\n{\"total\": 10, \"failures\": 9, \"incomplete\": 2}}"),
			"x.json:2: 9 of 10 requests failed and 2 are incomplete"},
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
		metrics: map[string]float64{"ttft.mean": 0.0125, "ttft.p99.9": 0.03, "ttft.p0.1": 0.001, "inference_perf_e2el.p50": 0.4,
			"inference_perf_ntpot.mean": 0.02, "output_throughput.mean": 512.5},
		params: map[string]string{"request_rate": "2", "input_len": "64", "seed": "7"}, absent: []string{"e2el"},
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
		if err != nil || len(runs[0].Warnings()) != 4 || runs[0].Counts.Sent != 10 {
			t.Fatalf("%+v, %v", runs, err)
		}
		warnings = append(warnings, strings.Join(runs[0].Warnings(), "; "))
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
		{[]string{"vllm", "vllm"}, "vllm"}, {[]string{"vllm", ""}, ""}, {[]string{"", "vllm"}, ""}, {[]string{"vllm", "sglang"}, ""},
		{[]string{"vllm", "sglang", "vllm"}, ""},
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
		if err := convert.WriteGoBench(&b,
			&result.Document{Benchmarks: []result.Benchmark{{Addr: "benchmark.b", Cells: []result.Cell{cell}}}}); err != nil {
			t.Fatal(err)
		}
		_, after, reported := strings.Cut(b.String(), "# measured-by ")
		if got, _, _ := strings.Cut(after, "\n"); got != tt.want || reported != (tt.want != "") {
			t.Errorf("%q: measured by %q (%v), want %q", tt.tools, got, reported, tt.want)
		}
	}
}
