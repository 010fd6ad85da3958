package target

import (
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/nsys"
)

// ProfiledAround reports whether servers are profiled from outside, by nsys. Simulated servers are profiled by their
// model, whatever the file specifies.
func (r Resolver) ProfiledAround() bool {
	s := r.Plan.Config.Settings.Profile
	return s != nil && s.Profiler == config.ProfilerNsys && !r.simulated()
}

// Profiler returns the profiler of a server: around if servers are profiled from outside, else the engine's own.
func (r Resolver) Profiler(e steps.Engine, around nsys.Profiler) (steps.Profiler, error) {
	if r.ProfiledAround() {
		return around, nil
	}
	own := e.Capabilities().Profiler
	if own == nil {
		return nil, errors.New(`its engine has no profiler that is known here; the profiler "nsys" needs none`)
	}
	return own, nil
}

// Unprofiled returns why the servers of the target at an address cannot be profiled, nil if they can. It ignores
// servers at a url if the target has others.
func (r Resolver) Unprofiled(addr string) error {
	placed, err := r.Placed(addr)
	if err != nil {
		return err
	}
	started := 0
	for _, p := range placed.Processes {
		if p.Role != place.RoleServer || p.Spec.URL != "" {
			continue
		}
		started++
		profiler, err := r.Profiler(r.Engines[p.Spec.Engine], nsys.Profiler{})
		if err == nil && !r.simulated() {
			err = r.Places.Unprofiled(p, r.ProfiledAround())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.Spec.Addr, err)
		}
		if _, err = profiler.Profiled(p.Spec, "", p.Spec.EngineVersion()); err != nil {
			return err
		}
	}
	if started == 0 {
		return errors.New("it answers at its url, and only servers that are started here can be profiled")
	}
	return nil
}

// CheckProfile warns of compared targets that could not be profiled after a regression.
func CheckProfile(kinds []place.Kind, p *plan.Plan, engines map[string]steps.Engine,
	connectors kv.Table) hcl.Diagnostics {
	var out problems
	if p.Config.Settings.Profile == nil {
		return nil
	}
	r := Shown(kinds, p, engines, connectors)
	seen := map[string]bool{}
	for _, g := range p.Gates {
		for _, c := range g.Comparisons {
			for _, hash := range []string{c.Base, c.Head} {
				_, cell, ok := p.Cell(hash)
				if !ok || c.Base == "" || seen[cell.Target] {
					continue
				}
				seen[cell.Target] = true
				if err := r.Unprofiled(cell.Target); err != nil {
					out.add(hcl.DiagWarning, cell.Target+" cannot be profiled", "a regression of it gets no profile: "+err.Error(),
						*p.Config.RangeOf(cell.Target))
				}
			}
		}
	}
	return out.list
}
