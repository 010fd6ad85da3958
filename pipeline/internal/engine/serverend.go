package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
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
	r.leaveCaches(s)
	crowded := s.crowded(s.launch.Failure)
	r.emit(s, event.Event{
		Type: event.LaunchFail, Started: s.snapshot(), Failure: s.launch.Failure, Range: &s.launch.Failure.Range,
		Text: fmt.Sprintf("%s: %s (%s): %s", s.Target, phaseText(f.phase), s.launch.Failure.Class, s.launch.Failure.Evidence),
	})
	if crowded != nil {
		return nil, errors.Join(crowded, err)
	}
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

// end stops a server that has finished its runs.
func (r *runner) end(ctx context.Context, s *server) error {
	err := r.stop(ctx, s)
	r.held(s)
	r.leaveCaches(s)
	text := s.Target + " is stopped"
	if s.front.Spec.URL != "" {
		text = s.Target + " is left as it is"
	}
	r.emit(s, event.Event{Type: event.LaunchStop, Started: s.snapshot(), Text: text})
	return errors.Join(err, r.bus.Err())
}

// abandon stops a server because the whole run must end. It returns cause and reports errors of the stop as a warning.
func (r *runner) abandon(ctx context.Context, s *server, cause error) error {
	if err := r.end(ctx, s); err != nil {
		r.warn(err.Error())
	}
	return cause
}

// held records for how long an ended launch has held its machines. A launch that did not begin, or a server that ran
// before us, has held none.
func (r *runner) held(s *server) {
	if !s.began.IsZero() && s.front.Spec.URL == "" {
		s.launch.Held = r.had(s).Seconds()
	}
}

// stop stops all members, closes their logs and waits until the machine is free again. An error means that a process
// still runs or that a log is incomplete: no later result can be trusted.
func (r *runner) stop(ctx context.Context, s *server) error {
	told, cancel := stopContext(ctx)
	defer cancel()
	var errs []error
	for _, group := range s.teardown(ctx) {
		errs = append(errs, s.stopGroup(told, group)...)
	}
	s.release()
	errs = append(errs, s.closeLogs(), r.vacate(ctx, s))
	return errors.Join(errs...)
}

// teardown returns the running members in groups that are stopped one after the other. First the router, so that no new
// requests arrive. Then the servers that decode, before those that hold their KV cache. Then those that prefill, and
// the further nodes of servers, whose first process ends them in order. Last the services. After ctx has ended all are
// stopped at once.
func (s *server) teardown(ctx context.Context) [][]*member {
	groups := make([][]*member, 4)
	for _, m := range slices.Backward(s.members) {
		if m.running == nil {
			continue
		}
		n := 1
		switch {
		case ctx.Err() != nil, m.Role == result.RoleRouter:
			n = 0
		case m.Role == steps.RoleProducer, m.Role == result.RoleNode:
			n = 2
		case m.Role == result.RoleService:
			n = 3
		}
		groups[n] = append(groups[n], m)
	}
	return groups
}

// stopGroup stops members at the same time.
func (s *server) stopGroup(ctx context.Context, group []*member) []error {
	errs := make([]error, len(s.members))
	each(group, func(m *member) {
		grace := m.Spec.StopGrace
		if grace <= 0 {
			grace = steps.DefaultStopGrace
		}
		ctx, cancel := context.WithTimeout(ctx, grace+stopMargin)
		defer cancel()
		if err := m.running.Stop(ctx); err != nil {
			errs[slices.Index(s.members, m)] = fmt.Errorf("%s could not be stopped: %w", m.label(s.Target), err)
		}
	})
	return errs
}

// stopContext returns a context for stopping. It ends a few seconds after ctx ends, be it before or during the stop. A
// launcher kills its process when the context ends.
func stopContext(ctx context.Context) (context.Context, context.CancelFunc) {
	stopping, cancel := context.WithCancel(context.WithoutCancel(ctx))
	told := context.AfterFunc(ctx, func() { time.AfterFunc(interruptGrace, cancel) })
	return stopping, func() { told(); cancel() }
}
