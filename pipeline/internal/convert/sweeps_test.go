package convert_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/reports/curves"
)

// curvesOfFile are the curves that an import of a file gives.
func curvesOfFile(t *testing.T, name string, opt convert.Options) []curves.Chart {
	t.Helper()
	doc, err := convert.Document(readFile(t, "sweeps/"+name, convert.ReadOptions{Tool: "vllm"}), opt)
	if err != nil {
		t.Fatal(err)
	}
	return curves.Of(doc)
}

// TestSweepOfVLLM: the runs of a combination are passes of one server, and the points of a sweep
// are lines of the settings that it varied.
func TestSweepOfVLLM(t *testing.T) {
	charts := curvesOfFile(t, "vllm-summary.csv", convert.Options{By: []string{"request_rate", "max_num_seqs"}})
	if len(charts) != 1 || len(charts[0].Lines) != 2 || charts[0].Lines[1].Name != "max_num_seqs=64" ||
		len(charts[0].Lines[0].Points) != 5 || charts[0].Load.Name != "request_rate" {
		t.Fatalf("%+v", charts)
	}
	if p := charts[0].Lines[0].Points[0]; len(p.Launches) != 1 || p.Launches[0].Sent != 40 {
		t.Errorf("two runs on one server are %+v", p)
	}
	if charts[0].PerGPU != nil || len(charts[0].WithoutGPUs) != 2 {
		t.Error("a sweep that says nothing of GPUs has figures per GPU")
	}
	// Whoever starts the server anew for each says so. Launches are counted from 0 there.
	charts = curvesOfFile(t, "vllm-summary.csv", convert.Options{By: []string{"request_rate", "max_num_seqs"}, LaunchBy: "run_number"})
	if p := charts[0].Lines[0].Points[0]; len(p.Launches) != 2 {
		t.Errorf("launches 0 and 1 are %+v", p)
	}
	// One combination needs no word: its runs differ in nothing but their number.
	if _, err := convert.Document(readFile(t, "sweeps/vllm-summary.json", convert.ReadOptions{}), convert.Options{}); err != nil {
		t.Error(err)
	}
	// The sweep also writes warmup.json, which must be left out.
	runs := readFile(t, "sweeps/vllm-summary.json", convert.ReadOptions{})
	runs[1].Params["run_number"] = "-1"
	doc, err := convert.Document(runs, convert.Options{})
	if err != nil || len(doc.Benchmarks[0].Cells[0].Runs) != 1 || !strings.Contains(strings.Join(doc.Warnings, " "), "warm-up") {
		t.Errorf("%+v, %v", doc, err)
	}
}

// TestIndexOfPandas: the number that pandas gives to each row does not make cells, in which the rows of two files would meet
// by their places.
func TestIndexOfPandas(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want string // the parameter column of the last row
	}{
		"x.csv":      {",max_num_seqs,mean_ttft_ms\n0,32,10\n1,64,11\n", ""},
		"joined.csv": {"Unnamed: 0,max_num_seqs,mean_ttft_ms\n0,32,10\n1,64,11\n0,32,12\n", ""},
		"x.md": {"|    | max_num_seqs | Mean TTFT (ms) | P99 TTFT (ms) |\n|---:|---:|---:|---:|\n" +
			"|  0 | 32 | 10 | 20 |\n|  1 | 64 | 11 | 20 |\n", ""},
		"levels.csv": {",max_num_seqs,mean_ttft_ms\n1,32,10\n2,64,11\n", "2"},
		"names.csv":  {",max_num_seqs,mean_ttft_ms\n0,32,10\nhead,64,11\n", "head"},
	} {
		runs, err := convert.Read(strings.NewReader(tt.text), name, convert.ReadOptions{})
		if err != nil || len(runs) < 2 {
			t.Errorf("%s: %d results, %v", name, len(runs), err)
			continue
		}
		last := runs[len(runs)-1]
		if got, _ := last.Param("column"); got != tt.want || last.Params["max_num_seqs"] == "" || last.Metrics["ttft.mean"] == 0 {
			t.Errorf("%s: column %q of %v", name, got, last.Params)
		}
	}
	// Settings of the server that differ must be named.
	_, err := convert.Document(readFile(t, "sweeps/vllm-summary.csv", convert.ReadOptions{Tool: "vllm"}), convert.Options{})
	if err == nil || !strings.Contains(err.Error(), "max_num_seqs") {
		t.Errorf("a sweep without its axis: %v", err)
	}
}

// TestInferenceX: the curves of a collected file have its own figures per GPU and user.
func TestInferenceX(t *testing.T) {
	var rows []map[string]any
	text, err := os.ReadFile("testdata/sweeps/inferencex.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	charts := curvesOfFile(t, "inferencex.json", convert.Options{By: []string{"max_concurrency", "hw", "gpus"}})
	if len(charts) != 1 || len(charts[0].Lines) != 4 || charts[0].PerGPU == nil || charts[0].Load.Name != "concurrency" {
		t.Fatalf("%+v", charts)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }
	i := 0
	for _, l := range charts[0].Lines {
		for _, p := range l.Points {
			row := rows[i]
			i++
			number := func(key string) float64 { v, _ := row[key].(float64); return v }
			out := number("output_tput_per_gpu")
			if decode := number("num_decode_gpu"); decode > 0 { // theirs is per GPU of decode there, ours per GPU
				out *= decode / (decode + number("num_prefill_gpu"))
			}
			gpu, okGPU := p.Estimate(*charts[0].PerGPU)
			user, okUser := p.Estimate(*charts[0].PerUser)
			if !okGPU || !okUser || p.Load != number("conc") || !near(gpu.Value, out) || !near(user.Value, number("median_intvty")) {
				t.Errorf("%s at %g: %+v and %+v, want %g and %g", l.Name, p.Load, gpu, user, out, number("median_intvty"))
			}
		}
	}
	if i != len(rows) {
		t.Errorf("%d points of %d rows", i, len(rows))
	}
}

// TestInferenceXRows that cannot be what they seem.
func TestInferenceXRows(t *testing.T) {
	for name, tt := range map[string]struct{ row, wrong, warning string }{
		"sessions": {`{"hw": "h200", "conc": 8, "framework": "vllm", "scenario_type": "agentic-coding", "tput_per_gpu": 1}`,
			"agentic sessions", ""},
		"no GPU": {`{"hw": "h200", "conc": 8, "framework": "vllm", "tput_per_gpu": 1, "tp": 0, "median_ttft": 1}`, "number of GPUs", ""},
		"no tp": {`{"hw": "h200", "conc": 8, "framework": "vllm", "tput_per_gpu": 1, "median_ttft": 1}`, "",
			"does not say how many GPUs"},
		"negative GPUs": {`{"hw": "h200", "conc": 8, "framework": "vllm", "tput_per_gpu": 1, "num_prefill_gpu": -1, "num_decode_gpu": 9}`,
			"number of GPUs", ""},
		"no time": {`{"hw": "h200", "conc": 8, "framework": "vllm", "tput_per_gpu": 1, "tp": 2, "median_ttft": "soon"}`,
			"not a number", ""},
	} {
		t.Run(name, func(t *testing.T) {
			runs, err := convert.Read(strings.NewReader(tt.row), "agg.json", convert.ReadOptions{})
			switch {
			case tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong) || !strings.Contains(err.Error(), "agg.json:1")):
				t.Errorf("%v, want %s", err, tt.wrong)
			case tt.wrong == "" && (err != nil || !strings.Contains(strings.Join(runs[0].Warnings(), " "), tt.warning)):
				t.Errorf("%v, %v", runs, err)
			}
		})
	}
}
