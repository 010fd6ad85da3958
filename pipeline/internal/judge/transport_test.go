package judge

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

// A transport that is contradicted on either side makes a comparison invalid whatever the
// numbers say; one that nothing proves does what the gate wants.
func TestTransports(t *testing.T) {
	const reason = "declared RDMA, but KV went over TCP"
	for _, tt := range []struct {
		name    string
		cell    int
		status  string
		repeats []int // in which it has the status; the others are proved
		policy  string
		verdict result.Verdict
		warned  bool
	}{
		{"proved", 1, result.TransportProved, nil, "warn", result.Pass, false},
		{"contradicted head", 1, result.TransportContradicted, []int{3}, "warn", result.Invalid, false},
		{"contradicted base", 0, result.TransportContradicted, []int{1, 2, 3, 4}, "ignore", result.Invalid, false},
		{"unproven, warned of", 1, result.TransportUnproven, []int{2, 4}, "warn", result.Pass, true},
		{"unproven, refused", 1, result.TransportUnproven, []int{2}, "fail", result.Invalid, false},
		{"unproven, ignored", 1, result.TransportUnproven, []int{2}, "ignore", result.Pass, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession()
			s.plan.Gates[0].OnUnprovenTransport = tt.policy
			s.each(tt.cell, func(r *result.Run) {
				r.Transport = &result.Transport{Status: result.TransportProved}
				if slices.Contains(tt.repeats, r.Repeat) {
					r.Transport = &result.Transport{Status: tt.status, Reason: reason}
				}
			})
			if err := Judge(s.plan, s.doc, Options{}); err != nil {
				t.Fatal(err)
			}
			d := s.doc.Gates[0].Decisions[0]
			if d.Verdict != tt.verdict {
				t.Errorf("%s (%s), want %s", d.Verdict, d.Reason, tt.verdict)
			}
			if tt.verdict == result.Invalid && (!strings.Contains(d.Reason, reason) || !strings.Contains(d.Reason, s.doc.Benchmarks[0].Cells[tt.cell].Target)) {
				t.Errorf("the reason is %q", d.Reason)
			}
			if warned := len(d.Warnings) > 0; warned != tt.warned {
				t.Errorf("warnings %q", d.Warnings)
			}
		})
	}
}

// A void run says nothing, not even of its transport.
func TestTransportOfAVoidRunDoesNotCount(t *testing.T) {
	s := newSession()
	s.each(1, func(r *result.Run) {
		r.Transport = &result.Transport{Status: result.TransportContradicted, Reason: "x"}
		r.Status = result.RunVoid
	})
	if got := transportDoubt(s.plan.Gates[0], &s.doc.Benchmarks[0].Cells[1]); got != "" {
		t.Errorf("doubted: %s", got)
	}
}
