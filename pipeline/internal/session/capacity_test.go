package session_test

import (
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// TestCapacityInVirtualTime rehearses examples/capacity: chunked prefill carries no less, a slower
// head does, every probe is in the document, and a document is judged again from what it holds.
func TestCapacityInVirtualTime(t *testing.T) {
	for _, tt := range []struct {
		slowdown   string
		regression bool
	}{{"0%", false}, {"40%", true}} {
		doc, err := capacityExample(t, func(w *steps.Workload) { w.Load.Requests = 200 }, "slowdown="+tt.slowdown, "repeats=3").Run(1)
		if err != nil {
			t.Fatal(err)
		}
		if g := doc.Gates[0]; (g.Verdict == result.Regression) != tt.regression {
			t.Errorf("slower by %s: %s: %s", tt.slowdown, g.Verdict, g.Decisions[0].Reason)
		}
		for _, c := range doc.Benchmarks[0].Cells {
			for _, r := range c.Runs {
				checkSearch(t, r)
			}
		}
		if err := judge.Verify(doc, nil); err != nil {
			t.Errorf("judged again: %v", err)
		}
	}
}

func checkSearch(t *testing.T, r result.Run) {
	t.Helper()
	s := r.Search
	if r.Status != result.RunOK || s == nil || s.Capacity == nil || len(s.Probes) < 4 || len(s.Probes) > 8 || s.Stopped == "" {
		t.Fatalf("run %d: %s (%s), search %+v", r.Repeat, r.Status, r.Reason, s)
	}
	if got := r.Metrics["capacity.rate"]; got != *s.Capacity || s.Lower == nil || *s.Lower > got || s.Upper != nil && got > *s.Upper {
		t.Errorf("run %d: capacity %g, %v to %v", r.Repeat, got, s.Lower, s.Upper)
	}
	for _, p := range s.Probes {
		if p.Kind != result.LoadRate || p.Reason == "" || len(p.Objectives) != 3 || p.Sent != 200 || p.Metrics["ttft.p95"] == 0 ||
			p.Held != (p.Headroom >= 0) {
			t.Errorf("run %d: probe %+v", r.Repeat, p)
		}
	}
}

// capacityExample rehearses the example with values of its variables, and with changes to its workloads.
func capacityExample(t *testing.T, change func(*steps.Workload), vars ...string) *session.Rehearsal {
	t.Helper()
	return rehearse(t, eachWorkload(loadExample(t, "capacity", vars...), change))
}

// TestCapacityBeyondTheRange: an SLO that holds at the end of the range is a bound and no pass; one
// that holds nowhere is a fault of the file where it is the base's, and else a regression.
func TestCapacityBeyondTheRange(t *testing.T) {
	ends := func(low, high float64) func(*steps.Workload) {
		return func(w *steps.Workload) { w.Load.Search.Min, w.Load.Search.Max, w.Load.Requests = low, high, 200 }
	}
	for _, tt := range []struct {
		name, slowdown string
		low, high      float64
		want           result.Verdict
		exit           int
		base, head     result.Bound
		status         result.Status
	}{
		{"both beyond", "0%", 2, 12, result.Inconclusive, 0, result.AtLeast, result.AtLeast, result.StatusComplete},
		{"the base beyond", "60%", 2, 14, result.Regression, 1, result.AtLeast, "", result.StatusComplete},
		{"the head nowhere", "60%", 15, 40, result.Regression, 1, "", "", result.StatusComplete},
		{"nowhere", "0%", 30, 60, "", 4, "", "", result.StatusFailed},
	} {
		doc, err := capacityExample(t, ends(tt.low, tt.high), "slowdown="+tt.slowdown, "repeats=5").Run(1)
		if err != nil {
			t.Fatal(err)
		}
		if doc.Status != tt.status || doc.ExitCode != tt.exit {
			t.Errorf("%s: %s (%s), exit status %d", tt.name, doc.Status, doc.StatusReason, doc.ExitCode)
		}
		if tt.status == result.StatusFailed {
			continue
		}
		d := doc.Gates[0].Decisions[0]
		if doc.Gates[0].Verdict != tt.want || d.BaseBound != tt.base || d.HeadBound != tt.head {
			t.Errorf("%s: %s with %q and %q: %s", tt.name, doc.Gates[0].Verdict, d.BaseBound, d.HeadBound, d.Reason)
		}
		if err := judge.Verify(doc, nil); err != nil {
			t.Errorf("%s: judged again: %v", tt.name, err)
		}
	}
}
