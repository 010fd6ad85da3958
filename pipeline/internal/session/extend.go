package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/store"
)

// resumePlan makes the plan that of the run that is resumed. More repeats at most are added
// to it; any other difference is left for the engine to refuse.
func (s *session) resumePlan() error {
	p, before := s.opt.Plan, s.state.Plan
	planned := len(before.Repeats)
	known, err := p.Continue(before)
	if err == nil && known && len(p.Repeats) > planned {
		err = s.extend(planned)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%w: %w", engine.ErrPlanChanged, err), s.dir.Close())
	}
	return nil
}

// extend notes the longer plan before anything is measured by it.
func (s *session) extend(planned int) error {
	taken := func(l engine.Launched) bool { return l.Repeat > planned && l.Repeat <= len(s.opt.Plan.Repeats) }
	if slices.ContainsFunc(s.state.Launched, taken) { // by an earlier version
		return fmt.Errorf("void runs were measured again as repeats from %d on, so no repeats can be added; run again as another attempt", planned+1)
	}
	if err := s.dir.WriteJSON(store.PlanFile, s.opt.Plan); err != nil {
		return err
	}
	s.state.Plan = s.opt.Plan
	return nil
}
