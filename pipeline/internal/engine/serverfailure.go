package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
	engines "github.com/servegate/pipeline/steps/engine"
)

// fail stops a server that does not serve and returns the failure. It returns an error if the server is not the cause,
// so that the run must end.
func (r *runner) fail(ctx context.Context, s *server, f *fault) (*result.Failure, error) {
	if config, ok := errors.AsType[*ConfigError](f.err); ok {
		return nil, r.abandon(ctx, s, config)
	}
	if ctx.Err() != nil {
		return nil, r.abandon(ctx, s, context.Cause(ctx))
	}
	if machine, ok := errors.AsType[*machineError](f.err); ok {
		return nil, r.abandon(ctx, s, machine)
	}
	exits, starved := s.exits(), s.starved(ctx)
	err := r.stop(ctx, s)
	r.held(s)
	s.launch.Failure = r.failure(s, f, exits, starved)
	r.keep(s)
	if crowded := s.crowded(s.launch.Failure); crowded != nil {
		return nil, errors.Join(crowded, err)
	}
	r.emit(s, event.Event{
		Type: event.LaunchFail, Started: s.snapshot(), Failure: s.launch.Failure, Range: &s.launch.Failure.Range,
		Text: fmt.Sprintf("%s: %s (%s): %s", s.Target, phaseText(f.phase), s.launch.Failure.Class, s.launch.Failure.Evidence),
	})
	return s.launch.Failure, errors.Join(err, r.bus.Err())
}

// exits returns how members have ended by themselves, by name. Processes that exit after this call were stopped by us.
func (s *server) exits() map[string]string {
	out := map[string]string{}
	for _, m := range s.members {
		if m.running == nil {
			continue
		}
		select {
		case <-m.running.Done():
			out[m.Name] = m.running.ExitState()
		default:
		}
	}
	return out
}

// failure determines the cause from the logs, which must be closed, from what a launcher reported, or from the fault
// itself.
func (r *runner) failure(s *server, f *fault, exits map[string]string, starved []memberError) *result.Failure {
	m, class, evidence := s.cause(f, starved)
	if !m.alone && !strings.HasPrefix(evidence, m.Name+": ") {
		evidence = m.Name + ": " + evidence
	}
	at := m.Range
	if at.File == "" {
		at = s.target.Range
	}
	return &result.Failure{
		Phase: f.phase, Class: class, Evidence: r.o.Redact.String(evidence), Exit: exits[m.Name],
		LogTail: m.log.Tail(), Range: at,
	}
}

// cause returns the member that is to blame, with the class and evidence from its log. It starts with the member of the
// fault, and tries the others if that log shows no cause. The kernel's report of killed processes takes precedence over
// a symptom in a log.
func (s *server) cause(f *fault, starved []memberError) (m *member, class, evidence string) {
	first := blamed(f.err)
	if first == nil {
		first = s.front
	}
	class, evidence = first.Engine.Classify(first.output.last())
	if unknown(class) && f.class == startFailed {
		// A container daemon without a GPU driver fails before there is a log.
		class, evidence = first.Engine.Classify([]string{f.err.Error()})
	}
	if engines.Symptom(class) && len(starved) > 0 {
		i := max(0, slices.IndexFunc(starved, func(e memberError) bool { return e.member == first }))
		return starved[i].member, hostMemory, starved[i].err.Error()
	}
	if !unknown(class) {
		return first, class, evidence
	}
	for _, m := range s.members {
		if m == first || m.running == nil {
			continue
		}
		if class, evidence := m.Engine.Classify(m.output.last()); !unknown(class) {
			return m, class, evidence
		}
	}
	return first, f.class, f.err.Error()
}

// hostMemory is the class of a server that ran out of the machine's memory.
const hostMemory = "host_out_of_memory"

// starved returns the members with processes that the kernel has killed for lack of memory.
func (s *server) starved(ctx context.Context) (found []memberError) {
	for _, m := range s.members {
		if starved := m.capabilities().Starved; starved != nil {
			if text := starved(ctx); text != "" {
				found = append(found, memberError{m, errors.New(text)})
			}
		}
	}
	return found
}

func unknown(class string) bool { return class == "" || class == "unknown" }
