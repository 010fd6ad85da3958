package target

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate"
)

// Argv returns the command line of a server for display, with PORT in place of the port. For a server on several nodes
// it returns the part that all nodes share; [Launch] returns the rest.
func Argv(e steps.Engine, spec steps.ServerSpec, simulate bool) ([]string, error) {
	if simulate {
		spec = plain(spec)
	}
	p, err := e.Render(spec, spec.ListenHost(), shownPort(spec))
	if spec.Spread() && err == nil {
		p.Argv = slices.Insert(p.Argv, 0, fmt.Sprintf("%d nodes:", spec.Nodes))
	}
	return p.Argv, err
}

// shownPort returns the port that a plan shows for a server that is a target by itself.
func shownPort(spec steps.ServerSpec) steps.Port {
	if spec.Port != 0 {
		return steps.PortNumber(spec.Port)
	}
	return steps.PortSymbol("PORT")
}

// Launch returns a function that describes the processes of a target as the plan shows them. Ports that are chosen at
// launch appear as symbols, and this program as "pipeline". Secrets are hidden. Values that depend on a step are
// placeholders.
func Launch(kinds []place.Kind, engines map[string]steps.Engine, connectors kv.Table, simulated string,
	timeScale float64) func(*config.Config, string) ([]plan.Process, error) {
	return func(cfg *config.Config, addr string) ([]plan.Process, error) {
		r := Shown(kinds, &plan.Plan{Config: cfg, Simulated: simulated, TimeScale: timeScale}, engines, connectors)
		for _, s := range cfg.ServersOf(addr) {
			if s.Spec.URL == "" && !r.shown(s) {
				return nil, nil
			}
		}
		if block := cfg.DeploymentAt(addr); block != nil {
			return r.showDeployment(block)
		}
		server := cfg.ServerAt(addr)
		switch {
		case server == nil:
			return nil, notATarget(addr)
		case server.Spec.URL != "":
			return nil, nil
		}
		return r.showServer(server)
	}
}

// Shown returns the resolver of a plan that is only displayed or checked.
func Shown(kinds []place.Kind, p *plan.Plan, engines map[string]steps.Engine, connectors kv.Table) Resolver {
	places := place.NewSet(kinds, place.Options{Plan: p, Self: "pipeline", Shown: true})
	return Resolver{Plan: p, Engines: engines, Connectors: connectors, Places: places}
}

// shown reports whether a server can be rendered. Check and CheckSimulation report why it cannot.
func (r Resolver) shown(s *config.Server) bool {
	_, known := r.Engines[s.Kind.Name]
	return known && (!r.simulated() || replaceable(s) == nil)
}

func (r Resolver) showServer(server *config.Server) ([]plan.Process, error) {
	s, err := r.newServer(server, server.Spec)
	if err != nil {
		return nil, err
	}
	rendered, err := s.render("r1-"+server.Addr, nil)
	if err != nil {
		return nil, err
	}
	return showAll(s.target(), s.slots, rendered)
}

func (r Resolver) showDeployment(block *config.Deployment) ([]plan.Process, error) {
	d, err := r.newDeployment(block, block.Spec)
	if err != nil {
		return nil, err
	}
	in := d.layout.Symbolic()
	in.Hosts = hostsOf(d.slots)
	rendered, err := d.renderAt("r1-"+block.Addr, in)
	if err != nil {
		return nil, err
	}
	return showAll(d.target(), d.slots, rendered)
}

// showAll describes the processes of a target that are started, in start order.
func showAll(t engine.TargetSpec, slots map[string]place.Slot, rendered map[string]engine.Process) ([]plan.Process, error) {
	var out []plan.Process
	for wave, names := range t.Order {
		for _, name := range names {
			p, started := rendered[name]
			if !started {
				continue
			}
			role := t.Members[slices.IndexFunc(t.Members, func(m engine.Member) bool { return m.Name == name })].Role
			shown, err := show(name, role, wave+1, slots[name], p.Process)
			if err != nil {
				return nil, err
			}
			out = append(out, shown)
		}
	}
	return out, nil
}

// show describes one process as its slot starts it.
func show(name, role string, wave int, slot place.Slot, p steps.Process) (plan.Process, error) {
	if slot.Show != nil {
		var err error
		if p, err = slot.Show(p); err != nil {
			return plan.Process{}, err
		}
	}
	out := plan.Process{Name: name, Role: role, Wave: wave, Argv: p.Argv}
	if c := p.Container; c != nil {
		out.Image, out.Network = c.Image, c.Network
		out.GPUs = gpuNames(c.GPUs)
	}
	for _, e := range p.Env {
		if e.Name == simulate.SettingsEnv {
			s, err := simulate.ParseSettings(e.Value)
			if err != nil {
				return plan.Process{}, err
			}
			out.Start = s.Startup().Seconds()
		}
		value := e.Value
		if e.Secret {
			value = "(secret)"
		}
		out.Env = append(out.Env, e.Name+"="+value)
	}
	if slot.Manifest != nil {
		var err error
		if out.Manifest, err = slot.Manifest(p); err != nil {
			return plan.Process{}, err
		}
	}
	for _, f := range p.Files {
		out.Files = append(out.Files, plan.LaunchFile{Name: f.Name, EnvVar: f.EnvVar, Content: strings.ToValidUTF8(string(f.Content), "?")})
	}
	return out, nil
}

// gpuNames returns the GPUs of a container, or the number that the daemon chooses.
func gpuNames(r *steps.GPURequest) []string {
	switch {
	case r == nil:
		return nil
	case len(r.IDs) > 0:
		return r.IDs
	case r.Count == steps.AllGPUs:
		return []string{"all"}
	case r.Count > 0:
		return []string{fmt.Sprintf("any %d", r.Count)}
	}
	return nil
}
