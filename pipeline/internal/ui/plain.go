package ui

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/steps"
)

// plain writes one line per change of state, after the time since the start.
type plain struct {
	out   sink
	opt   Options
	state state
}

// NewPlain returns the view for logs, without redrawing, and without colours unless requested.
func NewPlain(w io.Writer, opt Options) View {
	return &plain{out: sink{w: w}, opt: opt}
}

func (v *plain) Handle(e event.Event) {
	v.state.handle(e)
	lines := milestones(e)
	if len(lines) == 0 {
		lines = v.stage(e)
	}
	v.out.write(v.render(e.Time, lines))
}

// stage returns the lines for an intermediate change, which a terminal shows in its live area, or for a
// heartbeat.
func (v *plain) stage(e event.Event) []line {
	switch e.Type {
	case event.Version:
		return []line{{neutral, join(", run ", join(" ", "pipeline", name(e.Program)), name(e.RunID))}}
	case event.StepStart:
		return []line{{neutral, name(e.Addr) + " started"}}
	case event.LaunchStart:
		return []line{{neutral, join(", ", name(e.Target)+" is starting", repeatName(e))}}
	case event.LaunchState:
		if e.State == steps.StateReady {
			return nil // for a target with one member, readiness follows with its duration
		}
		return []line{{neutral, join(": ", name(e.Target), name(e.State))}}
	case event.LaunchStop:
		return []line{{neutral, name(e.Target) + " is stopped"}}
	case event.RunStart:
		return []line{{neutral, runName(e) + " started"}}
	case event.RepeatEnd:
		return []line{{neutral, repeatName(e) + " is done"}}
	case event.Heartbeat:
		return []line{{neutral, v.alive(e.Time)}}
	}
	return nil
}

// alive describes the current activity.
func (v *plain) alive(now time.Time) string {
	s := &v.state
	var parts []string
	if s.step != nil {
		parts = append(parts, s.step.text(now))
	}
	if s.launch != nil && s.run == nil {
		parts = append(parts, s.launch.text(now))
	}
	if s.run != nil {
		parts = append(parts, s.run.text(now))
		if p := s.running; p != nil {
			parts = append(parts, fmt.Sprintf("%d/%d sent, %d failed, %d in flight", p.Sent, p.Total, p.Failed, p.InFlight))
		}
	}
	if s.total > 0 {
		parts = append(parts, fmt.Sprintf("run %d/%d", s.index, s.total))
	}
	if at := s.sideBySide(); at != "" {
		parts = append(parts, at)
	}
	if left, known := s.remaining(now); known && s.doneRuns < s.total {
		parts = append(parts, about(left)+" left")
	}
	return join(": ", "still going", strings.Join(parts, ", "))
}

// render formats lines. On a GitHub runner the lines of a log become a group.
func (v *plain) render(at time.Time, lines []line) string {
	var b strings.Builder
	grouped := false
	for _, l := range lines {
		if v.opt.GitHubActions && grouped != (l.tone == logged) {
			grouped = !grouped
			if grouped {
				b.WriteString("::group::last lines of the log\n")
			} else {
				b.WriteString("::endgroup::\n")
			}
		}
		b.WriteString(escape.Commands(v.prefix(at, l.tone)+paint(v.opt.Color, l.tone, l.text)) + "\n")
	}
	if grouped {
		b.WriteString("::endgroup::\n")
	}
	return b.String()
}

// prefix returns the time, or spaces of the same width.
func (v *plain) prefix(at time.Time, t tone) string {
	stamp := fmt.Sprintf("%7s  ", clock(v.state.elapsed(at)))
	switch t {
	case detail:
		return strings.Repeat(" ", len(stamp)) + "  "
	case logged:
		return strings.Repeat(" ", len(stamp)) + "  | "
	}
	return stamp
}

// Close ends the view.
func (v *plain) Close() error { return closeError(v.out.err) }

func closeError(err error) error {
	if err != nil {
		return fmt.Errorf("show progress: %w", err)
	}
	return nil
}
