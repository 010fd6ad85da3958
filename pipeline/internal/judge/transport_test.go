package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// A transport that is contradicted on either side makes a comparison invalid whatever the
// numbers say; one that nothing proves does what the gate wants.
func TestTransports(t *testing.T) {
	const reason = "declared RDMA, but KV went over TCP"
	for _, tt := range []struct {
		name    string
		cell    int
		status  result.TransportStatus
		repeats []int // in which it has the status; the others are proved
		policy  string
		verdict result.Verdict
		warned  bool
	}{
		{"proved", 1, result.TransportProved, nil, "warn", result.Pass, false},
		{"contradicted head", 1, result.TransportContradicted, []int{3}, "warn", result.Invalid, false},
		{"contradicted base", 0, result.TransportContradicted, []int{1, 2, 3, 4}, "ignore", result.Invalid, false},
		{"unproven, warned of", 1, result.TransportUnproven, []int{2, 4}, "warn", result.Pass, true},
		{"unproven, invalidSuccess", 1, result.TransportUnproven, []int{2}, "fail", result.Invalid, false},
		{"unproven, ignored", 1, result.TransportUnproven, []int{2}, "ignore", result.Pass, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession()
			s.plan.Gates[0].OnUnprovenTransport = result.Action(tt.policy)
			s.each(tt.cell, func(r *result.Run) {
				r.Transport = &result.Transport{Status: result.TransportProved}
				if slices.Contains(tt.repeats, r.Repeat) {
					r.Transport = &result.Transport{Status: tt.status, Reason: reason}
				}
			})
			if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
				t.Fatal(err)
			}
			d := s.doc.Gates[0].Decisions[0]
			if d.Verdict != tt.verdict {
				t.Errorf("%s (%s), want %s", d.Verdict, d.Reason, tt.verdict)
			}
			if tt.verdict == result.Invalid && (!strings.Contains(d.Reason, reason) ||
				!strings.Contains(d.Reason, s.doc.Benchmarks[0].Cells[tt.cell].Target)) {
				t.Errorf("the reason is %q", d.Reason)
			}
			if warned := len(d.Warnings) > 0; warned != tt.warned {
				t.Errorf("warnings %q", d.Warnings)
			}
		})
	}
}

// A void run proves nothing, not even its transport.
func TestTransportOfAVoidRunDoesNotCount(t *testing.T) {
	s := newSession()
	s.again(1, result.VoidClient, 0.1)
	s.doc.Benchmarks[0].Cells[1].Runs[2].Transport = &result.Transport{Status: result.TransportContradicted, Reason: "x"}
	if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
		t.Fatal(err)
	}
	if d := s.doc.Gates[0].Decisions[0]; d.Verdict != result.Pass {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
}

// What one look has decided is not undone by what a later repeat shows of the transport, of
// the work, or of the load; what was open is invalid, from whichever side the exclusion comes.
func TestExclusionsSpareDecisionsOfEarlierLooks(t *testing.T) {
	for name, tt := range map[string]struct {
		cell      int
		exclusion func(*result.Run)
		reason    string
	}{
		"contradicted head": {1, func(r *result.Run) {
			r.Transport = &result.Transport{Status: result.TransportContradicted, Reason: "over TCP"}
		}, "contradicted in 1 of"},
		"contradicted base": {0, func(r *result.Run) {
			r.Transport = &result.Transport{Status: result.TransportContradicted, Reason: "over TCP"}
		}, "contradicted in 1 of"},
		"other work":        {1, func(r *result.Run) { r.Audit["work_hash"] = "other" }, "same work in repeat"},
		"a growing backlog": {1, func(r *result.Run) { r.Overloaded = true }, "backlog grew in 0 of 6 runs of the base and 1 of 6"},
	} {
		for _, at := range []int{3, 5} {
			s := lookedAtTwice()
			s.plan.Gates[0].Metrics = []string{"ttft.p50", "ttft.p99"}
			s.each(0, func(r *result.Run) { r.Metrics["ttft.p99"] *= 1 + 0.3*float64(r.Repeat%2) })
			tt.exclusion(&s.doc.Benchmarks[0].Cells[tt.cell].Runs[at-1])
			if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
				t.Fatal(err)
			}
			steady, noisy := s.doc.Gates[0].Decisions[0], s.doc.Gates[0].Decisions[1]
			want := result.Pass
			if at <= repeats {
				want = result.Invalid
			}
			if steady.Verdict != want || noisy.Verdict != result.Invalid || !strings.Contains(noisy.Reason, tt.reason) {
				t.Errorf("%s in repeat %d: %s (%s) and %s (%s)", name, at, steady.Verdict, steady.Reason, noisy.Verdict, noisy.Reason)
			}
			if said := strings.Contains(strings.Join(steady.Warnings, ""), tt.reason); said != (want == result.Pass) {
				t.Errorf("%s in repeat %d: warnings %q", name, at, steady.Warnings)
			}
		}
	}
}

// lookedAtTwice returns a session of six repeats with looks after four and six.
func lookedAtTwice() session {
	s := newSession()
	s.plan.Looks, s.plan.Benchmarks[0].RepeatMax = []int{4, 6}, 6
	for r := repeats + 1; r <= 6; r++ {
		s.add(0, run(r, 0.1))
		s.add(1, run(r, 0.1))
	}
	return s
}

// Of two exclusions the earlier one counts, whichever is found first.
func TestTheEarliestExclusionCounts(t *testing.T) {
	for reason, at := range map[string]struct{ transport, work int }{
		"contradicted in 1 of": {3, 5}, "same work in repeat 3": {5, 3},
	} {
		s := lookedAtTwice()
		runs := s.doc.Benchmarks[0].Cells[1].Runs
		runs[at.transport-1].Transport = &result.Transport{Status: result.TransportContradicted, Reason: "over TCP"}
		runs[at.work-1].Audit["work_hash"] = "other"
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		if d := s.doc.Gates[0].Decisions[0]; d.Verdict != result.Invalid || d.InvalidFrom != 3 || !strings.Contains(d.Reason, reason) {
			t.Errorf("%s from repeat %d: %s, want %q", d.Verdict, d.InvalidFrom, d.Reason, reason)
		}
	}
}
