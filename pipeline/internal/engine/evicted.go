package engine

import (
	"context"
	"errors"

	"github.com/servegate/pipeline/steps"
)

// excuse replaces a fault by the loss or the pause of the target's place, if there was one.
func (r *runner) excuse(ctx context.Context, s *server, f *fault) *fault {
	err := s.evicted(ctx, f)
	if err == nil {
		err = r.failedPaused(ctx, s, f)
	}
	if err == nil {
		return f
	}
	return &fault{phase: f.phase, class: f.class, err: err}
}

// evicted returns the loss of a place that keeps a target from serving, nil if every member has its place. It is the
// machine's fault, whatever else failed.
func (s *server) evicted(ctx context.Context, f *fault) error {
	if lost, ok := errors.AsType[*steps.EvictionError](f.err); ok {
		return &machineError{lost}
	}
	for _, m := range s.members {
		if evicted := m.capabilities().Evicted; evicted != nil {
			if err := evicted(ctx); err != nil {
				return &machineError{err}
			}
		}
	}
	return nil
}
