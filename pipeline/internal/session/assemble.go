package session

import (
	"context"
	"log/slog"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/pipeline/internal/target"
)

// assemble connects journal, views, places and machine, and starts the journal.
func (s *session) assemble(context.Context) (err error) {
	if s.journal, err = s.dir.Journal(); err != nil {
		return err
	}
	after := 0
	if s.earlier != nil {
		after = s.earlier.Seq
	}
	s.bus = event.NewBus(func() time.Time { return s.now() }, after, s.journal)
	for _, view := range s.opt.Views {
		s.journal.Show(view)
	}
	s.spawner = spawn.New(spawn.Options{Environ: s.opt.Environ, OnSpawn: engine.JournalSpawn(s.bus, spawn.Owner())})
	targets, err := s.resolver()
	if err != nil {
		return err
	}
	s.targets = targets
	s.machine = newHardware(s.opt, s.targets)
	owner := spawn.Owner()
	if m := s.targets.Places.Model(); m != nil {
		owner, s.now = "", m.Now
		s.dir.Modelled()
		if s.earlier != nil {
			m.AdvanceTo(s.earlier.Last)
		}
	}
	s.bus.Start(s.opt.Version, s.runID, owner)
	return nil
}

// resolver returns the resolver of the plan's targets in the places of this session.
func (s *session) resolver() (target.Resolver, error) {
	return resolver(s.opt, place.Options{
		RunID: s.runID, Resumed: s.earlier != nil, Redact: s.redact, Spawner: s.spawner,
		Folder: func(name string) (string, error) { return s.dir.Folder(name) },
		Info:   s.info, Warn: s.warn, Log: slog.New(warnings{bus: s.bus}),
	})
}

// resolver adds a session's options to those of places, and makes the places that its plan needs.
func resolver(opt Options, at place.Options) (target.Resolver, error) {
	at.Plan, at.Self, at.Version = opt.Plan, opt.Self, opt.Version
	at.Environ, at.Now, at.Allow, at.Connectors = opt.Environ, opt.Now, opt.Allow, opt.Connectors
	r := target.Resolver{
		Plan: opt.Plan, Engines: opt.Engines, Connectors: opt.Connectors,
		Places: place.NewSet(opt.Places, at), Folder: at.Folder,
	}
	return r, r.Places.Prepare(r.Planned())
}
