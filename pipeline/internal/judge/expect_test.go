package judge_test

import (
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// expecting is a session whose gate expects an improvement, and whose head takes so much of the
// base's time.
func expecting(share float64) session {
	s := newSession()
	s.plan.Gates[0].Expect, s.plan.Gates[0].Margin = gates.ExpectImprovement, 0
	s.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] = 0.1 * share })
	return s
}

func TestAGateThatExpectsAnImprovement(t *testing.T) {
	for share, want := range map[float64]struct {
		verdict result.Verdict
		exit    int
	}{0.9: {result.Improvement, 0}, 0.9999: {result.Inconclusive, 5}, 1.1: {result.Regression, 1}} {
		s := expecting(share)
		s.plan.Gates[0].OnInconclusive = result.Fail
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		g := s.doc.Gates[0]
		if g.Verdict != want.verdict || s.doc.Verdict != want.verdict || s.doc.ExitCode != want.exit || g.Expect != gates.ExpectImprovement {
			t.Errorf("%g: %s, file %s, exit %d, expects %q", share, g.Verdict, s.doc.Verdict, s.doc.ExitCode, g.Expect)
		}
		if err := judge.Verify(s.doc, nil); err != nil {
			t.Errorf("%g: %v", share, err)
		}
		s.doc.Gates[0].Decisions[0].Refuted = true
		if err := judge.Verify(s.doc, nil); err == nil {
			t.Errorf("%g: a document that says refuted is believed", share)
		}
	}
}

// A head whose success rate regresses is not faster, however fast.
func TestAnExpectedImprovementNeedsAHeadThatAnswers(t *testing.T) {
	s := expecting(0.5)
	s.each(1, func(r *result.Run) { r.Failed = 100 })
	if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
		t.Fatal(err)
	}
	if v := s.doc.Gates[0].Decisions[0].Verdict; v != result.Inconclusive {
		t.Errorf("%s", v)
	}
}

// Only improvements are withheld while the answers may be worse.
func TestARegressionIsNotWithheld(t *testing.T) {
	s := evaluated(50)
	s.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] *= 1.4 })
	if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
		t.Fatal(err)
	}
	if d := s.doc.Gates[0].Decisions[0]; d.Verdict != result.Regression || d.WithheldBy != nil {
		t.Errorf("%s, withheld by %q", d.Verdict, d.WithheldBy)
	}
}
