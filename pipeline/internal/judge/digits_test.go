package judge_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// TestOwnDigits: round values of our own load generator are as they were measured. Those of another tool may have been rounded.
func TestOwnDigits(t *testing.T) {
	for tool, rounded := range map[string]bool{comparability.OwnTool: false, "vllm-bench": true, "": true} {
		s := newSession()
		for cell := range 2 {
			s.doc.Benchmarks[0].Cells[cell].Work = map[string]string{comparability.Tool: tool}
			s.each(cell, func(r *result.Run) { r.Metrics["ttft.p50"] = 60 + float64(cell) })
		}
		s.doc.Requests = []result.ComparedRequests{{Benchmark: "benchmark.b", Base: "base", Head: "head"}}
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		d := s.doc.Gates[0].Decisions[0]
		if warned := strings.Contains(strings.Join(d.Warnings, "\n"), "printed digits"); warned != rounded || d.Verdict == result.Regression {
			t.Errorf("tool %q: %s, warnings %q", tool, d.Verdict, d.Warnings)
		}
		if !rounded && d.Verdict != result.Pass {
			t.Errorf("60 s against 61 s: %s, %s", d.Verdict, d.Reason)
		}
		if err := judge.Verify(s.doc, nil); err != nil && strings.Contains(err.Error(), "verdict") {
			t.Errorf("tool %q: %v", tool, err)
		}
	}
}
