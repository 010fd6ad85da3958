package convert_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// side imports a part of a published source.
func side(t *testing.T, selector string, opt convert.Options) *result.Document {
	t.Helper()
	sel, err := convert.ParseSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := sel.Select(readFile(t, sel.Path, convert.ReadOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := convert.Document(runs, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Validate(doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestCompareTransports is what the authors of the published source wrote in prose: RDMA
// against TCP, at every length and rate.
func TestCompareTransports(t *testing.T) {
	by := convert.Options{By: []string{"input_len", "qps"}}
	rdma := side(t, "published/vllm-mooncake.md?h3=MooncakeTransferEngine with RDMA backend", by)
	tcp := side(t, "published/vllm-mooncake.md?h3=MooncakeTransferEngine with TCP backend", by)
	if notes := convert.StandardTools().Check(rdma, tcp, "A", "B", nil); len(notes) > 0 {
		t.Errorf("the sides did the same work by the same definitions, but: %q", notes)
	}
	var out bytes.Buffer
	markdown, _ := reports.AllFormats().Lookup("markdown")
	if err := reports.Compare(&out, []reports.Side{{Doc: rdma}, {Doc: tcp}}, markdown,
		reports.Options{Metrics: []string{"ttft.mean", "tpot.mean"}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"input_len=1024", "no significance is possible", "1,273 ms|1.27 s", "+51.3 %"} {
		if !slices.ContainsFunc(strings.Split(want, "|"), func(w string) bool { return strings.Contains(out.String(), w) }) {
			t.Errorf("the table has no %q:\n%s", want, out.String())
		}
	}
	golden.Equal(t, "testdata/golden/compare-transports.md", out.Bytes())
}

func TestDocumentOfWholeSource(t *testing.T) {
	doc := side(t, "published/vllm-mooncake.md", convert.Options{})
	bench := doc.Benchmarks[0]
	if len(bench.Cells) != 25 {
		t.Fatalf("%d cells by %v, want 25: tables repeat blocks", len(bench.Cells), bench.Axes)
	}
	for _, c := range bench.Cells {
		if len(c.Runs) != 1 || c.Runs[0].Sent != 200 || c.Runs[0].Failed != 0 {
			t.Errorf("%v has the runs %+v", c.Values, c.Runs)
		}
	}
	var out bytes.Buffer
	if err := result.Encode(&out, doc); err != nil {
		t.Fatal(err)
	}
	if _, err := result.Decode(&out, result.Limits{}); err != nil {
		t.Errorf("the document cannot be read again: %v", err)
	}
}

// passes are three results of one cell in two files.
func passes() []convert.Run {
	run := func(source string, line int, ttft float64) convert.Run {
		return convert.Run{
			Source: source, Line: line, Format: convert.FormatBlock, Tool: "vllm",
			Params:   map[string]string{"request_rate": "2", "start": source[:1]},
			Metrics:  map[string]float64{"ttft.mean": ttft, "success_by_tool.rate": 1},
			Counts:   convert.Counts{Sent: 10, Succeeded: 10, FailedKnown: true, InputTokens: 100, OutputTokens: 50},
			Duration: 5,
		}
	}
	return []convert.Run{run("a.log", 1, 0.1), run("a.log", 50, 0.4), run("b.log", 1, 0.3)}
}

func TestLaunchesAreTheUnits(t *testing.T) {
	tests := []struct {
		name     string
		opt      convert.Options
		repeats  []int
		passes   []int
		launches int
		mean     float64
		warning  string
	}{
		{"unknown", convert.Options{By: []string{"qps"}}, []int{1, 1, 1}, []int{1, 2, 3}, 0, math.Cbrt(0.1 * 0.4 * 0.3),
			"neither a regression nor a pass"},
		{"by file", convert.Options{By: []string{"qps"}, OneLaunchPerFile: true}, []int{1, 1, 2}, []int{1, 2, 0}, 2, math.Sqrt(0.2 * 0.3),
			"passes of one launch"},
		{"by parameter", convert.Options{By: []string{"qps"}, LaunchBy: "start"}, []int{1, 1, 2}, []int{1, 2, 0}, 2, math.Sqrt(0.2 * 0.3),
			"passes of one launch"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc, err := convert.Document(passes(), tt.opt)
			if err != nil {
				t.Fatal(err)
			}
			if err := result.Validate(doc); err != nil {
				t.Fatal(err)
			}
			cell := doc.Benchmarks[0].Cells[0]
			if len(cell.Runs) != 3 || len(doc.Launches) != tt.launches {
				t.Fatalf("%d runs and %d launches, want 3 and %d", len(cell.Runs), len(doc.Launches), tt.launches)
			}
			for i, r := range cell.Runs { // each with its own figures
				if want := []float64{0.1, 0.4, 0.3}[i]; r.Metrics["ttft.mean"] != want || r.Repeat != tt.repeats[i] || r.Pass != tt.passes[i] {
					t.Errorf("run %d: ttft.mean %v in repeat %d, pass %d", i, r.Metrics["ttft.mean"], r.Repeat, r.Pass)
				}
			}
			if got := cell.Summary["ttft.mean"]; math.Abs(got-tt.mean) > 1e-12 {
				t.Errorf("the mean over launches is %v, want %v", got, tt.mean)
			}
			if !strings.Contains(strings.Join(doc.Warnings, "\n"), tt.warning) {
				t.Errorf("warnings %q do not say %q", doc.Warnings, tt.warning)
			}
		})
	}
}

func TestLaunchNumbersPairBothSides(t *testing.T) {
	runs := passes()
	for i := range runs {
		runs[i].Params["start"] = []string{"3", "1", "2"}[i]
	}
	doc, err := convert.Document(runs, convert.Options{By: []string{"qps"}, LaunchBy: "start"})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range doc.Benchmarks[0].Cells[0].Runs {
		if want := []float64{0.4, 0.3, 0.1}[i]; r.Repeat != i+1 || r.Metrics["ttft.mean"] != want {
			t.Errorf("repeat %d has %v, want %v", r.Repeat, r.Metrics["ttft.mean"], want)
		}
	}
}

func TestDocumentErrors(t *testing.T) {
	_, err := convert.Document(passes(), convert.Options{By: []string{"qps", "gpu"}})
	if err == nil || !strings.Contains(err.Error(), `a.log:1: the result has no "gpu": it has request_rate, start`) {
		t.Errorf("a key that is not there: %v", err)
	}
	_, err = convert.Document(passes(), convert.Options{LaunchBy: "node"})
	if err == nil || !strings.Contains(err.Error(), `no "node"`) {
		t.Errorf("a launch key that is not there: %v", err)
	}
	if _, err = convert.Document(passes(), convert.Options{LaunchBy: "start", OneLaunchPerFile: true}); err == nil {
		t.Error("two ways of telling launches are accepted")
	}
	if _, err = convert.Document(nil, convert.Options{}); !errors.Is(err, convert.ErrNoResult) {
		t.Errorf("no runs: %v", err)
	}
}

func TestCopiesCountOnce(t *testing.T) {
	runs := readFile(t, "published/vllm-sharegpt.txt", convert.ReadOptions{})
	again := runs[0]
	again.Source = "copy.txt"
	doc, err := convert.Document([]convert.Run{runs[0], again}, convert.Options{OneLaunchPerFile: true})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(doc.Benchmarks[0].Cells[0].Runs); n != 1 {
		t.Errorf("%d runs, want 1", n)
	}
	if !strings.Contains(strings.Join(doc.Warnings, "\n"), "copy.txt:12 is a copy of") {
		t.Errorf("warnings %q", doc.Warnings)
	}
}

func TestOtherDefinitionsAreNotCompared(t *testing.T) {
	vllm := side(t, "published/vllm-sharegpt.txt", convert.Options{By: []string{"seed"}})
	runs := readFile(t, "published/sglang-random.txt", convert.ReadOptions{})
	runs[0].Params["seed"] = "0"
	sglang, err := convert.Document(runs, convert.Options{By: []string{"seed"}})
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(convert.StandardTools().Check(vllm, sglang, "A", "B", nil), "\n")
	defined := map[string]string{}
	for _, g := range slices.Concat(metric.Groups(), metric.Foreign()) {
		defined[g.Name] = g.Definition
	}
	wants := []string{"not like for like: requests: A 4762, B 200"}
	for _, group := range [][3]string{{"e2el", "e2el", "sglang_e2el"}, {"tpot", "tpot", "sglang_tpot"}, {"itl", "itl", "itl_token"}} {
		quantity, a, b := group[0], group[1], group[2]
		wants = append(wants, fmt.Sprintf("%s is not compared: A has %s (%s), B has %s (%s)", quantity, a, defined[a], b, defined[b]))
	}
	for _, want := range wants {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes do not say %q:\n%s", want, notes)
		}
	}
	if strings.Contains(notes, "ttft is not compared") {
		t.Errorf("TTFT is alike:\n%s", notes)
	}
}

func TestSelectorErrors(t *testing.T) {
	for _, s := range []string{"a?x", "a?x=", "a?x=1&x=2", "a?%zz=1"} {
		if _, err := convert.ParseSelector(s); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
	for _, s := range []string{"a", "run-?.csv", "b?.json"} {
		if sel, err := convert.ParseSelector(s); err != nil || sel.Path != s || len(sel.Where) > 0 {
			t.Errorf("%q: %+v, %v", s, sel, err)
		}
	}
	for pattern, want := range map[string]int{"a": 2, "*": 3, "a*": 2, "*b": 1, "a*a": 0, "*c*": 0} {
		sel, err := convert.ParseSelector("a.log?start=" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		if runs, err := sel.Select(passes()); len(runs) != want || (err != nil) != (want == 0) {
			t.Errorf("%s: %d runs, %v", pattern, len(runs), err)
		}
	}
	sel, err := convert.ParseSelector("a.log?qps=2.0&start=c")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sel.Select(passes()); !errors.Is(err, convert.ErrNoResult) {
		t.Errorf("no run matches: %v", err)
	}
}

// TestHistogramsOfRecords: detailed files keep their distributions in the document.
func TestHistogramsOfRecords(t *testing.T) {
	runs := readFile(t, "tools/sglang.jsonl", convert.ReadOptions{Records: true})
	doc, err := convert.Document(runs[:1], convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := doc.Benchmarks[0].Cells[0].Runs[0]
	for _, group := range []string{"ttft", "e2el", "tpot"} {
		if run.Histograms[group] == "" {
			t.Errorf("no histogram of %s", group)
		}
	}
	if doc.Targets[0].Model != "Qwen/Qwen2.5-7B-Instruct" || doc.Targets[0].Engine != "sglang" {
		t.Errorf("target %+v", doc.Targets[0])
	}
}
