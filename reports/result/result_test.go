package result_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/reports/result"
)

// small is a document with something in every part.
func small() *result.Document {
	start := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	at := result.Range{File: "gate.hcl", Line: 3, Col: 1, EndLine: 9}
	values := []result.AxisValue{{Name: "chunked", Value: "on"}, {Name: "rate", Value: "4"}}
	return &result.Document{
		Schema: result.Schema, Tool: "pipeline 0.1.0", RunID: "r", File: "gate.hcl", Started: start, Ended: start.Add(time.Minute),
		Status: result.StatusComplete, Verdict: result.Regression, ExitCode: 1, Alpha: 0.05, FamilySize: 1, Seed: 1,
		RepeatsPlanned: 4, RepeatsDone: 4,
		Machine:  map[string]string{"gpu": "NVIDIA H200", "cpu": "AMD EPYC 9654"},
		Targets:  []result.Target{{Addr: "server.vllm.on", Engine: "vllm", GPUs: 8, Range: at}},
		Launches: []result.Launch{{ID: "r1-on", Repeat: 1, Target: "server.vllm.on", Startup: 41.5}},
		Benchmarks: []result.Benchmark{{Addr: "benchmark.chat", Axes: []string{"chunked", "rate"}, Range: at, Cells: []result.Cell{
			{Hash: "base"},
			{Hash: "head", Values: values, Target: "server.vllm.on", Summary: map[string]float64{"ttft.p99": 0.47}, Runs: []result.Run{{
				Repeat: 1, Launch: "r1-on", Status: result.RunOK, Duration: 50, Sent: 200, Failed: 1, Failures: map[string]int{"cut": 1},
				Metrics: map[string]float64{"ttft.p99": 0.47}, Audit: map[string]any{"clock": "kernel", "lag_p99": 0.0004},
			}}},
		}}},
		Gates: []result.Gate{{
			Addr: "gate.latency", Benchmark: "benchmark.chat", BaselineKind: "paired", Terms: gates.Terms{Claim: gates.Claim{Margin: 0.05}},
			Actions: result.Actions{OnRegression: "fail", OnInconclusive: "warn", OnMissing: "fail", OnInvalid: "fail"},
			Verdict: result.Regression, Range: at, Decisions: []result.Decision{{
				ID: "d", Kind: result.KindMetric, Cell: "head", BaseCell: "base", Values: values[1:], Head: "on", Base: "off", Metric: "ttft.p99",
				Label: "TTFT p99", Unit: "s",
				Direction: "lower", Scale: "log", Verdict: result.Regression, N: 4, BaseValue: new(0.412), HeadValue: new(0.47), Change: new(0.141),
				Lower: new(0.098), Upper: new(0.181), P: new(0.0004), PHolm: new(0.0004), Margin: 0.05,
			}},
		}},
	}
}

func TestEncodeGolden(t *testing.T) {
	var out bytes.Buffer
	if err := result.Encode(&out, small()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "small.json")
	golden.Equal(t, path, out.String())
}

