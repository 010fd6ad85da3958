package session

import (
	"context"
	"errors"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/place"
)

// check reports, before anything starts, which parts of the plan cannot be run.
func (s *session) check(context.Context) error {
	opt := s.opt
	var found []error
	err := inFolder(func(folder func(string) (string, error)) error {
		r, err := resolver(opt, place.Options{RunID: "check", Folder: folder})
		if err == nil {
			found = r.Check(opt.Front != nil)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, b := range opt.Plan.Config.Benchmarks {
		if err := driven(opt, b); err != nil {
			found = append(found, &engine.ConfigError{Addr: b.Addr, Err: err})
		}
	}
	for _, g := range opt.Plan.Gates {
		if err := judge.CheckBaseline(opt.Plan, g); err != nil {
			found = append(found, &engine.ConfigError{Addr: g.Addr, Err: err})
		}
	}
	return errors.Join(found...)
}
