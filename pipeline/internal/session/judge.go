package session

import (
	"cmp"
	"context"

	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// judge judges the result.
func (s *session) judge(context.Context) error {
	if err := judge.Judge(s.opt.Plan, s.doc, judge.OptionsOf(s.opt.Plan, s.opt.History)); err != nil {
		return err
	}
	if s.opt.InterruptCode != nil && s.doc.Status == result.StatusInterrupted {
		s.doc.ExitCode = cmp.Or(s.opt.InterruptCode(s.outcome.Cause), s.doc.ExitCode)
	}
	s.judged = true
	return nil
}

// unjudged reports whether the run has no verdict.
func (s *session) unjudged() bool { return !s.judged }
