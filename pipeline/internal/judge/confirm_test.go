package judge

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// confirmedBy is a session on gpu-a whose head is slower by 10 %, and what gpu-b measured of that.
func confirmedBy(factor float64) session {
	s := newSession()
	s.doc.RepeatsPlanned, s.doc.RepeatsDone = repeats, repeats
	s.doc.Machines = &result.Machines{Count: 2, Confirm: true}
	s.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] *= 1.1 })
	again := newSession()
	again.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] *= factor })
	again.doc.RepeatsPlanned, again.doc.RepeatsDone, again.doc.Launches, again.doc.Gates = repeats, repeats, []result.Launch{}, []result.Gate{}
	for cell := range 2 {
		s.each(cell, func(r *result.Run) { r.Nodes = "gpu-a" })
		again.each(cell, func(r *result.Run) { r.Nodes = "gpu-b" })
	}
	s.doc.Confirmation = result.NewConfirmation(again.doc)
	return s
}

// again changes every run of a cell on the second machine.
func (s session) eachAgain(cell int, change func(*result.Run)) {
	runs := s.doc.Confirmation.Benchmarks[0].Cells[cell].Runs
	for i := range runs {
		change(&runs[i])
	}
}

func TestARegressionCountsOnlyIfItIsConfirmed(t *testing.T) {
	for name, tt := range map[string]struct {
		factor  float64
		change  func(session)
		verdict result.Verdict
		exit    int
		reason  string
	}{
		"confirmed":        {1.08, nil, result.Regression, 1, "; confirmed: +10.0 % on gpu-a, +8.0 % on gpu-b"},
		"not there":        {1, nil, result.Inconclusive, 0, "not confirmed: +10.0 % on gpu-a, 0.0 % on gpu-b (pass)"},
		"below the margin": {1.04, nil, result.Inconclusive, 0, "+4.0 % on gpu-b (pass)"},
		"faster":           {0.9, nil, result.Inconclusive, 0, "−10.0 % on gpu-b (improvement)"},
		"not run again":    {1, func(s session) { s.doc.Confirmation = nil }, result.Inconclusive, 0, "the second machine has not run it"},
		"other cells":      {1.1, func(s session) { s.doc.Confirmation.Benchmarks[0].Cells[0].Hash = "another" }, result.Inconclusive, 0, "gpu-b has not run it"},
		"interrupted":      {1.1, func(s session) { s.doc.Confirmation.Status = result.StatusInterrupted }, result.Inconclusive, 0, "not confirmed yet"},
		"the machine failed": {1.1, func(s session) {
			s.doc.Confirmation.Status, s.doc.Confirmation.StatusReason = result.StatusFailed, "no such host"
		}, result.Inconclusive, 4, "gpu-b failed (no such host); --resume goes on there"},
		"its budget is spent": {1.04, func(s session) {
			s.doc.Confirmation.StoppedBy, s.doc.Confirmation.StatusReason, s.doc.Confirmation.RepeatsPlanned = result.StoppedBudget, "ended after 4 repeats", 2*repeats
		}, result.Inconclusive, 0, "on gpu-b (pass), where the session ended after 4 repeats"},
		"the head fails there": {1.1, func(s session) {
			s.eachAgain(1, func(r *result.Run) { r.Status, r.Metrics = result.RunFailed, nil })
		}, result.Regression, 1, "and on gpu-b the head has no valid run"},
		"requests fail there": {1, func(s session) {
			s.eachAgain(1, func(r *result.Run) { r.Failed = r.Sent / 4 })
		}, result.Regression, 1, "; +10.0 % on gpu-a, and on gpu-b the head fails: 200 of 800 requests of the head failed, 0 of 800 of the base"},
		"requests of both fail there": {1, func(s session) {
			for cell := range 2 {
				s.eachAgain(cell, func(r *result.Run) { r.Failed = r.Sent / 4 })
			}
		}, result.Inconclusive, 0, "0.0 % on gpu-b (pass)"},
		"the base fails there": {1.1, func(s session) {
			s.eachAgain(0, func(r *result.Run) { r.Status, r.Metrics = result.RunFailed, nil })
		}, result.Inconclusive, 4, "what gpu-b measured is missing: the base has no valid run"},
		"void there": {1.1, func(s session) {
			s.eachAgain(1, func(r *result.Run) { r.Status, r.Reason = result.RunVoid, "throttled" })
		}, result.Inconclusive, 4, "what gpu-b measured is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			s := confirmedBy(tt.factor)
			if tt.change != nil {
				tt.change(s)
			}
			if err := Judge(s.plan, s.doc, Options{}); err != nil {
				t.Fatal(err)
			}
			d := s.doc.Gates[0].Decisions[0]
			if d.Verdict != tt.verdict || s.doc.ExitCode != tt.exit || !strings.Contains(d.Reason, tt.reason) {
				t.Errorf("%s, exit status %d: %q, want %s, %d: …%s…", d.Verdict, s.doc.ExitCode, d.Reason, tt.verdict, tt.exit, tt.reason)
			}
			if err := Verify(stored(t, s.doc), nil); err != nil {
				t.Errorf("as it was judged: %v", err)
			}
			// Judged again it is the same.
			if err := Judge(s.plan, s.doc, Options{}); err != nil || s.doc.Gates[0].Decisions[0].Reason != d.Reason {
				t.Errorf("judged again: %q, %v", s.doc.Gates[0].Decisions[0].Reason, err)
			}
		})
	}
}

