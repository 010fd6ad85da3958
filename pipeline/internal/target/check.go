package target

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/kv"
)

// Check returns which parts of the plan cannot be run, before anything starts. delayed means that answers pass through
// a delaying proxy.
func (r Resolver) Check(delayed bool) []error {
	var found faults
	for _, part := range realParts(r.Plan) {
		found.add(part.Addr, part.Err)
	}
	for _, t := range r.Plan.Targets {
		r.checkTarget(&found, t)
	}
	for _, b := range r.Plan.Config.Benchmarks {
		found.add(b.Addr, servesEndpoint(r.Plan.Config, r.Engines, b))
	}
	for _, b := range r.Plan.Benchmarks {
		for _, c := range b.Cells {
			if err := r.checkWorkload(c.Workload, delayed); err != nil {
				found.add(b.Addr, err)
				break
			}
		}
	}
	if len(found) == 0 {
		r.try(&found)
	}
	return found
}

// faults holds the errors of a file, in the order in which they were found.
type faults []error

// add appends err with the address of its block. It ignores nil.
func (f *faults) add(addr string, err error) {
	if err != nil {
		*f = append(*f, &engine.ConfigError{Addr: addr, Err: err})
	}
}

func (r Resolver) checkTarget(found *faults, t plan.Target) {
	servers := r.Plan.Config.ServersOf(t.Addr)
	if len(servers) == 0 {
		found.add(t.Addr, errors.New("it is not a server or deployment of this pipeline"))
		return
	}
	for _, s := range servers {
		found.add(s.Addr, r.runnable(s))
	}
	placed, err := r.Placed(t.Addr)
	if err != nil {
		return // an error of the layout, which resolving the target reports
	}
	for _, err := range r.Places.Check(placed) {
		found.add(t.Addr, err)
	}
}

// checkWorkload returns why a workload cannot be measured, nil if it can.
func (r Resolver) checkWorkload(w steps.Workload, delayed bool) error {
	if dataset.Absent(w.Dataset) {
		return errors.New(r.Plan.Config.Files.AbsentText(w.Dataset))
	}
	return r.Places.CheckLoad(w, delayed)
}

// try resolves the targets and has the model start them, if the run is simulated in a model only.
func (r Resolver) try(found *faults) {
	m := r.Places.Model()
	if m == nil {
		return
	}
	for _, t := range r.Plan.Targets {
		if spec, err := r.Resolve(t.Addr, nil); err == nil { // the run reports errors of resolving
			found.add(t.Addr, m.Try(spec))
		}
	}
}

func (r Resolver) runnable(s *config.Server) error {
	_, known := r.Engines[s.Kind.Name]
	switch {
	case !known:
		return steps.Unsupported("", fmt.Sprintf("servers of kind %q are not supported yet", s.Kind.Name))
	case r.simulated() && replaceable(s) != nil: // reported with the other real parts
		return nil
	case r.simulated() && dependsOnSteps(s.Spec):
		return errors.New("its arguments come from a step, which a simulated run does not carry out: give them values that need no step")
	case r.simulated():
		_, err := settingsOf(s.Spec, r.Plan.Config.Folder, r.Plan.TimeScale, "check")
		return err
	}
	return nil
}

// dependsOnSteps reports whether the model or an argument is known only after a step.
func dependsOnSteps(spec steps.ServerSpec) bool {
	late := func(v any) bool {
		text, ok := v.(string)
		return ok && config.IsLate(text)
	}
	return late(spec.Model) || slices.ContainsFunc(spec.Args, func(a steps.Arg) bool { return late(a.Value) })
}

// servesEndpoint returns an error for the first target of a benchmark that lacks the endpoint the benchmark uses. A
// deployment has the endpoints that all its servers have.
func servesEndpoint(cfg *config.Config, engines map[string]steps.Engine, b *config.Benchmark) error {
	for _, c := range b.Cells {
		for _, server := range cfg.ServersOf(c.Target) {
			e, ok := engines[server.Kind.Name]
			if ok {
				if err := drives(c.Workload.Driver, server, e, cfg.DeploymentAt(c.Target) != nil); err != nil {
					return err
				}
			}
			if ok && c.Workload.Driver == nil && !slices.Contains(e.Endpoints(), c.Workload.Endpoint) {
				return fmt.Errorf("%s has no endpoint %q; a server of kind %q serves %s", server.Addr, c.Workload.Endpoint, server.Kind.Name,
					strings.Join(e.Endpoints(), ", "))
			}
		}
	}
	return nil
}

// drives returns why a driver cannot measure a server, nil if it can: programs need driver "offline", and nothing else does.
func drives(d *steps.Driver, server *config.Server, e steps.Engine, deployed bool) error {
	program, offline := e.Capabilities().Programs != nil, d != nil && d.Kind == steps.DriverOffline
	switch {
	case program && deployed:
		return fmt.Errorf("%s ends with each run, and the servers of a deployment stay: make it a target by itself", server.Addr)
	case program && !offline:
		return fmt.Errorf("%s serves nothing that could be loaded: measure it with driver \"offline\"", server.Addr)
	case offline && !program:
		return fmt.Errorf("%s serves, and driver \"offline\" runs a program to its end: make it a server \"offline\", or load it",
			server.Addr)
	}
	return nil
}

// Validate returns which endpoints and files a configuration needs and its servers and datasets lack, and which targets
// cannot be placed.
func Validate(kinds []place.Kind, cfg *config.Config, engines map[string]steps.Engine, connectors kv.Table) hcl.Diagnostics {
	var out problems
	for _, b := range cfg.Benchmarks {
		if err := servesEndpoint(cfg, engines, b); err != nil {
			out.add(hcl.DiagError, "the target does not serve the endpoint", err.Error(), b.TargetRange)
		}
		for _, c := range b.Cells {
			d := c.Workload.Dataset
			if !dataset.Absent(d) {
				continue
			}
			severity := hcl.DiagError
			if cfg.Files.Rehearsed(d).Synthetic { // a simulated run can do without
				severity = hcl.DiagWarning
			}
			out.add(severity, "the dataset's file is not there", cfg.Files.AbsentText(d), b.Range)
			break
		}
	}
	checkSleep(&out, cfg, engines)
	r := Shown(kinds, &plan.Plan{Config: cfg}, engines, connectors)
	for _, addr := range targetsOf(cfg) {
		placed, err := r.Placed(addr)
		if err != nil {
			continue // the plan reports it
		}
		for _, err := range r.Places.Check(placed) {
			out.add(hcl.DiagError, addr+" cannot be placed", err.Error(), *cfg.RangeOf(addr))
		}
	}
	return out.list
}
