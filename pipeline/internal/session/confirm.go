package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/pipeline/internal/verdict"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// confirm runs what regressed on the first machine again on the second, where the file asks for that. It is a
// run of a plan of its own, in a directory of its own below that of the run, so that it is resumed by itself:
// what the first machine measured gives the same plan again. An interruption is one of the whole run.
func (s *session) confirm(ctx context.Context, opt engine.Options, outcome *engine.Outcome) error {
	if s.opt.Plan.Confirm == nil || outcome.Status != result.StatusComplete {
		return nil
	}
	judging := verdict.Options(s.opt.Config, s.opt.Plan, s.opt.History)
	red, err := judge.Red(s.opt.Plan, engine.Document(s.opt.Plan, outcome, s.about()), judging)
	if err != nil || len(red) == 0 {
		return err
	}
	p := s.opt.Plan.Confirming(red)
	dir, journal, err := s.confirmation(&opt, p)
	if err != nil {
		return err
	}
	s.info(fmt.Sprintf("%s regressed: run again on the second machine", humanize.Count(len(red), "comparison")))
	opt.Plan, opt.Outputs, opt.Probe, opt.Preflight = p, outcome.Outputs, nil, nil
	opt.Look = func(so *engine.Outcome) (judge.Look, error) {
		return judge.TakeLook(p, engine.Document(p, so, s.about()), judging)
	}
	if b := s.opt.Plan.Budget; b != nil {
		spent, amount := outcome.Spent, 0.0
		if price := s.opt.Plan.Price; price != nil {
			amount = price.Of(spent.MachineHours, spent.GPUHours)
		}
		p.Budget = b.Left(spent, amount)
	}
	again, err := engine.Run(ctx, opt)
	err = errors.Join(err, journal.Close(), dir.Close())
	if err != nil {
		return fmt.Errorf("on the second machine: %w", err)
	}
	s.confirmed = result.NewConfirmation(engine.Document(p, again, s.about()))
	outcome.Ended = again.Ended
	if again.Status == result.StatusInterrupted {
		outcome.Status, outcome.Reason, outcome.Cause = again.Status, again.Reason, again.Cause
	}
	return nil
}

// confirmation opens the directory of a plan on the second machine, or goes on with it where the run was
// resumed, and makes the options those of a run there.
func (s *session) confirmation(opt *engine.Options, p *plan.Plan) (*store.Dir, *store.Journal, error) {
	dir, err := s.confirmDir(opt, p)
	if err != nil {
		return nil, nil, err
	}
	journal, err := dir.Journal()
	if err != nil {
		return nil, nil, errors.Join(err, dir.Close())
	}
	after := 0
	if opt.Resume != nil {
		opt.Resume.Owners = nil // they are in the run's own journal
		after = opt.Resume.Seq
		if m := s.targets.Places.Model(); m != nil {
			m.AdvanceTo(opt.Resume.Last)
		}
	}
	opt.Store, opt.Prefix, opt.Bus = beside{dir, s.dir}, plan.ConfirmPrefix, s.bus.Beside(after, journal)
	for _, view := range s.opt.Views {
		opt.Bus.Attach(masked{view, s.redact})
	}
	return dir, journal, nil
}

// confirmDir makes the directory of a plan on the second machine, with what it holds already. Where the run
// was resumed with more repeats the plan is another one, and the directory, too.
func (s *session) confirmDir(opt *engine.Options, p *plan.Plan) (*store.Dir, error) {
	for n := 1; ; n++ {
		name := "confirm"
		if n > 1 {
			name = fmt.Sprintf("confirm-%d", n)
		}
		at := filepath.Join(s.dir.Path(), name)
		if _, err := os.Stat(filepath.Join(at, store.PlanFile)); errors.Is(err, fs.ErrNotExist) {
			opt.Resume = nil
			if err := os.RemoveAll(at); err != nil { // of a run that was killed before it wrote its plan there
				return nil, fmt.Errorf("the directory of the second machine: %w", err)
			}
			return store.Create(at, s.redact)
		}
		dir, err := store.Resume(at, s.redact)
		if err != nil {
			return nil, err
		}
		opt.Resume, err = engine.LoadState(dir)
		if err == nil && opt.Resume.Plan.Fingerprint == p.Fingerprint {
			return dir, nil
		}
		if err = errors.Join(err, dir.Close()); err != nil {
			return nil, err
		}
	}
}

// beside keeps the plan of a confirmation in a directory of its own, and records and logs among those of the run.
type beside struct {
	engine.Store
	run *store.Dir
}

// WriteRecords implements engine.Store.
func (b beside) WriteRecords(name string, write func(io.Writer) error) (string, error) {
	return b.run.WriteRecords(name, write)
}

// Log implements engine.Store.
func (b beside) Log(name string) (*store.Log, error) { return b.run.Log(name) }
