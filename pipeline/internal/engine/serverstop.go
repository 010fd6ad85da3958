package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// end stops a server that has finished its runs.
func (r *runner) end(ctx context.Context, s *server) error {
	err := r.stop(ctx, s)
	r.held(s)
	r.keep(s)
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

// keep adds the attempt to its launch.
func (r *runner) keep(s *server) {
	r.leaveCaches(s)
	s.got.Attempts = append(s.got.Attempts, *s.snapshot())
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
