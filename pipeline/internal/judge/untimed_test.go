package judge_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// TestUntimed: tokens that come in one piece leave no time between them, which is not a time of zero.
func TestUntimed(t *testing.T) {
	s := newSession()
	s.plan.Gates[0].Metrics = []string{"tpot.p50"}
	for cell := range 2 {
		s.each(cell, func(r *result.Run) { r.Metrics["tpot.p50"] = 0.01 + 0.0001*float64(r.Repeat) })
	}
	s.doc.Benchmarks[0].Cells[0].Runs[2].Metrics["tpot.p50"] = 0
	if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
		t.Fatal(err)
	}
	d := s.doc.Gates[0].Decisions[0]
	if d.Verdict != result.Invalid || !strings.Contains(d.Reason, "tpot.p50 of repeat 3 of the base is 0: its tokens came in one piece") ||
		d.InvalidFrom != 3 {
		t.Errorf("%s from %d: %s", d.Verdict, d.InvalidFrom, d.Reason)
	}
	if err := judge.Verify(s.doc, nil); err != nil {
		t.Error(err)
	}
}

// TestUntimedAgainstTheHistory: a time of zero does not pull the mean of a session down.
func TestUntimedAgainstTheHistory(t *testing.T) {
	p, doc := tonight(0.1)
	past := nights(12)
	p.Gates[0].Metrics = []string{"tpot.p50"}
	for i := range past.Records {
		past.Records[i].Cells[0].Metrics["tpot.p50"] = 0.01 * (1 + 0.005*float64(i%3-1))
	}
	for i, v := range []float64{0.01, 0.01, 0} {
		doc.Benchmarks[0].Cells[0].Runs[i].Metrics["tpot.p50"] = v
	}
	if err := judge.Judge(p, doc, judge.OptionsOf(p, past)); err != nil {
		t.Fatal(err)
	}
	if d := doc.Gates[0].Decisions[0]; d.Verdict != result.Invalid || !strings.Contains(d.Reason, "repeat 3 of the head is 0") {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
}

// Runs that have no time between tokens, or left a few requests out, say so: the comparison is invalid,
// or warns.
func TestTokensInOnePiece(t *testing.T) {
	for name, tt := range map[string]struct {
		metric  string
		run     map[string]float64
		verdict result.Verdict
		want    string
	}{
		"more than a few": {"tpot.p50", map[string]float64{}, result.Invalid,
			"tpot.p50 of repeat 2 of the head is not there: the tokens of 3 of 40 requests came in one piece"},
		"a few": {"tpot.p50", map[string]float64{"tpot.p50": 0.01}, result.Pass,
			"3 of 160 requests of the head are left out"},
		"a median of 0 beside the tail": {"tpot.p99", map[string]float64{"tpot.p50": 0, "tpot.p99": 0.01}, result.Invalid,
			"tpot.p99 of repeat 2 of the head is of a run whose median is 0"},
		"no time between tokens at all":  {"e2el.p50", map[string]float64{"e2el.p50": 0.01}, result.Pass, ""},
		"of a tool that knows no pieces": {"tpot.mean", map[string]float64{"tpot.mean": 0.01}, result.Pass, "3 of 160"},
	} {
		s := newSession()
		s.plan.Gates[0].Metrics = []string{tt.metric}
		for cell := range 2 {
			s.each(cell, func(r *result.Run) {
				r.Sent, r.Metrics[tt.metric] = 40, 0.01+0.0001*float64(r.Repeat)
			})
		}
		run := &s.doc.Benchmarks[0].Cells[1].Runs[1]
		run.Metrics = tt.run
		if run.Audit == nil {
			run.Audit = map[string]any{}
		}
		run.Audit[result.OnePiece] = 3.0
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		d := s.doc.Gates[0].Decisions[0]
		if text := d.Reason + strings.Join(d.Warnings, "; "); d.Verdict != tt.verdict || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %s: %s", name, d.Verdict, text)
		}
		if err := judge.Verify(s.doc, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A limit does not hold because its tokens came in one piece.
func TestLimitsOnTokensInOnePiece(t *testing.T) {
	s := newSession()
	s.plan.Gates[0] = plan.Gate{Addr: "gate.g", Benchmark: "benchmark.b", Assert: true, Actions: result.Actions{OnRegression: "fail"},
		Comparisons: []plan.Comparison{{Head: "head"}}}
	s.each(1, func(r *result.Run) { r.Metrics["tpot.p50"] = 0 })
	limit := func(_ string, _ []result.AxisValue, in config.AssertInput) ([]config.Limit, string, error) {
		v, known := in.Metrics["tpot.p50"]
		l := config.Limit{Metric: "tpot.p50", Op: "<", Value: v, Limit: 0.05, Known: known, Holds: v < 0.05}
		return []config.Limit{l}, "too slow", nil
	}
	if err := judge.Judge(s.plan, s.doc, judge.Options{Assert: limit}); err != nil {
		t.Fatal(err)
	}
	if d := s.doc.Gates[0].Decisions[0]; d.Verdict != result.Invalid || !strings.Contains(d.Reason, "one piece") {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
}
