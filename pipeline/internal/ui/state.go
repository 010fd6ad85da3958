package ui

import (
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
)

// state is what is going on, folded from the events. Its texts are safe to print.
type state struct {
	file      string
	simulated bool
	// interrupted is set if the rest is cleaning up.
	interrupted bool
	began       time.Time // first event

	verdict        result.Verdict
	judged         bool
	failedLaunches int
	failedRuns     int
	voidRuns       int

	step *activity
	lane // the launch that is shown
	// beside are launches that run side by side with it.
	beside map[string]bool

	index, total int     // of runs
	doneRuns     int     // runs that have ended, or were skipped
	left         float64 // estimate in seconds
	leftAt       time.Time
}

// activity is something that takes time.
type activity struct {
	name  string
	state string
	since time.Time
}

func (s *state) handle(e event.Event) {
	if s.began.IsZero() {
		s.began = e.Time
	}
	s.schedule(e)
	switch e.Type {
	case event.PlanReady:
		s.file = name(e.Text)
		if e.Plan != nil {
			s.simulated = e.Plan.Simulated != ""
			s.total = e.Plan.Runs
			s.left, s.leftAt = e.Plan.Seconds, e.Time
		}
	case event.StepStart:
		s.step = &activity{name(e.Addr), "running", e.Time}
	case event.StepEnd:
		s.step = nil
	case event.LaunchStart, event.LaunchState, event.LaunchReady, event.LaunchFail, event.LaunchStop:
		s.handleLaunch(e)
	case event.RunStart, event.RunProgress, event.RunEnd:
		s.handleRun(e)
	case event.Interrupted:
		s.interrupted = true
	case event.GateResult:
		s.verdict, s.judged = worse(s.judged, s.verdict, e.Verdict), true
	case event.Summary:
		s.verdict, s.judged = e.Verdict, e.Verdict != ""
	}
}

func worse(judged bool, a, b result.Verdict) result.Verdict {
	if !judged {
		return b
	}
	return result.Worst(a, b)
}

// schedule takes over what any event says about the schedule.
func (s *state) schedule(e event.Event) {
	if e.Total > 0 {
		s.index, s.total = e.Index, e.Total
		done := e.Index - 1 // behind the last run the index stays where it is
		if e.Type == event.RunEnd {
			done = e.Index
		}
		s.doneRuns = max(s.doneRuns, done)
	}
	if e.Left > 0 || e.Elapsed > 0 {
		s.left, s.leftAt = e.Left, e.Time
	}
}

// elapsed and remaining seconds at a time. The estimate runs down between events.
func (s *state) elapsed(now time.Time) float64 {
	if s.began.IsZero() {
		return 0
	}
	return max(0, now.Sub(s.began).Seconds())
}

func (s *state) remaining(now time.Time) (seconds float64, known bool) {
	if s.leftAt.IsZero() {
		return 0, false
	}
	return max(0, s.left-now.Sub(s.leftAt).Seconds()), true
}
