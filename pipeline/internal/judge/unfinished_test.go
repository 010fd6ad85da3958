package judge_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// No verdict of a session that did not finish is a pass, wherever in the document it stands; what a
// planned look found worse stays a regression, and what was to be judged once, at the end, is open.
func TestASessionThatDidNotFinishPassesNothing(t *testing.T) {
	green := regexp.MustCompile(`"verdict":"(pass|improvement)"`)
	slower := func(by float64) func(session) {
		return func(s session) { s.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] *= by }) }
	}
	looks := func(s session) { s.plan.Looks = []int{2, 4, 6} }
	limit := func(s session) {
		s.plan.Gates[0] = plan.Gate{Addr: "gate.g", Benchmark: "benchmark.b", Assert: true, Actions: result.Actions{OnRegression: "fail"},
			Comparisons: []plan.Comparison{{Head: "head"}}}
	}
	assert := func(below float64) judge.Options {
		return judge.Options{Assert: func(_ string, _ []result.AxisValue, in config.AssertInput) ([]config.Limit, string, error) {
			v := in.Metrics["ttft.p50"]
			l := config.Limit{Metric: "ttft.p50", Op: "<", Value: v, Limit: below, Known: true, Holds: v < below}
			return []config.Limit{l}, "too slow", nil
		}}
	}
	for name, tt := range map[string]struct {
		setup            []func(session)
		opt              judge.Options
		complete, broken result.Verdict
	}{
		"equal sides, judged once":   {nil, judge.Options{}, result.Pass, result.Inconclusive},
		"equal sides, at a look":     {[]func(session){looks}, judge.Options{}, result.Pass, result.Inconclusive},
		"a faster head":              {[]func(session){slower(0.7)}, judge.Options{}, result.Pass, result.Inconclusive},
		"a slower head, judged once": {[]func(session){slower(1.4)}, judge.Options{}, result.Regression, result.Inconclusive},
		"a slower head, at a look":   {[]func(session){looks, slower(1.4)}, judge.Options{}, result.Regression, result.Regression},
		"a limit that holds":         {[]func(session){limit}, assert(0.2), result.Pass, result.Inconclusive},
		"a limit that does not":      {[]func(session){limit}, assert(0.01), result.Regression, result.Regression},
		"an improvement that is not": {[]func(session){func(s session) { s.plan.Gates[0].Expect = "improvement" }}, judge.Options{},
			result.Inconclusive, result.Inconclusive},
		"an improvement that is shown": {[]func(session){func(s session) { s.plan.Gates[0].Expect = "improvement" }, slower(0.7)},
			judge.Options{}, result.Improvement, result.Inconclusive},
	} {
		for status, want := range map[result.Status]result.Verdict{
			result.StatusComplete: tt.complete, result.StatusInterrupted: tt.broken, result.StatusFailed: tt.broken,
		} {
			s := newSession()
			s.doc.Status, s.doc.RepeatsPlanned, s.doc.RepeatsDone = status, 6, 4
			for _, change := range tt.setup {
				change(s)
			}
			if err := judge.Judge(s.plan, s.doc, tt.opt); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(s.doc)
			if err != nil {
				t.Fatal(err)
			}
			if s.doc.Verdict != want || status != result.StatusComplete && (green.Match(text) || s.doc.Gates[0].Refuted() || s.doc.ExitCode == 0) {
				t.Errorf("%s, %s: verdict %s, exit %d, want %s: %s", name, status, s.doc.Verdict, s.doc.ExitCode, want, text)
			}
			if err := judge.Verify(stored(t, s.doc), nil); err != nil {
				t.Errorf("%s, %s: %v", name, status, err)
			}
		}
	}
	s := newSession()
	limit(s)
	s.doc.Status = result.StatusInterrupted
	if err := judge.Judge(s.plan, s.doc, assert(0.2)); err != nil {
		t.Fatal(err)
	}
	g := &s.doc.Gates[0]
	g.Decisions[0].Verdict, g.Verdict, s.doc.Verdict = result.Pass, result.Pass, result.Pass
	if err := judge.Verify(s.doc, nil); err == nil {
		t.Error("a limit that passes in a session that was interrupted is taken")
	}
}

// A session whose budget is spent between two looks is judged at the one before: each stop would else
// be a look of its own, whenever somebody goes on with it.
func TestASpentBudgetIsNoLook(t *testing.T) {
	for _, tt := range []struct {
		looks   []int
		stopped result.StoppedBy
		want    result.Verdict
		look    int
	}{
		{[]int{3, 6}, result.StoppedBudget, result.Pass, 3},
		{[]int{6, 8}, result.StoppedBudget, result.Inconclusive, 0},
		{[]int{6, 8}, "", result.Pass, 4}, // ended for good
		{[]int{6}, result.StoppedBudget, result.Pass, 0},
	} {
		s := newSession()
		s.plan.Looks, s.doc.StoppedBy, s.doc.RepeatsPlanned, s.doc.RepeatsDone = tt.looks, tt.stopped, 6, 4
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		if d := s.doc.Gates[0].Decisions[0]; d.Verdict != tt.want || d.Look != tt.look || d.N == 0 {
			t.Errorf("looks %v, stopped by %q: %s at %d of %d pairs: %s", tt.looks, tt.stopped, d.Verdict, d.Look, d.N, d.Reason)
		}
		if err := judge.Verify(stored(t, s.doc), nil); err != nil {
			t.Errorf("looks %v: %v", tt.looks, err)
		}
	}
}
