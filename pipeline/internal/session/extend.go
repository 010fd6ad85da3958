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

// ErrJudged means that a session cannot resume because it was judged when its budget was spent.
var ErrJudged = errors.New("the run was judged when its budget was spent: a single judgement, or one by sessions of the history, spends " +
	"all of alpha, so that no repeats can be added; run again as another attempt, or plan several looks (min below max)")

// resumePlan takes over the plan of the resumed run. It may add repeats; the engine rejects any other
// difference.
func (s *session) resumePlan() error {
	p, before := s.opt.Plan, s.earlier.Plan
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

// judgedOnce returns ErrJudged for a session that ended by its budget and was then judged by a method that
// judges once.
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

// extend stores the longer plan before anything is measured with it.
func (s *session) extend(planned int) error {
	taken := func(l engine.Launched) bool { return l.Repeat > planned && l.Repeat <= len(s.opt.Plan.Repeats) }
	if slices.ContainsFunc(s.earlier.Launched, taken) { // by an earlier version
		return fmt.Errorf("void runs were measured again as repeats from %d on, so no repeats can be added; run again as another attempt",
			planned+1)
	}
	if err := s.dir.WriteJSON(store.PlanFile, s.opt.Plan); err != nil {
		return err
	}
	s.earlier.Plan = s.opt.Plan
	return nil
}
