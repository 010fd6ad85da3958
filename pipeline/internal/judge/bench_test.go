package judge_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// BenchmarkJudge500WithHistory judges 500 metrics of cells (50 cells, 10 metrics, 6 repeats)
// against a history of 60 sessions, as a nightly run does.
func BenchmarkJudge500WithHistory(b *testing.B) {
	p, doc, h := nightly(50, 10, 60)
	for b.Loop() {
		judged := *doc
		if err := judge.Judge(p, &judged, judge.Options{History: h}); err != nil {
			b.Fatal(err)
		}
		if n := len(judged.Gates[0].Decisions); n != 50*11 {
			b.Fatalf("%d decisions", n)
		}
	}
}

// A large nightly file is judged against its history: every comparison is decided.
func TestALargeFileIsJudgedAgainstItsHistory(t *testing.T) {
	p, doc, h := nightly(5, 10, 20)
	if err := judge.Judge(p, doc, judge.Options{History: h}); err != nil {
		t.Fatal(err)
	}
	for _, d := range doc.Gates[0].Decisions {
		if d.Verdict != result.Pass && d.Verdict != result.Improvement {
			t.Errorf("%s of %s: %s (%s)", d.Metric, d.Cell, d.Verdict, d.Reason)
		}
	}
}

// nightly is a file of one side whose cells are set against a history, with its measured
// document. Sessions spread by 0.5 %.
func nightly(cells, metrics, sessions int) (*plan.Plan, *result.Document, *history.History) {
	rng := rand.New(rand.NewPCG(91, 0))
	var ids []string
	for _, m := range metric.All() {
		if m.Scale == metric.Log && !m.Informational && m.Level != metric.LaunchLevel && len(ids) < metrics {
			ids = append(ids, m.ID)
		}
	}
	draw := func() map[string]float64 {
		values := map[string]float64{}
		for _, id := range ids {
			values[id] = math.Exp(0.005 * rng.NormFloat64())
		}
		return values
	}
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	p := &plan.Plan{Alpha: 0.05, Targets: []plan.Target{{Addr: "server.vllm.main", Source: "vllm"}}}
	doc := &result.Document{Status: result.StatusComplete, RunID: "today", Started: now, Benchmarks: []result.Benchmark{{Addr: "benchmark.b"}}}
	gate := plan.Gate{
		Addr: "gate.g", Benchmark: "benchmark.b", Baseline: "baseline.stored.main", BaselineKind: "stored",
		Stored:  &plan.Stored{Sessions: 2 * gates.MinSessions},
		Metrics: ids,
		Terms:   gates.Terms{Claim: gates.Claim{Margin: 0.05}, Rule: gates.Rule{TestName: "paired_t"}},
		Actions: result.Actions{OnRegression: "fail", OnInconclusive: "warn", OnMissing: "fail", OnInvalid: "fail"},
	}
	planned := plan.Benchmark{Addr: "benchmark.b", RepeatMax: 6}
	h := &history.History{Records: make([]history.Record, sessions)}
	for i := range h.Records {
		h.Records[i] = history.Record{ID: fmt.Sprint("session ", i), Kind: history.Session, Time: now.AddDate(0, 0, i-sessions)}
	}
	for i := range cells {
		hash := fmt.Sprint("cell ", i)
		planned.Cells = append(planned.Cells, plan.Cell{Hash: hash, WorkKey: "w", Target: "server.vllm.main"})
		gate.Comparisons = append(gate.Comparisons, plan.Comparison{Head: hash})
		cell := result.Cell{Hash: hash, Target: "server.vllm.main"}
		for r := range 6 {
			cell.Runs = append(cell.Runs, result.Run{Repeat: r + 1, Status: result.RunOK, Sent: 1000, Metrics: draw()})
		}
		doc.Benchmarks[0].Cells = append(doc.Benchmarks[0].Cells, cell)
		for k := range h.Records {
			h.Records[k].Cells = append(h.Records[k].Cells, history.Cell{Benchmark: "benchmark.b", Hash: hash, Runs: 6, Sent: 6000, Metrics: draw()})
		}
	}
	p.Benchmarks, p.Gates = []plan.Benchmark{planned}, []plan.Gate{gate}
	return p, doc, h
}