func TestRoundTrip(t *testing.T) {
	want := small()
	var out bytes.Buffer
	if err := result.Encode(&out, want); err != nil {
		t.Fatal(err)
	}
	got, err := result.Decode(&out, result.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A document is what encoding/json writes of it, in lines.
func TestEncodeIsJSONInLines(t *testing.T) {
	text := rapid.OneOf(rapid.StringN(0, 60, -1), rapid.SampledFrom([]string{`"`, `\`, `{"runs": [`, "<b>&\u2028", "\xff"}))
	rapid.Check(t, func(t *rapid.T) {
		doc := small()
		doc.Machine = rapid.MapOfN(text, text, 0, 5).Draw(t, "machine")
		doc.LooksBefore = rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(1, 1e6), 1, 20), 0, 4).Draw(t, "looks")
		doc.Warnings = rapid.SliceOfN(text, 0, 4).Draw(t, "warnings")
		run := &doc.Benchmarks[0].Cells[1].Runs[0]
		run.Audit = map[string]any{"nested": map[string]any{"runs": []any{text.Draw(t, "audit"), []any{}, map[string]any{}}},
			"x": rapid.Float64().Draw(t, "x")}
		doc.Benchmarks[0].Cells[1].Runs = append(doc.Benchmarks[0].Cells[1].Runs, *run)
		var out, compact bytes.Buffer
		if err := result.Encode(&out, doc); err != nil {
			t.Fatal(err)
		}
		if err := json.Compact(&compact, out.Bytes()); err != nil {
			t.Fatalf("%v:\n%s", err, &out)
		}
		want, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		// Bytes that are not UTF-8 become this character, escaped or not.
		if want := strings.ReplaceAll(string(want), `\ufffd`, "\ufffd"); compact.String() != want {
			t.Errorf("got %s\nwant %s", &compact, want)
		}
		runs := 0
		for line := range strings.Lines(out.String()) {
			if len(line) > 1000 || strings.HasSuffix(line, " \n") {
				t.Errorf("a line is of %d bytes, or ends with a space: %s", len(line), line)
			}
			if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, `{"repeat": `) &&
				strings.HasSuffix(strings.TrimSuffix(trimmed, ","), "}") {
				runs++
			}
		}
		if runs < 2 {
			t.Errorf("%d runs have a line of their own:\n%s", runs, &out)
		}
	})
}

func TestEncodeRefusesWhatJSONCannotHold(t *testing.T) {
	doc := small()
	doc.Benchmarks[0].Cells[1].Runs[0].Metrics["itl.p99"] = math.NaN()
	var out bytes.Buffer
	err := result.Encode(&out, doc)
	if err == nil || !strings.Contains(err.Error(), "Benchmarks[0].Cells[1].Runs[0].Metrics[itl.p99]") {
		t.Errorf("Encode with NaN: %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("%d bytes were written all the same", out.Len())
	}
	doc = small()
	*doc.Gates[0].Decisions[0].Upper = math.Inf(1)
	if err := result.Encode(&out, doc); err == nil || !strings.Contains(err.Error(), "Upper") {
		t.Errorf("Encode with an infinity: %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	head := `{"schema":"` + result.Schema + `","status":"complete"`
	tests := []struct {
		name, in string
		limits   result.Limits
		limit    bool
		want     string
	}{
		{"empty", "", result.Limits{}, false, "not a result document"},
		{"another tool", `{"date":"x"}`, result.Limits{}, false, "convert results of other tools with import"},
		{"next major", `{"schema":"pipeline/result/2.0"}`, result.Limits{}, false, "major version"},
		{"no version", `{"schema":"pipeline/result/x"}`, result.Limits{}, false, "no version"},
		{"rest after it", head + `} {}`, result.Limits{}, false, "not a result document"},
		{"NaN", head + `,"alpha":NaN}`, result.Limits{}, false, "invalid character"},
		{"too large a number", head + `,"alpha":1e999}`, result.Limits{}, false, "1e999"},
		{"size", head + `}` + strings.Repeat(" ", 100), result.Limits{Bytes: 90}, true,
			"more than 90 bytes: beyond a limit: divide the matrix of the pipeline file over several files, or measure fewer repeats"},
		{"MiB", head + `}` + strings.Repeat(" ", 1<<20), result.Limits{Bytes: 1 << 20}, true, "more than 1 MiB: "},
		{"depth", head + `,"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, result.Limits{}, true, "nesting deeper than 32"},
		{"string", head + `,"x":"` + strings.Repeat("a", 50) + `"}`, result.Limits{String: 40}, true, "string of 50 bytes"},
		{"escaped string", head + `,"x":"` + strings.Repeat(`\"`, 50) + `"}`, result.Limits{String: 40}, true, "string of 100 bytes"},
		{"array", head + `,"x":[0,0,0,0,0,0]}`, result.Limits{Array: 5}, true, "more than 5 elements"},
		{"objects", head + `,"x":[{},{},{}]}`, result.Limits{Objects: 4}, true, "more than 4 objects"},
		{"values", head + `,"x":[0,0],"y":[0,0]}`, result.Limits{Values: 5}, true, "more than 5 values"},
		{"not closed", head + `,"x":"\`, result.Limits{}, false, "not a result document"},
	}
	for _, tt := range tests {
		_, err := result.Decode(strings.NewReader(tt.in), tt.limits)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if errors.Is(err, result.ErrLimit) != tt.limit {
			t.Errorf("%s: is a limit: %v", tt.name, err)
		}
	}
}

func TestDecodeAcceptsNewerMinor(t *testing.T) {
	in := `{"schema":"pipeline/result/1.9","status":"complete","brand_new":{"a":[1]}}`
	if _, err := result.Decode(strings.NewReader(in), result.Limits{}); err != nil {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		want   string
		change func(d *result.Document)
	}{
		{"status", func(d *result.Document) { d.Status = "done" }},
		{"verdict", func(d *result.Document) { d.Verdict = "fine" }},
		{"alpha", func(d *result.Document) { d.Alpha = 1.5 }},
		{"NaN|not a finite", func(d *result.Document) { d.Alpha = math.NaN() }},
		{"targets[1].addr", func(d *result.Document) { d.Targets = append(d.Targets, d.Targets[0]) }},
		{"targets[0].addr is empty", func(d *result.Document) { d.Targets[0].Addr = "" }},
		{"launches[0].target: unknown target", func(d *result.Document) { d.Launches[0].Target = "x" }},
		{"benchmarks[1].addr", func(d *result.Document) { d.Benchmarks = append(d.Benchmarks, d.Benchmarks[0]) }},
		{"benchmarks[0].cells[1].hash", func(d *result.Document) { d.Benchmarks[0].Cells[1].Hash = "base" }},
		{"benchmarks[0].cells[1].target", func(d *result.Document) { d.Benchmarks[0].Cells[1].Target = "x" }},
		{"runs[0].launch: unknown launch", func(d *result.Document) { d.Benchmarks[0].Cells[1].Runs[0].Launch = "x" }},
		{"runs[0].status", func(d *result.Document) { d.Benchmarks[0].Cells[1].Runs[0].Status = "good" }},
		{"201 of 200", func(d *result.Document) { d.Benchmarks[0].Cells[1].Runs[0].Failed = 201 }},
		{"runs[0].duration_s", func(d *result.Document) { d.Benchmarks[0].Cells[1].Runs[0].Duration = -1 }},
		{"gates[0].benchmark", func(d *result.Document) { d.Gates[0].Benchmark = "x" }},
		{"gates[0].on_missing", func(d *result.Document) { d.Gates[0].OnMissing = "explode" }},
		{"gates[0].baseline_kind", func(d *result.Document) { d.Gates[0].BaselineKind = "gut" }},
		{"decisions[0].cell: unknown cell", func(d *result.Document) { d.Gates[0].Decisions[0].Cell = "x" }},
		{"decisions[0].base_cell: unknown cell", func(d *result.Document) { d.Gates[0].Decisions[0].BaseCell = "x" }},
		{"decisions[0].kind", func(d *result.Document) { d.Gates[0].Decisions[0].Kind = "x" }},
		{"decisions[0].direction", func(d *result.Document) { d.Gates[0].Decisions[0].Direction = "up" }},
		{"decisions[0].scale", func(d *result.Document) { d.Gates[0].Decisions[0].Scale = "linear" }},
		{"decisions[0].p_holm", func(d *result.Document) { d.Gates[0].Decisions[0].PHolm = new(2.0) }},
		{"lower 0.5 is above upper", func(d *result.Document) { d.Gates[0].Decisions[0].Lower = new(0.5) }},
	}
	if err := result.Validate(small()); err != nil {
		t.Fatalf("the document itself: %v", err)
	}
	for _, tt := range tests {
		doc := small()
		tt.change(doc)
		err := result.Validate(doc)
		found := false
		for want := range strings.SplitSeq(tt.want, "|") {
			found = found || err != nil && strings.Contains(err.Error(), want)
		}
		if !found {
			t.Errorf("Validate: %v, want %q", err, tt.want)
		}
	}
}

func TestValidateLetsImportsLeaveReferencesOut(t *testing.T) {
	doc := small()
	doc.Launches = nil
	doc.Benchmarks[0].Cells[1].Runs[0].Launch = ""
	doc.Gates[0].BaselineKind = "stored"
	doc.Gates[0].Decisions[0].BaseCell = "a cell of another session"
	if err := result.Validate(doc); err != nil {
		t.Error(err)
	}
}

func TestValidateBoundsItsError(t *testing.T) {
	doc := small()
	for range 1000 {
		doc.Targets = append(doc.Targets, doc.Targets[0])
	}
	err := result.Validate(doc)
	if n := strings.Count(err.Error(), "\n"); n > 30 || !strings.Contains(err.Error(), "and more") {
		t.Errorf("%d lines", n)
	}
}

func FuzzDecode(f *testing.F) {
	var out bytes.Buffer
	if err := result.Encode(&out, small()); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add([]byte(`{"schema":"pipeline/result/1.0","status":"complete"}`))
	f.Add([]byte(`{"schema":"pipeline/result/1.0","status":"complete","gates":[{"decisions":[{}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := result.Decode(bytes.NewReader(data), result.Limits{Bytes: 1 << 20})
		if err != nil {
			return
		}
		// What was accepted can be written and read again, and means the same.
		var first, second bytes.Buffer
		if err := result.Encode(&first, doc); err != nil {
			t.Fatal(err)
		}
		again, err := result.Decode(bytes.NewReader(first.Bytes()), result.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := result.Encode(&second, again); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("written again it differs:\n%s\n%s", first.Bytes(), second.Bytes())
		}
		result.Exit(doc)
	})
}
