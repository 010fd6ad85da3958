package session

import (
	"context"
	"os"
	"path/filepath"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/machine"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/pipeline/internal/target"
	"github.com/servegate/pipeline/pipeline/internal/verdict"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/process"
)

// measure carries the plan out in its places, and returns what else is to be warned of.
func (s *session) measure(ctx context.Context) (*engine.Outcome, []string, error) {
	opt := engine.Options{
		Plan: s.opt.Plan, Store: s.dir, Bus: s.bus, Target: s.targets.Resolve,
		Step: s.step, Now: s.now,
		Redact: s.redact, KeepGoing: s.opt.KeepGoing, Resume: s.state,
	}
	if m := s.targets.Places.Model(); m != nil {
		opt.Ports, opt.Load, opt.Drive, opt.Lane = m.Ports, m.Load, modelled(0), s.lanes(s.targets)
		outcome, err := engine.Run(ctx, opt, s.look)
		if err != nil {
			return outcome, nil, err
		}
		s.profile(ctx, opt, outcome)
		return outcome, m.Notes(outcome), nil
	}
	return s.measureForReal(ctx, opt)
}

// measureForReal measures on machines, which others may want, too.
func (s *session) measureForReal(ctx context.Context, opt engine.Options) (*engine.Outcome, []string, error) {
	release, err := s.lock(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	places := s.targets.Places
	if err := places.Open(ctx); err != nil {
		return nil, nil, err
	}
	opt.Ports, opt.Load, opt.Lane = new(process.Ports), s.load, s.lanes(s.targets)
	opt.Env = steps.ActionEnv{Spawner: s.spawner, Dir: s.opt.Dir}
	opt.Cache, opt.Front, opt.Drive = s.cache(), s.opt.Front, s.drive
	opt.Probe = func(ctx context.Context) map[string]string { return places.Facts(machine.Facts(ctx, s.spawner)) }
	opt.Preflight, opt.Machine, opt.NICs = s.preflight, s.watcher(), s.nics(ctx)
	opt.EndLeft, opt.Secrets = machine.EndLeft, s.opt.Config.SecretsOf
	outcome, err := engine.Run(ctx, opt, s.look)
	if err == nil {
		s.profile(ctx, opt, outcome)
	}
	if err := places.Close(ctx); err != nil { // before what is left counts as astray
		s.warn(err.Error())
	}
	return outcome, machine.EndStrays(), err
}

// lock waits for what the run keeps for itself: the lock of the file, and the GPUs.
func (s *session) lock(ctx context.Context) (release func(), err error) {
	locks := machine.Locks{Getenv: spawn.Getenv(s.opt.Environ), RunID: s.runID, File: s.opt.Plan.File, Now: s.now, Warn: s.warn}
	named, err := locks.Named(ctx, s.opt.Config.Settings.Lock, s.opt.Dir)
	if err != nil {
		return nil, err
	}
	gpus, err := locks.GPUs(ctx, s.machine.needs, s.machine.prober)
	if err != nil {
		named()
		return nil, err
	}
	return func() { gpus(); named() }, nil
}

// lanes are where the repeats of a plan are carried out, with the targets there; nil where its
// places have none.
func (s *session) lanes(targets target.Resolver) func(lane int) engine.Lane {
	if !s.targets.Places.Lanes() {
		return nil
	}
	return func(lane int) engine.Lane {
		places, on := s.targets.Places.Lane(lane)
		return engine.Lane{
			Target: targets.On(places).Resolve, Nodes: on.Nodes, Load: on.Load, LoadNode: on.LoadNode, Clock: on.Clock, Ports: on.Ports,
		}
	}
}

func (s *session) about() engine.About {
	return engine.About{Tool: "pipeline " + s.opt.Version, RunID: s.runID, Source: s.source}
}

// load carries out one run of a workload, with the pipeline's access to files.
func (s *session) load(ctx context.Context, opt load.Options) (load.Result, error) {
	opt.Files = s.opt.Config.Files
	return load.Run(ctx, opt)
}

// look judges what was measured so far.
func (s *session) look(so *engine.Outcome) (judge.Look, error) {
	return judge.TakeLook(s.opt.Plan, engine.Document(s.opt.Plan, so, s.about()), verdict.Options(s.opt.Config, s.opt.Plan, s.opt.History))
}

// preflight sees whether places and machine have what the plan needs.
func (s *session) preflight(ctx context.Context) error {
	if err := s.targets.Places.Preflight(ctx); err != nil {
		return err
	}
	return s.examine(ctx)
}

func (s *session) step(addr string, outputs engine.Outputs) (engine.StepSpec, error) {
	object, diags := s.opt.Config.ResolveStep(addr, outputs)
	if diags.HasErrors() {
		return engine.StepSpec{}, diags
	}
	for _, st := range s.opt.Config.Steps {
		if st.Addr == addr {
			if action, ok := s.opt.Actions[st.Kind.Name]; ok {
				return engine.StepSpec{Action: action, Object: object}, nil
			}
		}
	}
	return engine.StepSpec{}, steps.Unsupported(addr, "no action is registered for this kind of step")
}

// cache of steps with a cache key: in the user's cache folder, so that runs share it. A
// machine without one runs every step.
func (s *session) cache() *store.Cache {
	base, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	c, err := store.OpenCache(filepath.Join(base, "pipeline", "steps"))
	if err != nil {
		return nil
	}
	return c
}

// info notes something that is not wrong.
func (s *session) info(text string) {
	s.bus.Emit(event.Event{Type: event.Diagnostic, Severity: event.Note, Text: text})
}

// warn notes something that does not end the run.
func (s *session) warn(text string) { s.warnAll([]string{text}) }
