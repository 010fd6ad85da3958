package convert_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/servegate/pipeline/pipeline/internal/convert"
)

// exports are all forms that results are written in, with the file that those have which are
// read again.
var exports = map[string]struct {
	file  string
	write func(w io.Writer, runs []convert.Run) error
}{
	"CSV":   {"x.csv", convert.WriteCSV},
	"vLLM":  {"x.json", convert.WriteVLLM},
	"llm-d": {"x.json", convert.WriteLLMD},
	"Go benchmarks": {"", func(w io.Writer, runs []convert.Run) error {
		doc, err := convert.Document(runs, convert.Options{})
		if err != nil {
			return err
		}
		return convert.WriteGoBench(w, doc)
	}},
	"OpenMetrics": {"", func(w io.Writer, runs []convert.Run) error {
		doc, err := convert.Document(runs, convert.Options{})
		if err != nil {
			return err
		}
		return convert.WriteOpenMetrics(w, doc)
	}},
}

// zero finds a figure of nothing under a name of what a run did.
var zero = regexp.MustCompile(
	`"(?:completed|failed|duration|total_input_tokens|total_output_tokens|succeeded|input_tokens|output_tokens|duration_s|total|failures)": ?0[,}\s]` +
		`|\b0 (?:input-tokens|output-tokens|duration-s)|pipeline_(?:requests|input_tokens|output_tokens|duration_seconds)\{[^}]*\} 0\s`)

// TestAbsentIsAbsent: what a source does not say is in no export, neither as a zero nor under
// another name, and what it says comes back.
func TestAbsentIsAbsent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reported := map[string]bool{}
		for _, name := range []string{"failures", "input", "output", "duration", "requests"} {
			reported[name] = rapid.Bool().Draw(t, name)
		}
		run := convert.Run{
			Source: "x", Line: 1, Format: convert.FormatCSV, Tool: "vllm", Params: map[string]string{"model": "m"},
			Metrics: map[string]float64{"ttft.mean": 0.125, "itl.p99": 0.5},
		}
		if reported["requests"] {
			run.Counts.Succeeded = rapid.IntRange(1, 1000).Draw(t, "succeeded")
			run.Counts.Sent = run.Counts.Succeeded
		}
		if reported["requests"] && reported["failures"] {
			run.Counts.FailedKnown, run.Counts.Failed = true, rapid.IntRange(0, 10).Draw(t, "failed")
			run.Counts.Sent += run.Counts.Failed
		}
		if reported["input"] {
			run.Counts.InputTokens = rapid.Int64Range(1, 1e6).Draw(t, "input")
		}
		if reported["output"] {
			run.Counts.OutputTokens = rapid.Int64Range(1, 1e6).Draw(t, "output")
		}
		if reported["duration"] {
			run.Duration = rapid.Float64Range(0.01, 1e4).Draw(t, "duration")
		}
		for name, form := range exports {
			var b bytes.Buffer
			if err := form.write(&b, []convert.Run{run}); err != nil {
				t.Fatal(err)
			}
			found := zero.FindString(b.String())
			if run.Counts.FailedKnown && run.Counts.Failed == 0 { // this one is said
				found = strings.Trim(zero.FindString(regexp.MustCompile(`"fail(?:ed|ures)": ?0[,}\s]`).ReplaceAllString(b.String(), "")), " ")
			}
			if found != "" {
				t.Fatalf("%s: %s, which nobody said:\n%s", name, found, b.String())
			}
			if form.file == "" {
				continue
			}
			runs, err := convert.Read(bytes.NewReader(b.Bytes()), form.file, convert.ReadOptions{})
			if err != nil || len(runs) != 1 {
				t.Fatalf("%s: %d runs, %v in\n%s", name, len(runs), err, b.String())
			}
			got := runs[0]
			want := run.Counts
			got.Counts.Sent, want.Sent = max(got.Counts.Sent, got.Counts.Succeeded), max(want.Sent, want.Succeeded)
			if got.Counts != want || got.Duration != run.Duration {
				t.Fatalf("%s: %+v in %v s, want %+v in %v s:\n%s", name, got.Counts, got.Duration, want, run.Duration, b.String())
			}
			for id, v := range run.Metrics {
				if got.Metrics[id] != v {
					t.Fatalf("%s: %s is %v, want %v", name, id, got.Metrics[id], v)
				}
			}
		}
	})
}

