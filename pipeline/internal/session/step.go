package session

import (
	"context"
	"errors"
)

// step is one step of a run.
type step struct {
	name string
	// skip reports whether the step is unnecessary in this run; nil means never.
	skip func(*session) bool
	do   func(*session, context.Context) error
	// always means that the step runs even after another has failed.
	always bool
}

// repeat returns a step that runs steps in turn until one of them is skipped.
func repeat(turn ...step) step {
	return step{name: turn[0].name, do: func(s *session, ctx context.Context) error {
		for {
			for _, one := range turn {
				if one.skip != nil && one.skip(s) {
					return nil
				}
				if err := one.do(s, ctx); err != nil {
					return err
				}
			}
		}
	}}
}

// carryOut runs steps in order.
func (s *session) carryOut(ctx context.Context, list []step) {
	for _, one := range list {
		if s.err != nil && !one.always || one.skip != nil && one.skip(s) {
			continue
		}
		s.err = errors.Join(s.err, one.do(s, ctx))
	}
}
