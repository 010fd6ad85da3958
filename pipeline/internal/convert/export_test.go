package convert_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/pipeline/internal/convert"
)

// again writes runs and reads what was written.
func again(t *testing.T, name string, runs []convert.Run, write func(*bytes.Buffer) error) []convert.Run {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	out, err := convert.Read(bytes.NewReader(b.Bytes()), name, convert.ReadOptions{Records: true})
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.Bytes())
	}
	if len(out) != len(runs) {
		t.Fatalf("%d runs of %d", len(out), len(runs))
	}
	return out
}

func sameFigures(t *testing.T, got, want *convert.Run) {
	t.Helper()
	if got.Counts != want.Counts || got.Duration != want.Duration || got.Tool != want.Tool {
		t.Errorf("%s: %s %+v in %v s, want %s %+v in %v s", want.At(), got.Tool, got.Counts, got.Duration, want.Tool, want.Counts, want.Duration)
	}
	if !maps.Equal(got.Metrics, want.Metrics) {
		t.Errorf("%s: metrics\n%v, want\n%v", want.At(), got.Metrics, want.Metrics)
	}
	if len(got.Definitions) != len(want.Definitions) {
		t.Errorf("%s: definitions %v, want %v", want.At(), got.Definitions, want.Definitions)
	}
}

// TestRoundTripRecords: with records the detailed arrays are written, and every metric is
// computed again from them.
func TestRoundTripRecords(t *testing.T) {
	run, _ := recorded(t)
	first := []convert.Run{{Source: "x", Line: 1, Tool: "vllm", Params: map[string]string{"max_concurrency": "4", "request_rate": "5"},
		Records: &run}}
	second := again(t, "x.json", first, func(b *bytes.Buffer) error { return convert.WriteVLLM(b, first) })
	third := again(t, "x.json", second, func(b *bytes.Buffer) error { return convert.WriteVLLM(b, second) })
	for id, want := range second[0].Metrics {
		if got := third[0].Metrics[id]; math.Abs(got-want) > 1e-8*math.Max(1, math.Abs(want)) {
			t.Errorf("%s = %v, want %v", id, got, want)
		}
	}
}

// TestRoundTripAnyValue: no value loses a digit on its way, whatever it is.
func TestRoundTripAnyValue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		positive := rapid.Float64Range(1e-9, 1e6)
		run := convert.Run{
			Source: rapid.String().Draw(rt, "source"), Line: 3, Tool: "vllm", Format: "vllm",
			Metrics: map[string]float64{"ttft.mean": positive.Draw(rt, "ttft"), "itl.p99": positive.Draw(rt, "itl"),
				"output_throughput.mean": positive.Draw(rt, "rate")},
			Params:   map[string]string{"label": strings.TrimSpace(rapid.StringMatching(`[ -~]{1,20}`).Draw(rt, "label"))},
			Counts:   convert.Counts{Sent: 7, Succeeded: 5, Failed: 2, FailedKnown: true, InputTokens: 11, OutputTokens: 12},
			Duration: positive.Draw(rt, "duration"),
		}
		for name, write := range map[string]func(*bytes.Buffer) error{
			"x.csv":  func(b *bytes.Buffer) error { return convert.WriteCSV(b, []convert.Run{run}) },
			"x.json": func(b *bytes.Buffer) error { return convert.WriteVLLM(b, []convert.Run{run}) },
		} {
			out := again(t, name, []convert.Run{run}, write)
			sameFigures(t, &out[0], &run)
		}
	})
}

func TestOpenMetrics(t *testing.T) {
	doc := side(t, "published/vllm-mooncake.md", convert.Options{By: []string{"input_len", "qps", "h3"}})
	doc.Benchmarks[0].Cells[0].Values[2].Value = "a \"quoted\" \\ value\nof two lines"
	var b bytes.Buffer
	if err := convert.WriteOpenMetrics(&b, doc); err != nil {
		t.Fatal(err)
	}
	types, samples, series := map[string]bool{}, map[string]int{}, map[string]bool{}
	hostile := false
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		if m := metricType.FindStringSubmatch(line); m != nil {
			if types[m[1]] {
				t.Errorf("the family %s is there twice", m[1])
			}
			types[m[1]] = true
			continue
		}
		m := metricLine.FindStringSubmatch(line)
		if m == nil || !types[m[1]] || series[m[1]+m[2]] {
			if line != "# EOF" {
				t.Errorf("%q is no sample of a family before it, or is there twice", line)
			}
			continue
		}
		samples[m[1]]++
		series[m[1]+m[2]] = true
		hostile = hostile || strings.Contains(m[2], `axis_h3="a \"quoted\" \\ value\nof two lines"`)
	}
	if samples["pipeline_ttft_seconds"] != 3*25 || samples["pipeline_output_throughput_tokens_per_second"] != 25 {
		t.Errorf("samples %v", samples)
	}
	if !hostile || !strings.HasSuffix(b.String(), "\n# EOF\n") {
		t.Error("a hostile value does not survive as it is")
	}
}

// A sample of the OpenMetrics text format, and the line that begins a family.
var (
	metricType = regexp.MustCompile(`^# TYPE ([a-z_]+) gauge$`)
	metricLine = regexp.MustCompile(
		`^([a-z_]+)(\{[a-z_][a-z0-9_]*="(?:[^"\\]|\\[\\"n])*"(?:,[a-z_][a-z0-9_]*="(?:[^"\\]|\\[\\"n])*")*\}) [0-9.e+-]+$`)
)

func TestLLMD(t *testing.T) {
	runs := readFile(t, "published/sglang-random.txt", convert.ReadOptions{})
	var b bytes.Buffer
	if err := convert.WriteLLMD(&b, runs[:1]); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/golden/llmd.json", b.Bytes())
	var report struct {
		Version string
		Run     struct{ UID string }
		Results struct {
			RequestPerformance struct {
				Aggregate struct {
					Requests            map[string]float64
					Latency, Throughput map[string]map[string]any
				}
			} `json:"request_performance"`
		}
	}
	if err := json.Unmarshal(b.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	a := report.Results.RequestPerformance.Aggregate
	if report.Version != "0.2" || report.Run.UID == "" || a.Requests["total"] != 200 {
		t.Errorf("%+v", report)
	}
	for path, want := range map[string]float64{
		"request_latency.p90": 0.55342, "time_to_first_token.mean": 0.50394, "inter_token_latency.max": 0.01757,
		"time_per_output_token.p99": 0.00616,
	} {
		group, stat, _ := strings.Cut(path, ".")
		if got := a.Latency[group][stat]; got != want || a.Latency[group]["units"] == nil {
			t.Errorf("%s = %v, want %v", path, got, want)
		}
	}
	if a.Throughput["request_rate"]["mean"] != 336.53 || a.Throughput["request_rate"]["units"] != "queries/s" {
		t.Errorf("throughput %v", a.Throughput)
	}
}

func ExampleRead() {
	const log = "vllm bench serve --model m --request-rate 2\n" +
		"============ Serving Benchmark Result ============\n" +
		"Successful requests:                     200       \n" +
		"Mean TTFT (ms):                          461.52    \n" +
		"==================================================\n"
	runs, err := convert.Read(strings.NewReader(log), "night.log", convert.ReadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rate, _ := runs[0].Param("qps")
	fmt.Println(runs[0].At(), rate, strconv.FormatFloat(runs[0].Metrics["ttft.mean"], 'f', -1, 64))
	// Output: night.log:2 2 0.46152
}