// What passes on the first machine passes, whatever the second would show, and what fails there is red.
func TestWhatNeedsNoConfirmation(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*result.Run)
		want   result.Verdict
	}{
		"equal":             {func(r *result.Run) { r.Metrics["ttft.p50"] /= 1.1 }, result.Pass},
		"a head that fails": {func(r *result.Run) { r.Status, r.Failed, r.Metrics = result.RunFailed, r.Sent, nil }, result.Regression},
	} {
		s := confirmedBy(1)
		s.doc.Confirmation = nil
		s.each(1, tt.change)
		if red, err := Red(s.plan, s.doc, Options{}); err != nil || len(red) > 0 {
			t.Errorf("%s: %v is to be confirmed, %v", name, red, err)
		}
		if err := Judge(s.plan, s.doc, Options{}); err != nil || s.doc.Verdict != tt.want {
			t.Errorf("%s: %s, want %s (%v)", name, s.doc.Verdict, tt.want, err)
		}
	}
}

// Where an improvement is expected, any significant change for the worse is a regression, and is one on the second
// machine on the same terms: whatever the margin, which may be 0.
func TestARegressionOfAnExpectedImprovementIsConfirmed(t *testing.T) {
	for _, margin := range []metric.Margin{0, 0.2} {
		for factor, want := range map[float64]result.Verdict{1.08: result.Regression, 0.9: result.Inconclusive} {
			s := confirmedBy(factor)
			s.plan.Gates[0].Expect, s.plan.Gates[0].Margin = gates.ExpectImprovement, margin
			if err := Judge(s.plan, s.doc, Options{}); err != nil {
				t.Fatal(err)
			}
			if d := s.doc.Gates[0].Decisions[0]; d.Verdict != want {
				t.Errorf("margin %g, %g on the second machine: %s: %s, want %s", margin, factor, d.Verdict, d.Reason, want)
			}
			if err := Verify(stored(t, s.doc), nil); err != nil {
				t.Errorf("margin %g, %g on the second machine: %v", margin, factor, err)
			}
		}
	}
}

// A confirmation is believed only as far as its own runs give it, on the terms of the first machine.
func TestVerifyFindsAForgedConfirmation(t *testing.T) {
	decision := func(d *result.Document) *result.Decision { return &d.Confirmation.Gates[0].Decisions[0] }
	for name, tt := range map[string]struct {
		factor float64
		forge  func(*result.Document)
		want   string
	}{
		"a verdict of the second": {1.1, func(d *result.Document) {
			decision(d).Verdict, d.Confirmation.Gates[0].Verdict = result.Pass, result.Pass
		}, "the second machine: "},
		"a smaller change":    {1.1, func(d *result.Document) { decision(d).Change = new(0.01) }, "has the change 0.01"},
		"another margin":      {1.1, func(d *result.Document) { d.Confirmation.Gates[0].Margin, decision(d).Margin = 0.2, 0.2 }, "on other terms"},
		"another expectation": {1.1, func(d *result.Document) { d.Confirmation.Gates[0].Expect = result.ExpectImprovement }, "on other terms"},
		"a gate of its own":   {1.1, func(d *result.Document) { d.Confirmation.Gates[0].Addr = "gate.other" }, "the second machine has gate.other"},
		"a red that is none": {1, func(d *result.Document) {
			d.Gates[0].Decisions[0].Verdict, d.Gates[0].Verdict, d.Verdict, d.ExitCode = result.Regression, result.Regression, result.Regression, 1
		}, "its runs give inconclusive"},
		"no second machine at all":    {1.1, func(d *result.Document) { d.Machines.Confirm = false }, "no second machine was to confirm"},
		"a confirmation that is gone": {1.1, func(d *result.Document) { d.Confirmation = nil }, "its runs give inconclusive"},
		"an inconclusive that is red": {1.1, func(d *result.Document) {
			d.Gates[0].Decisions[0].Verdict, d.Gates[0].Verdict, d.Verdict, d.ExitCode = result.Inconclusive, result.Inconclusive, result.Inconclusive, 0
		}, "its runs give regression"},
	} {
		s := confirmedBy(tt.factor)
		if err := Judge(s.plan, s.doc, Options{}); err != nil {
			t.Fatal(err)
		}
		doc := stored(t, s.doc)
		tt.forge(doc)
		if err := Verify(doc, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want …%s…", name, err, tt.want)
		}
	}
}

// A regression that is still to be confirmed settles no gate: what else of the gate waits for repeats would be
// left undecided for one that the second machine does not have.
func TestWhatIsToBeConfirmedSettlesNoGate(t *testing.T) {
	for name, tt := range map[string]struct {
		confirm bool
		change  func(*result.Run) // of the head
		settled bool
	}{
		"on one machine":        {false, nil, true},
		"to be confirmed":       {true, nil, false},
		"requests of it failed": {true, func(r *result.Run) { r.Failed = r.Sent / 2 }, true},
	} {
		s := newSession()
		s.plan.Gates[0].Metrics = []string{"ttft.p50", "ttft.p99"}
		s.plan.Benchmarks[0].RepeatMax, s.plan.Looks, s.plan.Budget = 3*repeats, []int{repeats, 3 * repeats}, &plan.Budget{GPUHours: 1}
		if tt.confirm {
			s.plan.Confirm = &plan.Extra{}
		}
		s.each(1, func(r *result.Run) {
			r.Metrics["ttft.p50"] *= 1.2
			r.Metrics["ttft.p99"] *= 1.05 + 0.1*float64(r.Repeat%2)
			if tt.change != nil {
				tt.change(r)
			}
		})
		look, err := TakeLook(s.plan, s.doc, Options{})
		if err != nil || look.Open == 0 || look.Stop || look.Settled != tt.settled {
			t.Errorf("%s: %+v, want settled %v (%v)", name, look, tt.settled, err)
		}
	}
}
