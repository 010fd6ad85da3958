package session

import (
	"context"

	"github.com/servegate/pipeline/pipeline/internal/machine"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
)

// lock waits for the resources that the run needs exclusively: the lock of the file, and the GPUs.
func (s *session) lock(ctx context.Context) error {
	locks := machine.Locks{Getenv: spawn.Getenv(s.opt.Environ), RunID: s.runID, File: s.opt.Plan.File, Now: s.now, Warn: s.warn}
	named, err := locks.Named(ctx, s.opt.Plan.Config.Settings.Lock, s.opt.Plan.Config.Folder)
	if err != nil {
		return err
	}
	gpus, err := locks.GPUs(ctx, s.machine.needs, s.machine.prober)
	if err != nil {
		named()
		return err
	}
	s.locked = func() { gpus(); named() }
	return nil
}

// unlocked reports whether the run holds no locks.
func (s *session) unlocked() bool { return s.locked == nil }

// unlock releases the locks.
func (s *session) unlock(context.Context) error {
	s.locked()
	s.locked = nil
	return nil
}
