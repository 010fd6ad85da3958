// Package target turns a server or deployment of a file into what the engine launches: its processes, their start
// order, and their command lines in the slots that their places assign. In a simulated run each process is the double
// of a real one.
package target

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
)

// Resolver resolves addresses to what the engine launches.
type Resolver struct {
	Plan    *plan.Plan
	Engines map[string]steps.Engine
	// Connectors holds the connectors of KV caches; nil means all.
	Connectors kv.Table
	Places     *place.Set
	// Slowdown makes every double slower by a share, for a self-test.
	Slowdown float64
	// Change changes the spec of a server for reasons outside the file, such as profiling. contained means that the
	// server starts in a container. nil changes nothing.
	Change func(spec steps.ServerSpec, contained bool) (steps.ServerSpec, error)
	// Folder creates a folder for a launch; nil if nothing is launched.
	Folder func(name string) (string, error)
}

// On returns the resolver with other places, such as a lane's.
func (r Resolver) On(places *place.Set) Resolver {
	r.Places = places
	return r
}

// Resolve returns the target at an address, with the outputs of the steps before it.
func (r Resolver) Resolve(addr string, outputs config.Outputs) (engine.TargetSpec, error) {
	if block := r.Plan.Config.DeploymentAt(addr); block != nil {
		return r.deployment(block, outputs)
	}
	server := r.Plan.Config.ServerAt(addr)
	if server == nil {
		return engine.TargetSpec{}, notATarget(addr)
	}
	spec := server.Spec
	// A simulated run executes no steps, so the outputs of steps stay placeholders.
	if server.Late && !r.simulated() {
		var err error
		if spec, err = r.Plan.Config.Late.ResolveServer(addr, outputs); err != nil {
			return engine.TargetSpec{}, err
		}
	}
	spec, err := r.changed(spec)
	if err != nil {
		return engine.TargetSpec{}, err
	}
	s, err := r.newServer(server, spec)
	if err != nil {
		return engine.TargetSpec{}, err
	}
	return s.target(), nil
}

// changed applies Change to the spec of a server that is started here.
func (r Resolver) changed(spec steps.ServerSpec) (steps.ServerSpec, error) {
	if r.Change == nil || spec.URL != "" {
		return spec, nil
	}
	return r.Change(spec, r.contained(spec))
}

func notATarget(addr string) error {
	return fmt.Errorf("%s is not a server or deployment of this pipeline", addr)
}

// Placed returns the processes of the target at an address for placement, as far as they are known before any step.
func (r Resolver) Placed(addr string) (place.Target, error) {
	if block := r.Plan.Config.DeploymentAt(addr); block != nil {
		d, err := r.layOut(block, block.Spec)
		if err != nil {
			return place.Target{}, err
		}
		return d.placed(), nil
	}
	server := r.Plan.Config.ServerAt(addr)
	if server == nil {
		return place.Target{}, notATarget(addr)
	}
	return r.placedServer(serverParts(addr, server.Spec)), nil
}

// Planned returns the targets of the plan for placement. It omits targets with an invalid layout; resolving them
// reports the error.
func (r Resolver) Planned() []place.Target {
	var out []place.Target
	for _, t := range r.Plan.Targets {
		if placed, err := r.Placed(t.Addr); err == nil {
			out = append(out, placed)
		}
	}
	return out
}

// assign returns the slots of a target's processes by name.
func (r Resolver) assign(t place.Target) (map[string]place.Slot, error) {
	slots, err := r.Places.Assign(t)
	if err != nil {
		return nil, err
	}
	named := map[string]place.Slot{}
	for i, p := range t.Processes {
		named[p.Name] = slots[i]
	}
	return named, nil
}

// processes returns the processes of servers for placement.
func (r Resolver) processes(parts []place.Part) []place.Process {
	out := make([]place.Process, len(parts))
	for i, p := range parts {
		out[i] = place.Process{Name: p.Name, Spec: p.Spec, Contained: r.contained(p.Spec)}
	}
	return out
}

// member describes how the engine launches and queries a process of a server in its slot. together means that other
// processes must reach it.
func (r Resolver) member(p place.Part, at hcl.Range, slot place.Slot, together bool) engine.Member {
	m := engine.Member{
		Name: p.Name, Role: cmp.Or(p.Role, result.RoleServer), Range: plan.Range(at),
		Spec: r.started(p.Spec, slot, together), Engine: r.Engines[p.Spec.Engine], Launcher: slot.Launcher,
	}
	if programs := m.Engine.Capabilities().Programs; programs != nil && m.Launcher != nil {
		m.Launcher = programs(m.Launcher)
	}
	if p.Rank > 0 {
		m.Role, m.Engine = result.RoleNode, follower{m.Engine}
	}
	if r.simulated() && p.Spec.URL == "" {
		m.Spec.Ready = scaledReadiness(m.Spec.Ready, r.Plan.TimeScale)
	}
	if slot.Ask != nil {
		m.Engine = slot.Ask(m.Engine)
	}
	return m
}

// started returns the spec with which a server starts in its slot: its own, or its double's.
func (r Resolver) started(declared steps.ServerSpec, slot place.Slot, together bool) steps.ServerSpec {
	if !r.simulated() || declared.URL != "" {
		return slot.Spec
	}
	return doubleSpec(slot, together)
}

func (r Resolver) simulated() bool { return r.Plan.Simulated != "" }

// contained reports whether a server starts in a container, from its image or as a simulated container.
func (r Resolver) contained(spec steps.ServerSpec) bool {
	if r.simulated() {
		return r.Plan.Simulated == plan.SimulateContainer && spec.URL == ""
	}
	return spec.Image != ""
}

// targetsOf returns the addresses of the targets of a file: deployments, and servers outside of any deployment.
func targetsOf(cfg *config.Config) []string {
	var out []string
	for _, d := range cfg.Deployments {
		out = append(out, d.Addr)
	}
	for _, s := range cfg.Servers {
		inside := func(d *config.Deployment) bool { return slices.Contains(d.Servers, s) }
		if !slices.ContainsFunc(cfg.Deployments, inside) {
			out = append(out, s.Addr)
		}
	}
	return out
}
