package session

import (
	"context"
	"os"
	"path/filepath"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/machine"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/pipeline/internal/target"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/process"
)

// engineOptions returns the options of the engine, common to a model and to machines, with the additions of
// either.
func (s *session) engineOptions(ctx context.Context) engine.Options {
	opt := engine.Options{
		Plan: s.opt.Plan, Store: s.dir, Bus: s.bus, Target: s.targets.Resolve, Lane: s.lanes(s.targets),
		Step: s.step, Now: s.now,
		Redact: s.redact, KeepGoing: s.opt.KeepGoing, Resume: s.earlier,
	}
	if m := s.targets.Places.Model(); m != nil {
		return s.inModel(opt, m)
	}
	return s.onMachines(ctx, opt)
}

// inModel adds the options of a model.
func (s *session) inModel(opt engine.Options, m *place.Model) engine.Options {
	opt.Ports, opt.Load, opt.Drive, opt.InTurn = m.Ports, m.Load, modelledDrive(0, s.drive), true
	return opt
}

// onMachines adds the options of real machines, and their watchers.
func (s *session) onMachines(ctx context.Context, opt engine.Options) engine.Options {
	opt.Ports, opt.Load = new(process.Ports), s.load
	opt.Env = steps.ActionEnv{Spawner: s.spawner, Dir: s.opt.Plan.Config.Folder}
	opt.Cache, opt.Front, opt.Drive = s.cache(), s.opt.Front, s.drive
	opt.Probe = func(ctx context.Context) map[string]string {
		return s.targets.Places.Facts(machine.Facts(ctx, s.spawner))
	}
	opt.Preflight, opt.Machine, opt.NICs, opt.Watchers = s.preflight, s.gpus(), s.nics(ctx), s.watchers()
	opt.EndLeft, opt.Secrets = machine.EndLeft, s.opt.Plan.Config.Late.SecretsOf
	return opt
}

// lanes returns a function that returns the lanes on which repeats run, nil if the places have none.
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

// load runs one run of a workload, with the pipeline's access to files.
func (s *session) load(ctx context.Context, opt load.Options) (load.Result, error) {
	opt.Files, opt.Arrivals = s.opt.Plan.Config.Files, s.opt.Plan.Config.Arrivals
	return load.Run(ctx, opt)
}

// preflight checks that places and machine have what the plan needs.
func (s *session) preflight(ctx context.Context) error {
	if err := s.targets.Places.Preflight(ctx); err != nil {
		return err
	}
	return s.examine(ctx)
}

func (s *session) step(addr string, outputs config.Outputs) (engine.StepSpec, error) {
	object, err := s.opt.Plan.Config.Late.ResolveStep(addr, outputs)
	if err != nil {
		return engine.StepSpec{}, err
	}
	for _, st := range s.opt.Plan.Config.Steps {
		if st.Addr == addr {
			if action, ok := s.opt.Actions[st.Kind.Name]; ok {
				return engine.StepSpec{Action: action, Object: object}, nil
			}
		}
	}
	return engine.StepSpec{}, steps.Unsupported(addr, "no action is registered for this kind of step")
}

// cache returns the cache of steps with a cache key. It is in the user's cache folder, so that runs share it.
// Each folder's pipelines have separate entries, and so does a pipeline that judges a change: the pipeline of a
// change could store outputs under any key, such as another image for the base. Without a cache folder, every
// step runs.
func (s *session) cache() *store.Cache {
	base, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	of := "of "
	if s.opt.Plan.Config.JudgesChange {
		of = "judges a change, of "
	}
	c, err := store.OpenCache(filepath.Join(base, "pipeline", "steps", store.Name(of+s.opt.Plan.Config.Folder)))
	if err != nil {
		return nil
	}
	return c
}