// TestReportsInYAML: a Benchmark Report in YAML is what the same in JSON is, several documents
// are several results, and definitions come through.
func TestReportsInYAML(t *testing.T) {
	for _, source := range []string{"real/guidellm-0.8.1.json", "published/sglang-random.txt", "tools/inference-perf.json",
		"tools/vllm-old.json"} {
		runs := readFile(t, source, convert.ReadOptions{})
		var lines bytes.Buffer
		if err := convert.WriteLLMD(&lines, runs); err != nil {
			t.Fatal(err)
		}
		var documents bytes.Buffer
		encoder := yaml.NewEncoder(&documents)
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		for range runs {
			var report map[string]any
			if err := decoder.Decode(&report); err != nil {
				t.Fatalf("%s: what is written is no JSON: %v", source, err)
			}
			if err := encoder.Encode(report); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(strings.TrimSpace(lines.String()), "\n") + 1; len(runs) > 1 && n != len(runs) {
			t.Errorf("%s: %d results are %d lines", source, len(runs), n)
		}
		got, err := convert.Read(&documents, "report.yaml", convert.ReadOptions{})
		if err != nil || len(got) != len(runs) {
			t.Fatalf("%s: %d of %d results, %v", source, len(got), len(runs), err)
		}
		for i := range runs {
			checkDefined(t, &got[i])
			sameFigures(t, &got[i], &runs[i])
			if !maps.Equal(got[i].Definitions, runs[i].Definitions) || got[i].Tool != runs[i].Tool {
				t.Errorf("%s: definitions %v of %s, want %v", source, got[i].Definitions, got[i].Tool, runs[i].Definitions)
			}
		}
	}
}

const reportYAML = `# written by a person
version: "0.2"
run:
  uid: x
  time: {duration: PT90S}
scenario:
  load:
    standardized: {tool: TOOL, tool_version: "1", source: random, rate_qps: 4, input_seq_len: {distribution: fixed, value: 128}}
results:
  request_performance:
    aggregate:
      requests: {total: 100, failures: 2}
      latency:
        time_to_first_token: {units: ms, mean: 50.5, p99: 99}
        inter_token_latency: {units: ms/token, mean: 10}
`

// TestForeignReport: a report keeps the definitions of the tool that it names, also of one that
// nobody here knows.
func TestForeignReport(t *testing.T) {
	for tool, want := range map[string]string{"vllm-benchmark": "itl.mean", "guidellm": "guidellm_itl.mean",
		"inference-perf": "inference_perf_itl.mean", "fmperf": "fmperf_itl.mean"} {
		runs, err := convert.Read(strings.NewReader(strings.Replace(reportYAML, "TOOL", tool, 1)), "report.yaml", convert.ReadOptions{})
		if err != nil || len(runs) != 1 {
			t.Fatalf("%s: %v", tool, err)
		}
		checkDefined(t, &runs[0])
		if c := runs[0].Counts; runs[0].Metrics[want] != 0.01 || c.Succeeded != 98 || c.Failed != 2 || runs[0].Duration != 90 ||
			runs[0].Params["request_rate"] != "4" {
			t.Errorf("%s: %+v", tool, runs[0])
		}
	}
	for _, tt := range []struct{ text, want string }{
		{strings.Replace(reportYAML, "mean: 50.5", "mean: fast", 1), `report.yaml:14: mean ttft (ms): "fast" is not a number`},
		{strings.Replace(reportYAML, "mean: 50.5", "mean: 1e30", 1), "report.yaml:14: "},
		{strings.Replace(reportYAML, "units: ms,", "units: parsec,", 1), "report.yaml:14: time_to_first_token has the units"},
		{strings.Replace(reportYAML, "results:", "results: &a\n  x: *a", 1), "alias"},
		{strings.Replace(reportYAML, "  uid: x", "  uid: [x", 1), "report.yaml: yaml: "},
		{strings.Replace(reportYAML, `"0.2"`, `"0.9"`, 1), `version "0.9"`},
	} {
		if _, err := convert.Read(strings.NewReader(tt.text), "report.yaml", convert.ReadOptions{}); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}

// TestOldGuideLLM: benchmarks of guidellm's first format say so.
func TestOldGuideLLM(t *testing.T) {
	const file = `{"benchmarks": [{"type_": "generative_benchmark", "request_loader": {}, "metrics": {"time_to_first_token_ms": {}}}]}`
	if _, err := convert.Read(strings.NewReader(file), "benchmarks.json", convert.ReadOptions{}); err == nil ||
		!strings.Contains(err.Error(), "guidellm before 0.4") {
		t.Error(err)
	}
}

// TestServerMetricsAreNoResult: what aiperf collects of servers is kept apart from what it measures,
// and nothing fails that was not counted.
func TestServerMetricsAreNoResult(t *testing.T) {
	const file = `{"schema_version": "1.0", "aiperf_version": "0.13.0", "input_config": {"loadgen": {"request_count": 50}, "phases": [{"kind": "profiling", "requests": 50}]},
 "summary": {"endpoints_configured": ["localhost:8000"]}, "metrics": {"vllm:num_requests_running": {"type": "gauge", "unit": "count", "series": [{"endpoint_url": "x", "stats": {"avg": 3}}]}}}`
	for _, text := range []string{file, strings.Replace(file, `"series": [{"endpoint_url": "x", "stats": {"avg": 3}}]`, `"other": 1`, 1)} {
		if _, err := convert.Read(strings.NewReader(text), "server_metrics_export.json", convert.ReadOptions{}); err == nil ||
			!strings.Contains(err.Error(), "import profile_export_aiperf.json beside it") {
			t.Errorf("%v", err)
		}
	}
	for _, text := range []string{
		`{"aiperf_version": "0.13.0", "input_config": {"phases": [{"kind": "profiling", "requests": 50}]}, "time_to_first_token": {"unit": "ms", "avg": 3}}`,
		`{"backend": "vllm", "num_prompts": 50, "mean_ttft_ms": 3.0}`,
	} {
		runs, err := convert.Read(strings.NewReader(text), "x.json", convert.ReadOptions{})
		if err != nil || runs[0].Counts.Failed != 0 || runs[0].Counts.FailedKnown {
			t.Errorf("%+v, %v", runs, err)
		}
	}
}
