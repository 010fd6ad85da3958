package ui

import (
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
)

// lane is a launch with the run that goes on in it. Where repeats run side by side, one of
// them is shown from its beginning to its end, and then another.
type lane struct {
	id      string // of the launch
	launch  *activity
	run     *activity
	running *event.Progress
}

// shown reports whether an event is of the launch that is shown; a launch is, once no other is.
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

// over forgets a launch that has ended.
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

// serves fills in the launch where its beginning was not seen.
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
	if e.Repeat > 0 {
		s.run.state = repeatName(e)
	}
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

// sideBySide says how many launches go on at once, "" for one.
func (s *state) sideBySide() string {
	if len(s.beside) == 0 {
		return ""
	}
	return launchCount(len(s.beside)+1) + " side by side"
}
