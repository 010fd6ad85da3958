package session

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// ErrJudged refuses to go on with a session that was judged when its budget was spent.
var ErrJudged = errors.New("the run was judged when its budget was spent: a single judgement, or one by sessions of the history, spends " +
	"all of alpha, so that no repeats can be added; run again as another attempt, or plan several looks (min below max)")

// resumePlan makes the plan that of the run that is resumed. More repeats at most are added
// to it; any other difference is left for the engine to refuse.
func (s *session) resumePlan() error {
	p, before := s.opt.Plan, s.state.Plan
	if err := s.judgedOnce(before); err != nil {
		return err
	}
	planned := len(before.Repeats)
	known, err := p.Continue(before)
	if err == nil && known && len(p.Repeats) > planned {
		err = s.extend(planned)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", engine.ErrPlanChanged, err)
	}
	return nil
}

// judgedOnce refuses to go on with a session that its budget has ended and that was judged then by
// what is judged once.
func (s *session) judgedOnce(before *plan.Plan) error {
	if !before.JudgedOnce() {
		return nil
	}
	doc, err := store.ReadDocument(s.dir.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was never judged
	}
	if err == nil && doc.StoppedBy == result.StoppedBudget {
		err = ErrJudged
	}
	return err
}

// extend notes the longer plan before anything is measured by it.
func (s *session) extend(planned int) error {
	taken := func(l engine.Launched) bool { return l.Repeat > planned && l.Repeat <= len(s.opt.Plan.Repeats) }
	if slices.ContainsFunc(s.state.Launched, taken) { // by an earlier version
		return fmt.Errorf("void runs were measured again as repeats from %d on, so no repeats can be added; run again as another attempt",
			planned+1)
	}
	if err := s.dir.WriteJSON(store.PlanFile, s.opt.Plan); err != nil {
		return err
	}
	s.state.Plan = s.opt.Plan
	return nil
}
