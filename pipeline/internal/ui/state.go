package ui

import (
	"cmp"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// state is the current state, computed from the events. Its texts are safe to print.
type state struct {
	file      string
	simulated bool
	// interrupted means that only cleaning up remains.
	interrupted bool
	began       time.Time // time of the first event

	verdict        result.Verdict
	judged         bool
	failedLaunches int
	failedRuns     int
	voidRuns       int

	step *activity
	lane // the displayed launch
	// beside holds the launches that run concurrently with it.
	beside map[string]bool

	index, total int     // of runs
	doneRuns     int     // runs that ended or were skipped
	left         float64 // estimate in seconds
	leftAt       time.Time
}

// activity is something that lasts.
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
	case event.ImageStart:
		s.step = imageActivity(e)
	case event.StepEnd, event.ImageReady:
		s.step = nil
	case event.LaunchStart, event.LaunchState, event.LaunchReady, event.LaunchFail, event.LaunchStop:
		s.handleLaunch(e)
	case event.RunStart, event.RunProgress, event.RunEnd:
		s.handleRun(e)
	case event.Interrupted:
		s.interrupted = true
	case event.GateResult:
		if !s.judged {
			s.verdict = e.Verdict
		}
		s.verdict, s.judged = result.Worst(s.verdict, e.Verdict), true
	case event.Summary:
		s.verdict, s.judged = e.Verdict, e.Verdict != ""
	}
}

// imageActivity returns the activity of pulling an image.
func imageActivity(e event.Event) *activity {
	if e.Image == nil {
		return nil
	}
	return &activity{"image " + name(e.Image.Image), "pulling", e.Time}
}

// schedule updates the schedule from any event.
func (s *state) schedule(e event.Event) {
	if e.Total > 0 {
		s.index, s.total = e.Index, e.Total
		done := e.Index - 1 // after the last run the index stays constant
		if e.Type == event.RunEnd {
			done = e.Index
		}
		s.doneRuns = max(s.doneRuns, done)
	}
	if e.Left > 0 || e.Elapsed > 0 {
		s.left, s.leftAt = e.Left, e.Time
	}
}

// elapsed and remaining return seconds. The estimate decreases between events.
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

// lane is a launch with its current run. If repeats run concurrently, one is displayed from start to end, then
// another.
type lane struct {
	id      string // of the launch
	launch  *activity
	run     *activity
	running *event.Progress
}

// shown reports whether an event belongs to the displayed launch. If none is displayed, it selects the event's.
func (s *state) shown(e event.Event) bool {
	if s.launch == nil && s.run == nil {
		s.lane = lane{id: e.Launch}
		delete(s.beside, e.Launch)
	}
	if s.id == e.Launch {
		return true
	}
	if s.beside == nil {
		s.beside = map[string]bool{}
	}
	s.beside[e.Launch] = true
	return false
}

// over removes a launch that has ended.
func (s *state) over(e event.Event) {
	delete(s.beside, e.Launch)
	if s.id == e.Launch {
		s.lane = lane{}
	}
}

func (s *state) handleLaunch(e event.Event) {
	switch e.Type {
	case event.LaunchFail:
		s.failedLaunches++
		s.over(e)
		return
	case event.LaunchStop:
		s.over(e)
		return
	}
	if !s.shown(e) {
		return
	}
	switch e.Type {
	case event.LaunchStart:
		s.launch = &activity{name(e.Target), "starting", e.Time}
	case event.LaunchState:
		s.serves(e.Target, e.Time)
		s.launch.state = name(e.State)
	case event.LaunchReady:
		s.launch = &activity{name(e.Target), "serving", e.Time}
	}
}

// serves sets the launch if its start was not seen.
func (s *state) serves(target string, at time.Time) {
	if s.launch == nil {
		s.launch = &activity{name(target), "serving", at}
	}
}

func (s *state) handleRun(e event.Event) {
	if e.Type == event.RunEnd {
		s.ran(e)
		return
	}
	if !s.shown(e) {
		return
	}
	if s.run == nil {
		s.run = &activity{since: e.Time}
	}
	s.run.name = cellName(e)
	s.run.state = cmp.Or(repeatName(e), s.run.state)
	if e.Progress != nil {
		p := *e.Progress
		s.running = &p
	}
	if e.Target != "" {
		s.serves(e.Target, e.Time)
	}
}

// ran counts a run that has ended.
func (s *state) ran(e event.Event) {
	if s.id == e.Launch {
		s.run, s.running = nil, nil
	}
	if e.Run == nil {
		return
	}
	switch e.Run.Status {
	case result.RunFailed:
		s.failedRuns++
	case result.RunVoid:
		s.voidRuns++
	}
}

// sideBySide describes how many launches run concurrently, "" for one.
func (s *state) sideBySide() string {
	if len(s.beside) == 0 {
		return ""
	}
	return humanize.Count(len(s.beside)+1, "launch") + " side by side"
}
