package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/store"
)

// resumes reports whether the session resumes a run.
func (s *session) resumes() bool { return s.opt.Resume }

// begins reports whether the session starts a new run.
func (s *session) begins() bool { return !s.opt.Resume }

// resume opens the run directory of an interrupted run and reads what it has done.
func (s *session) resume(context.Context) (err error) {
	if s.dir, err = store.Resume(s.opt.Out, s.redact); errors.Is(err, store.ErrNotRun) {
		return fmt.Errorf("%w; nothing was begun there: run without --resume", err)
	} else if err != nil {
		return err
	}
	if s.earlier, err = engine.Replay(s.dir); err != nil {
		return err
	}
	s.runID = s.earlier.RunID
	if err := s.resumeSource(); err != nil {
		return err
	}
	return s.resumePlan()
}
