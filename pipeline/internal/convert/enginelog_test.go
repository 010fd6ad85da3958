package convert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/reports/result"
)

// logged puts lines of an engine before a block and imports both.
func logged(t *testing.T, lines ...string) result.Run {
	t.Helper()
	const block = rule + "Successful requests:  10\nMean TTFT (ms):  12.50\n" + end
	runs, err := convert.Read(strings.NewReader(strings.Join(lines, "\n")+"\n"+block), "x.log", convert.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := convert.Document(runs, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Validate(doc); err != nil {
		t.Fatal(err)
	}
	return doc.Benchmarks[0].Cells[0].Runs[0]
}

// TestEngineSeries: what the engine logged while a run lasted is a course over its time,
// whichever engine, version and collector of logs wrote it.
func TestEngineSeries(t *testing.T) {
	const v1 = "(APIServer pid=158) INFO 09-02 13:08:%02d [loggers.py:123] Engine %s: Avg prompt throughput: 0.0 tokens/s, Avg generation " +
		"throughput: %d.7 tokens/s, Running: %d reqs, Waiting: 0 reqs, GPU KV cache usage: 4.1%%, Prefix cache hit rate: 53.7%%"
	const sglang = "[2026-01-02 03:04:%02d TP0] Decode batch. #running-req: %d, #token: 123, token usage: 0.02, gen throughput (token/s): " +
		"321.5, #queue-req: 4, "
	series := func(member, name string, v ...float64) result.Series {
		s := result.Series{Name: name, Member: member, Source: "log", V: v}
		for i := range v {
			s.T = append(s.T, float64(10*i))
		}
		return s
	}
	tests := []struct {
		name  string
		lines []string
		want  []result.Series // some of them
	}{
		{"vLLM", []string{fmt.Sprintf(v1, 10, "000", 238, 10), "noise", fmt.Sprintf(v1, 20, "000", 98, 4)},
			[]result.Series{series("", "running", 10, 4), series("", "generation_throughput", 238.7, 98.7), series("", "kv_usage", 0.041, 0.041),
				series("", "hit_rate", 0.537, 0.537)}},
		{"vLLM V0", []string{"INFO 11-07 11:28:00 metrics.py:449] Avg prompt throughput: 1.5 tokens/s, Avg generation throughput: 2.5 " +
			"tokens/s, Running: 1 reqs, Swapped: 3 reqs, Pending: 2 reqs, GPU KV cache usage: 0.5%, CPU KV cache usage: 0.0%."},
			[]result.Series{series("", "waiting", 2), series("", "kv_usage", 0.005), series("", "prompt_throughput", 1.5)}},
		{"SGLang", []string{fmt.Sprintf(sglang, 5, 7), fmt.Sprintf(sglang, 15, 9)},
			[]result.Series{series("", "running", 7, 9), series("", "waiting", 4, 4), series("", "kv_usage", 0.02, 0.02),
				series("", "generation_throughput", 321.5, 321.5)}},
		{"SGLang prefill", []string{"[2026-01-02 03:04:05] Prefill batch, #new-seq: 1, #new-token: 300, #cached-token: 100, token usage: 0.01, " +
			"#running-req: 3, #queue-req: 0, input throughput (token/s): 4096.00"},
			[]result.Series{series("", "hit_rate", 0.25), series("", "prompt_throughput", 4096)}},
		{"two engines", []string{fmt.Sprintf(v1, 10, "000", 1, 1), fmt.Sprintf(v1, 10, "001", 2, 2), fmt.Sprintf(v1, 20, "000", 3, 3),
			fmt.Sprintf(v1, 20, "001", 4, 4)},
			[]result.Series{series("engine 000", "running", 1, 3), series("engine 001", "running", 2, 4)}},
		{"behind a pod's name", []string{"[pod/vllm-7d4f/server] " + fmt.Sprintf(v1, 10, "000", 1, 1), "[pod/vllm-7d4f/server] " +
			fmt.Sprintf(v1, 20, "000", 3, 3)},
			[]result.Series{series("", "running", 1, 3)}},
		{"over new year", []string{strings.Replace(fmt.Sprintf(v1, 55, "000", 1, 1), "09-02 13:08", "12-31 23:59", 1),
			strings.Replace(fmt.Sprintf(v1, 5, "000", 3, 3), "09-02 13:08", "01-01 00:00", 1)},
			[]result.Series{series("", "running", 1, 3)}},
		{"before the command of the run", []string{fmt.Sprintf(v1, 10, "000", 9, 9), "$ vllm bench serve --model m",
			fmt.Sprintf(v1, 30, "000", 1, 1), fmt.Sprintf(v1, 40, "000", 2, 2)},
			[]result.Series{series("", "running", 1, 2)}},
		{"without a time", []string{"Engine 000: Avg prompt throughput: 0.0 tokens/s, Running: 5 reqs"}, nil},
		{"a time that is none", []string{"INFO 99-99 99:99:99 Avg prompt throughput: 0.0 tokens/s, Running: 5 reqs"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := logged(t, tt.lines...)
			for _, want := range tt.want {
				if !slices.ContainsFunc(run.Series, func(s result.Series) bool {
					return cmp.Equal(s, want, cmpopts.EquateApprox(0, 1e-9))
				}) {
					t.Errorf("no series %+v in %+v", want, run.Series)
				}
			}
			if len(tt.want) == 0 && len(run.Series) > 0 {
				t.Errorf("series without times: %+v", run.Series)
			}
			if tt.want == nil && run.Audit["engine_running_max"] != 5.0 {
				t.Errorf("audit %v", run.Audit)
			}
		})
	}
}

// TestLongEngineLog: a log of days keeps its course, in as many points as a chart shows.
func TestLongEngineLog(t *testing.T) {
	var lines []string
	for i := range 50_000 {
		lines = append(lines, fmt.Sprintf("INFO 09-%02d %02d:%02d:%02d x] Avg prompt throughput: 0.0 tokens/s, Running: %d reqs", 1+i/8640,
			i/360%24, i/6%60, i%6*10, i))
	}
	run := logged(t, lines...)
	s := run.Series[slices.IndexFunc(run.Series, func(s result.Series) bool { return s.Name == "running" })]
	if n := len(s.T); n != 300 || len(s.V) != n || s.V[n-1] < 49_000 || s.T[n-1] < 490_000 || !slices.IsSorted(s.T) {
		t.Errorf("%d points up to %v at %v s", n, s.V[n-1], s.T[n-1])
	}
}

// TestEngineLogOfSession: the lines between a command and its block belong to that run.
func TestEngineLogOfSession(t *testing.T) {
	runs := readFile(t, "tools/session.log", convert.ReadOptions{})
	doc, err := convert.Document(runs[:1], convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := doc.Benchmarks[0].Cells[0].Runs[0]
	if run.Audit["engine_kv_usage_max"] != 0.141 || run.Audit["engine_waiting_max"] != 2.0 || run.Audit["source"] != "tools/session.log:10" {
		t.Errorf("audit %v", run.Audit)
	}
	if len(run.Series) != 6 || !slices.Equal(run.Series[0].T, []float64{0, 10, 20}) {
		t.Errorf("series %+v", run.Series)
	}
}

// TestLongLogOfSeveralEngines: lines that are left out are left out of each engine alike,
// and never the one with the largest value.
func TestLongLogOfSeveralEngines(t *testing.T) {
	const lines, at, peak = 20_000, 12_345, 77 // in a line of the second engine that is not kept for its place
	var log []string
	for i := range lines {
		waiting := 0
		if i == at {
			waiting = peak
		}
		log = append(log,
			fmt.Sprintf("INFO 09-%02d %02d:%02d:%02d x] Engine %03d: Avg prompt throughput: 0.0 tokens/s, Running: %d reqs, Waiting: %d reqs",
				1+i/17280, i/720%24, i/12%60, i%12*5, i%2, i, waiting))
	}
	run := logged(t, log...)
	if run.Audit["engine_waiting_max"] != float64(peak) || run.Audit["engine_running_max"] != float64(lines-1) {
		t.Errorf("audit %v", run.Audit)
	}
	for _, engine := range []string{"engine 000", "engine 001"} {
		i := slices.IndexFunc(run.Series, func(s result.Series) bool { return s.Name == "running" && s.Member == engine })
		if i < 0 {
			t.Errorf("no course of %s", engine)
			continue
		}
		s := run.Series[i]
		if n := len(s.T); n != 300 || s.V[0] > 1 || s.V[n-1] < lines-100 || !slices.IsSorted(s.T) {
			t.Errorf("%s: %d points from %v to %v", engine, n, s.V[0], s.V[n-1])
		}
	}
}

// TestLogOfTooManyEngines: a log cannot make a report of as many courses as it names engines.
func TestLogOfTooManyEngines(t *testing.T) {
	var log strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&log, "INFO 09-01 00:%02d:%02d x] Engine %06d: Avg prompt throughput: 0.0 tokens/s, Running: 1 reqs\n", i/60%60, i%60, i)
	}
	runs, err := convert.Read(strings.NewReader(log.String()+rule+"Successful requests:  10\nMean TTFT (ms):  12.50\n"+end), "x.log",
		convert.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	warning := "the engine's log names more than 1024 engines: 48976 lines of the others are left out"
	if len(runs[0].Engine) != 1024 || !slices.Contains(runs[0].Warnings(), warning) {
		t.Errorf("%d samples, warnings %q", len(runs[0].Engine), runs[0].Warnings())
	}
}

// TestEngineNames: an engine is known by the number of vLLM's line and by the ranks of SGLang's, and by nothing that only looks so.
func TestEngineNames(t *testing.T) {
	for head, want := range map[string]string{
		"Engine 000:": "000", "[x DP1 TP0]": "DP1 TP0", "[x DP12345 TP0]": "TP0", "[x TP12]": "TP12", "[x DPx TP1]": "TP1",
		"[DP1 TP0] Engine 002:": "DP1 TP0", "Engine 002: TP1]": "002", "aEngine 1: Engine 2:": "2", "Engine 1234567:": "", "xTP0]": "", "TP]": "",
		"TP12345]": "", "HTTP0] TP3]": "TP3",
	} {
		var lines []string
		for i, engine := range []string{head, "Engine 999:"} {
			lines = append(lines, fmt.Sprintf("INFO 09-02 13:08:%02d x] %s Avg prompt throughput: 1.0 tokens/s, Running: 3 reqs", 10+i, engine))
		}
		member := "engine " + want
		if want == "" {
			member = ""
		}
		if run := logged(t, lines...); !slices.ContainsFunc(run.Series, func(s result.Series) bool { return s.Member == member }) {
			t.Errorf("%s: no series of %q in %+v", head, member, run.Series)
		}
	}
}

// TestLogLines: a line is read the same whatever stands before and behind its figures, and one that only looks like a figure is none.
func TestLogLines(t *testing.T) {
	run := logged(t, "INFO 09-02 13:08:10 x] Running: many reqs, Running: 7 reqs, Waiting: 5 requests, Pending: 4 reqs, "+
		"Avg prompt throughput: 1.2.3 tokens/s, CPU-GPU KV cache usage: 25.0%, GPU KV cache usage: 50.0%, Prefix cache hit rate: GPU: 12.5%")
	got := map[string]float64{}
	for _, s := range run.Series {
		got[s.Name] = s.V[0]
	}
	if want := map[string]float64{"running": 7, "waiting": 4, "kv_usage": 0.25, "hit_rate": 0.125}; !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}
