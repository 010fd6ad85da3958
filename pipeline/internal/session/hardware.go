package session

import (
	"context"
	"slices"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/probe"
)

// hardware is what a session has to do with the machine that it runs on.
type hardware struct {
	// spawner starts nvidia-smi and the like. They are not in the journal: they come by
	// the hundreds and leave nothing behind.
	spawner *spawn.Spawner
	prober  *probe.Prober
	needs   doctor.Needs
}

// newHardware knows what the plan needs of this machine: nothing where all is simulated,
// and no GPUs where a daemon elsewhere runs the containers.
func newHardware(opt Options) hardware {
	h := hardware{spawner: spawn.New(spawn.Options{Environ: opt.Environ})}
	h.prober = probe.New(h.spawner)
	if opt.Plan.Simulated == "" && !onCluster(opt) {
		h.needs = doctor.NeedsOf(opt.Config, planned(opt.Plan))
	}
	h.needs.File = true
	if h.needs.Containers() && opt.Config.Settings.Docker == nil && !docker.IsLocal(docker.HostFromEnv(lookup(opt.Environ))) {
		for i := range h.needs.Targets {
			h.needs.Targets[i].GPUs = nil
		}
	}
	return h
}

func planned(p *plan.Plan) []string {
	out := make([]string, len(p.Targets))
	for i, t := range p.Targets {
		out[i] = t.Addr
	}
	return out
}

// caution tells of something that does not end the run.
func (s *session) caution(text string) {
	s.bus.Emit(event.Event{Type: event.Diagnostic, Severity: "warning", Text: text})
}

// nics lists this machine's network devices; nil where servers run on others, of whose
// traffic these devices say nothing.
func (s *session) nics(ctx context.Context) func() []probe.NIC {
	if !serversHere(s.opt) {
		return nil
	}
	return func() []probe.NIC { return s.hardware.prober.Links(ctx) }
}

// serversHere says whether all servers that are launched run on this machine.
func serversHere(opt Options) bool {
	if onCluster(opt) {
		return false
	}
	if opt.Plan.Simulated != "" && opt.Plan.Simulated != SimulateContainer {
		return true
	}
	if d := opt.Config.Settings.Docker; d != nil {
		return !slices.ContainsFunc(d.Hosts, steps.DockerHost.Elsewhere)
	}
	inContainers := opt.Plan.Simulated == SimulateContainer || doctor.NeedsOf(opt.Config, planned(opt.Plan)).Containers()
	return !inContainers || docker.IsLocal(docker.HostFromEnv(lookup(opt.Environ)))
}

// watcher returns what looks after the machine for the engine, nil for nothing.
func (s *session) watcher() engine.Machine {
	if g := newGPUs(s.hardware.needs, s.hardware.prober, s.ownerOf, s.caution); g != nil {
		return g
	}
	return nil
}

// examine sees whether the machine has what the plan needs. What an interrupted run has
// left was ended a moment ago: its memory may take a while to come back.
func (s *session) examine(ctx context.Context) error {
	opt := doctor.Options{Prober: s.hardware.prober, Daemon: InspectDaemon(s.containers.getenv(lookup(s.opt.Environ))), Out: s.dir.Path(), Dir: s.opt.Dir}
	deadline := s.opt.Now().Add(freeWait)
	for {
		checks := doctor.Preflight(s.hardware.needs, doctor.Gather(ctx, s.hardware.needs, opt))
		err := doctor.MissingError(checks)
		if err == nil {
			for _, c := range checks {
				if c.Status == doctor.Warn {
					s.caution(c.Name + " " + c.Found + ": " + c.Fix)
				}
			}
			return nil
		}
		if s.state == nil || s.opt.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(freeEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
