package judge

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/gates"
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
		if err := Judge(s.plan, s.doc, Options{}); err != nil {
			t.Fatal(err)
		}
		g := s.doc.Gates[0]
		if g.Verdict != want.verdict || s.doc.Verdict != want.verdict || s.doc.ExitCode != want.exit || g.Expect != gates.ExpectImprovement {
			t.Errorf("%g: %s, file %s, exit %d, expects %q", share, g.Verdict, s.doc.Verdict, s.doc.ExitCode, g.Expect)
		}
		if err := Verify(s.doc, nil); err != nil {
			t.Errorf("%g: %v", share, err)
		}
		s.doc.Gates[0].Decisions[0].Refuted = true
		if err := Verify(s.doc, nil); err == nil {
			t.Errorf("%g: a document that says refuted is believed", share)
		}
	}
}

// A head whose success rate regresses is not faster, however fast.
func TestAnExpectedImprovementNeedsAHeadThatAnswers(t *testing.T) {
	s := expecting(0.5)
	s.each(1, func(r *result.Run) { r.Failed = 100 })
	if err := Judge(s.plan, s.doc, Options{}); err != nil {
		t.Fatal(err)
	}
	if v := s.doc.Gates[0].Decisions[0].Verdict; v != result.Inconclusive {
		t.Errorf("%s", v)
	}
}

func TestAnImprovementIsWithheld(t *testing.T) {
	by := []string{"gate.answers"}
	for _, tt := range []struct {
		verdict result.Verdict
		expect  gates.Expectation
		want    result.Verdict
	}{
		{result.Improvement, "", result.Pass},
		{result.Improvement, gates.ExpectImprovement, result.Inconclusive},
		{result.Pass, "", result.Pass},
		{result.Regression, gates.ExpectImprovement, result.Regression},
	} {
		d := result.Decision{Verdict: tt.verdict, Metric: "ttft.p50"}
		withhold(&d, tt.expect, by)
		if d.Verdict != tt.want || (len(d.WithheldBy) > 0) != (tt.verdict == result.Improvement) {
			t.Errorf("%s, expects %q: %s, withheld by %q", tt.verdict, tt.expect, d.Verdict, d.WithheldBy)
		}
		withhold(&d, tt.expect, nil)
		if d.Verdict != tt.want || !slices.Equal(d.WithheldBy, by) && tt.verdict == result.Improvement {
			t.Errorf("%s: nothing withholds it now", d.Verdict)
		}
	}
}
