package session

import (
	"context"

	"github.com/servegate/pipeline/pipeline/internal/judge"
)

// noLookDue reports whether no look of the plan is due, which ends the measurement.
func (s *session) noLookDue() bool { return !s.lookDue }

// look judges the measurements so far, and ends the measurement if more would not change a decision.
func (s *session) look(context.Context) error {
	doc := s.measured(s.measurement.Outcome())
	s.measurement.Take(judge.TakeLook(s.opt.Plan, doc, judge.OptionsOf(s.opt.Plan, s.opt.History)))
	return nil
}
