package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// pauseTimeout bounds how long a query for pauses may take.
const pauseTimeout = 10 * time.Second

// followPauses watches for pauses of a member until its launch has ended.
func (s *server) followPauses(ctx context.Context, m *member) {
	watch := m.capabilities().WatchPauses
	if watch == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.releases = append(s.releases, cancel)
	m.paused = watch(ctx)
}

// askPauses records why the members of a target were paused since its last call.
func (r *runner) askPauses(ctx context.Context, s *server) {
	limited, cancel := context.WithTimeout(ctx, pauseTimeout)
	defer cancel()
	var mu sync.Mutex
	s.paused = ""
	each(s.members, func(m *member) {
		if m.paused == nil {
			return
		}
		why, err := m.paused(limited)
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() == nil && err != nil && r.first(r.warned, "pauses of "+m.label(s.Target)) {
			r.warn(fmt.Sprintf("%s: whether it was paused during a run is not known: %v", m.label(s.Target), err))
		}
		if s.paused == "" && why != "" {
			s.paused = m.label(s.Target) + ": " + r.o.Redact.String(why)
		}
	})
}

// watchPauses voids a run whose servers were paused. It also voids a run whose launch was paused before it was ready,
// since start-up time is a metric of the run. Failures in such a run are attributed to the pause.
func (r *runner) watchPauses(_ context.Context, s *server, _ *watch) Watcher {
	return Watcher{
		Before:  func(ctx context.Context) { r.askPauses(ctx, s) }, // discards the pauses before the run
		After:   func(ctx context.Context, _ time.Duration) { r.askPauses(ctx, s) },
		Excuses: true,
		Void: func() (result.VoidCause, string) {
			reason := s.paused
			if reason == "" && s.pausedStart != "" {
				reason = "while it started, " + s.pausedStart
			}
			return result.VoidSuspended, reason
		},
	}
}

// failedPaused returns the pause of a target as the cause of a fault, or nil if it was not paused.
func (r *runner) failedPaused(ctx context.Context, s *server, f *fault) error {
	if s.paused == "" {
		r.askPauses(ctx, s)
	}
	if s.paused == "" {
		return nil
	}
	return &machineError{&steps.EvictionError{Class: steps.EvictionSuspended, Reason: fmt.Sprintf("%s; it failed after that: %s",
		s.paused, r.o.Redact.String(f.err.Error()))}}
}
