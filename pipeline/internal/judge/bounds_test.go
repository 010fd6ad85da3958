package judge_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// TestABoundDoesNotRefute: an improvement that a bound hides is not excluded.
func TestABoundDoesNotRefute(t *testing.T) {
	for _, tt := range []struct {
		name       string
		base, head float64
		refuted    bool
		reason     string
	}{
		{"within", 9, 9.2, true, "excludes the improvement"},
		{"the head is beyond the end", 9.8, 10, false, "the head carries at least 10 req/s"},
		{"the base is below the least", 1, 1.02, false, "the base carries at most 1 req/s"},
	} {
		s := newSession()
		g := &s.plan.Gates[0]
		g.Metrics, g.Expect, g.Margin = []string{"capacity.rate"}, gates.ExpectImprovement, 0.1
		for cell, v := range []float64{tt.base, tt.head} {
			s.each(cell, func(r *result.Run) {
				r.Search = &result.Search{Over: result.LoadRate, Min: 1, Max: 10}
				r.Metrics["capacity.rate"] = v * (1 + 0.0001*float64(r.Repeat*(1-cell)))
				switch v {
				case 1:
					r.Search.Bound = result.AtMost
				case 10:
					r.Search.Bound = result.AtLeast
				}
			})
		}
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		d := s.doc.Gates[0].Decisions[0]
		if d.Verdict != result.Inconclusive || d.Refuted != tt.refuted || !strings.Contains(d.Reason, tt.reason) {
			t.Errorf("%s: %s, refuted %v: %s", tt.name, d.Verdict, d.Refuted, d.Reason)
		}
		if err := judge.Verify(s.doc, nil); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestARepeatThatHeldNowhere: the pair of a launch that held the SLO nowhere is left out, and a pass
// does not rest on what is left.
func TestARepeatThatHeldNowhere(t *testing.T) {
	for _, repeat := range []int{1, 3} {
		s := newSession()
		s.plan.Gates[0].Metrics, s.plan.Gates[0].Margin = []string{"capacity.rate"}, 0.2
		for cell := range 2 {
			s.each(cell, func(r *result.Run) {
				r.Search = &result.Search{Over: result.LoadRate, Min: 1, Max: 10}
				r.Metrics["capacity.rate"] = 1.5 * (1 + 0.01*float64(r.Repeat%(2+cell)))
			})
		}
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil || s.doc.Gates[0].Decisions[0].Verdict != result.Pass {
			t.Fatalf("%v, %+v", err, s.doc.Gates[0].Decisions[0])
		}
		r := &s.doc.Benchmarks[0].Cells[1].Runs[repeat-1]
		r.Status, r.Reason, r.Metrics, r.Search.Bound = result.RunFailed, "the SLO does not hold at 1 req/s", nil, result.AtMost
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		d := s.doc.Gates[0].Decisions[0]
		if d.Verdict != result.Inconclusive || d.HeadBound != result.AtMost || !strings.Contains(d.Reason, "lower min") {
			t.Errorf("repeat %d: %s with %q: %s", repeat, d.Verdict, d.HeadBound, d.Reason)
		}
		if err := judge.Verify(s.doc, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestALimitDoesNotRestOnABound: whether a limit on a capacity holds is not known where the capacity may be on its other side.
func TestALimitDoesNotRestOnABound(t *testing.T) {
	for _, tt := range []struct {
		op       string
		limit    float64
		capacity float64
		bound    result.Bound
		want     result.Verdict
		reason   string
	}{
		{">=", 12, 10, result.AtLeast, result.Inconclusive,
			"a launch carried at least 10 req/s, the end of the search, and how much more is not known: raise max"},
		{">=", 9, 10, result.AtLeast, result.Pass, ""},
		{">=", 0.5, 1, result.AtMost, result.Inconclusive,
			"a launch carried at most 1 req/s, the least load of the search, and by how much less is not known: lower min"},
		{">=", 2, 1, result.AtMost, result.Regression, ""},
		{"<", 12, 10, result.AtLeast, result.Inconclusive, "raise max"},
		{"<", 9, 10, result.AtLeast, result.Regression, ""},
		{">=", 4, 5, "", result.Pass, ""},
	} {
		s := newSession()
		s.plan.Gates[0] = plan.Gate{Addr: "gate.g", Benchmark: "benchmark.b", Assert: true, Actions: result.Actions{OnRegression: "fail"},
			Comparisons: []plan.Comparison{{Head: "head"}}}
		s.each(1, func(r *result.Run) {
			r.Search = &result.Search{Over: result.LoadRate, Min: 1, Max: 10, Bound: tt.bound}
			r.Metrics["capacity.rate"] = tt.capacity
		})
		limit := func(_ string, _ []result.AxisValue, in config.AssertInput) ([]config.Limit, string, error) {
			v := in.Metrics["capacity.rate"]
			l := config.Limit{Metric: "capacity.rate", Op: tt.op, Value: v, Limit: tt.limit, Known: true, Holds: v >= tt.limit == (tt.op == ">=")}
			return []config.Limit{l}, "too little", nil
		}
		if err := judge.Judge(s.plan, s.doc, judge.Options{Assert: limit}); err != nil {
			t.Fatal(err)
		}
		d := s.doc.Gates[0].Decisions[0]
		if d.Verdict != tt.want || !strings.Contains(d.Reason, tt.reason) || d.HeadBound != tt.bound {
			t.Errorf("%s %g with %s %g: %s, %s", tt.op, tt.limit, d.HeadBound, tt.capacity, d.Verdict, d.Reason)
		}
		if err := judge.Verify(stored(t, s.doc), nil); err != nil {
			t.Error(err)
		}
	}
}
