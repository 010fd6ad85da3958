package session

import (
	"context"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/machine"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/pipeline/internal/target"
	"github.com/servegate/pipeline/steps/probe"
)

// hardware holds the session's access to the machine that it runs on.
type hardware struct {
	// spawner starts nvidia-smi and similar programs. They are not in the journal, because they are numerous
	// and leave nothing behind.
	spawner *spawn.Spawner
	prober  *probe.Prober
	needs   doctor.Needs
}

// newHardware determines what the plan needs of this machine: nothing if everything is simulated.
func newHardware(opt Options, targets target.Resolver) hardware {
	h := hardware{spawner: spawn.New(spawn.Options{Environ: opt.Environ})}
	h.prober = probe.New(h.spawner)
	if opt.Plan.Simulated == "" {
		h.needs = targets.Places.Needs(doctor.NeedsOf(opt.Plan.Config, planned(opt)))
	}
	h.needs.File = true
	return h
}

func planned(opt Options) []string {
	out := make([]string, len(opt.Plan.Targets))
	for i, t := range opt.Plan.Targets {
		out[i] = t.Addr
	}
	return out
}

// nics returns a function that lists this machine's network devices. It returns nil if servers run on other
// machines, whose traffic these devices do not show.
func (s *session) nics(ctx context.Context) func() []probe.NIC {
	if !s.targets.Places.Here(s.targets.Planned()) {
		return nil
	}
	return func() []probe.NIC { return s.machine.prober.Links(ctx) }
}

// gpus returns the engine's watcher of this machine's GPUs, nil for none.
func (s *session) gpus() engine.Machine {
	return machine.WatchGPUs(s.machine.needs, s.machine.prober, s.ownerOf, s.warn)
}

// watchers returns the other watchers of this machine during a run, none if servers are simulated or run on
// other machines.
func (s *session) watchers() []engine.Watch {
	if s.opt.Plan.Simulated != "" || !s.targets.Places.Here(s.targets.Planned()) {
		return nil
	}
	var out []engine.Watch
	if processors := machine.WatchProcessors(machine.Powercap, time.Now); processors != nil {
		out = append(out, processors)
	}
	return out
}

// ownerOf returns a function that finds the owner of a process on a GPU. It is ours if this program started it,
// or if it belongs to one of the run's places.
func (s *session) ownerOf(ctx context.Context) func(pid int) probe.Owner {
	places := s.targets.Places.Owner(ctx)
	return func(pid int) probe.Owner {
		switch spawn.OwnerOf(pid) {
		case spawn.Ours:
			return probe.OwnerUs
		case spawn.Unknown:
			return probe.OwnerUnknown
		}
		return places(pid)
	}
}

// examine checks that the machine has what the plan needs. It retries for a while, because the memory of
// processes left by an interrupted run may not be free yet.
func (s *session) examine(ctx context.Context) error {
	opt := doctor.Options{Prober: s.machine.prober, Daemon: s.targets.Places.Daemon(), Out: s.dir.Path(), Dir: s.opt.Plan.Config.Folder}
	deadline := s.now().Add(machine.FreeWait)
	for {
		checks := doctor.Preflight(s.machine.needs, doctor.Gather(ctx, s.machine.needs, opt))
		err := doctor.MissingError(checks)
		if err == nil {
			for _, c := range checks {
				if c.Status == doctor.Warn {
					s.warn(c.Name + " " + c.Found + ": " + c.Fix)
				}
			}
			return nil
		}
		if s.earlier == nil || s.now().After(deadline) {
			return err
		}
		select {
		case <-time.After(machine.FreeEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
