package judge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// tonight is a session of one cell judged against the history.
func tonight(ttft float64) (*plan.Plan, *result.Document) {
	p := &plan.Plan{
		Alpha: 0.05, Looks: []int{3},
		Targets:    []plan.Target{{Addr: "server.vllm.sut", Source: "vllm"}},
		Benchmarks: []plan.Benchmark{{Addr: "benchmark.b", RepeatMax: 3, Cells: []plan.Cell{{Hash: "h", Target: "server.vllm.sut"}}}},
		Gates: []plan.Gate{{
			Addr: "gate.night", Benchmark: "benchmark.b", Baseline: "baseline.stored.main", BaselineKind: "stored",
			Stored: &plan.Stored{Branch: "main", Sessions: 10}, Metrics: []string{"ttft.p50"},
			Terms:       gates.Terms{Claim: gates.Claim{Margin: 0.05}, Rule: gates.Rule{TestName: "paired_t"}},
			Actions:     result.Actions{OnRegression: "fail", OnInconclusive: "warn", OnMissing: "fail", OnInvalid: "fail"},
			Comparisons: []plan.Comparison{{Head: "h"}},
		}},
	}
	doc := &result.Document{
		RunID: "tonight", Started: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC), Status: result.StatusComplete,
		Machine:    map[string]string{"gpu_count": "1", "gpu_name": "NVIDIA H100"},
		Targets:    []result.Target{{Addr: "server.vllm.sut", Model: "m"}},
		Benchmarks: []result.Benchmark{{Addr: "benchmark.b", Cells: []result.Cell{{Hash: "h", Target: "server.vllm.sut"}}}},
	}
	cell := &doc.Benchmarks[0].Cells[0]
	for r := range 3 {
		cell.Runs = append(cell.Runs, result.Run{Repeat: r + 1, Status: result.RunOK, Sent: 100, Metrics: map[string]float64{"ttft.p50": ttft}})
	}
	return p, doc
}

// nights are earlier sessions with a spread of about 0.5 %.
func nights(n int) *history.History {
	h := &history.History{}
	for i := range n {
		h.Records = append(h.Records, history.Record{
			ID: fmt.Sprint("night-", i), Kind: history.Session, Time: time.Date(2026, 8, 1+i, 0, 0, 0, 0, time.UTC),
			Source: history.Source{Branch: "main"}, Machine: map[string]string{"gpu_count": "1", "gpu_name": "NVIDIA H100"},
			Cells: []history.Cell{{Hash: "h", Model: "m", Runs: 3, Sent: 300,
				Metrics: map[string]float64{"ttft.p50": 0.1 * (1 + 0.005*float64(i%3-1))}}},
		})
	}
	return h
}

func TestStoredBaselines(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ttft    float64
		past    *history.History
		change  func(*result.Document)
		verdict result.Verdict
		exit    int
		reason  string
	}{
		{"as every night", 0.1, nights(12), nil, result.Pass, 0, ""},
		{"slower tonight", 0.12, nights(12), nil, result.Regression, 1, ""},
		{"slower, and a short history", 0.12, nights(9), nil, result.Inconclusive, 0, "9 of the 10 sessions"},
		{"no history", 0.12, nil, nil, result.Inconclusive, 0, "none of the 10 sessions"},
		{"another machine", 0.12, nights(12), func(d *result.Document) {
			d.Machine = map[string]string{"gpu_count": "1",
				"gpu_name": "NVIDIA A10"}
		}, result.Inconclusive, 0, "none of the 10 sessions"},
		{"simulated tonight", 0.12, nights(12), func(d *result.Document) { d.Simulated = "process" }, result.Inconclusive, 0,
			"none of the 10 sessions"},
		{"nothing measured", 0.1, nights(12), func(d *result.Document) { d.Benchmarks[0].Cells[0].Runs = nil }, result.Missing,
			5, "no valid run"},
		{"requests fail", 0.1, nights(12), func(d *result.Document) {
			for i := range d.Benchmarks[0].Cells[0].Runs {
				d.Benchmarks[0].Cells[0].Runs[i].Failed = 20
			}
		}, result.Regression, 1, "requests of the head failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, doc := tonight(tt.ttft)
			if tt.change != nil {
				tt.change(doc)
			}
			if err := judge.Judge(p, doc, judge.OptionsOf(p, tt.past)); err != nil {
				t.Fatal(err)
			}
			if doc.Verdict != tt.verdict || doc.ExitCode != tt.exit {
				t.Errorf("%s, exit %d; want %s, %d: %+v", doc.Verdict, doc.ExitCode, tt.verdict, tt.exit, doc.Gates[0].Decisions)
			}
			if text := fmt.Sprint(doc.Gates[0].Decisions); !strings.Contains(text, tt.reason) {
				t.Errorf("no decision says %q: %s", tt.reason, text)
			}
		})
	}
}
