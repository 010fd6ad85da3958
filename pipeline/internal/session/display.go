package session

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
)

// shownPort stands for a port that is chosen at launch, where an engine renders a number.
const shownPort = 65535

// shownImage stands for the simulator's image, which is built when a run begins.
const shownImage = "pipeline-simulator"

// Argv is the command line of a server for display, with PORT in place of the port. Of one
// that is spread over nodes it is what all of them have in common; [Launch] has the rest.
func Argv(e steps.Engine, spec steps.ServerSpec, simulate bool) ([]string, error) {
	if simulate {
		spec = bare(spec)
	}
	argv, err := commonArgv(e, spec)
	if spec.Spread() && err == nil {
		argv = slices.Insert(argv, 0, fmt.Sprintf("%d nodes:", spec.Nodes))
	}
	return argv, err
}

func commonArgv(e steps.Engine, spec steps.ServerSpec) ([]string, error) {
	p, err := e.Render(spec, spec.ListenHost(), cmp.Or(spec.Port, shownPort))
	if err != nil || spec.Port != 0 {
		return p.Argv, err
	}
	return withSymbol(p.Argv, "PORT"), nil
}

// withSymbol writes a symbol where shownPort stands in a command line.
func withSymbol(argv []string, symbol string) []string {
	out := slices.Clone(argv)
	for i, word := range out {
		if word == strconv.Itoa(shownPort) {
			out[i] = symbol
		}
	}
	return out
}

// Launch describes the processes of a target as the plan shows them: ports that are
// chosen at launch by their symbols, this program as "pipeline", secrets not at all. What
// waits for a step is a placeholder.
func Launch(engines map[string]steps.Engine, simulated string, timeScale float64) func(*lang.Config, string) ([]plan.Process, error) {
	return func(cfg *lang.Config, addr string) ([]plan.Process, error) {
		t := targets{
			opt:        Options{Config: cfg, Plan: &plan.Plan{Simulated: simulated, TimeScale: timeScale}, Engines: engines, Self: "pipeline", Dir: Folder(cfg)},
			containers: shownContainers(cfg.Settings.Docker),
		}
		t.cluster = shownCluster(t.opt)
		if d := deploymentAt(cfg, addr); d != nil {
			return t.showDeployment(d)
		}
		server, err := find(cfg, addr)
		if err != nil || !shown(engines, simulated, server) {
			return nil, err
		}
		return t.showServer(server)
	}
}

// shown says whether a server can be rendered at all; what speaks against it is said
// before a run begins.
func shown(engines map[string]steps.Engine, simulated string, s *lang.Server) bool {
	_, known := engines[s.Kind.Name]
	return known && s.Spec.URL == "" && (simulated == "" || s.Kind.Name != "openai")
}

// shownContainers stands for daemons that nobody asks: their addresses are those that the
// file names.
func shownContainers(spec *steps.DockerSpec) *containers {
	c := &containers{simulator: shownImage}
	if spec == nil {
		c.hosts = []*dockerHost{{local: true, address: loopback}}
		return c
	}
	for _, h := range spec.Hosts {
		address := h.Reached()
		c.hosts = append(c.hosts, &dockerHost{shown: h.URL, address: cmp.Or(address, loopback), local: address == ""})
	}
	return c
}

func (t targets) showServer(server *lang.Server) ([]plan.Process, error) {
	if server.Spec.Spread() {
		return t.showSpread(server)
	}
	spec, err := t.single(server, server.Spec)
	if err != nil {
		return nil, err
	}
	rendered, err := spec.Render("r1-"+server.Addr, map[engine.Port]int{spec.Ports[0].Port: cmp.Or(server.Spec.Port, shownPort)})
	if err != nil {
		return nil, err
	}
	p := rendered[server.Addr].Process
	if server.Spec.Port == 0 {
		p.Argv = withSymbol(p.Argv, "PORT")
	}
	if t.cluster != nil {
		places, err := t.cluster.places([]steps.Member{{Name: server.Addr, Spec: spec.Members[0].Spec}})
		if err != nil {
			return nil, err
		}
		if p, err = t.cluster.show(places[0], p); err != nil {
			return nil, err
		}
	}
	return []plan.Process{show(server.Addr, spec.Members[0].Role, 1, p)}, nil
}

func (t targets) showDeployment(block *lang.Deployment) ([]plan.Process, error) {
	for _, s := range block.Servers {
		if s.Spec.URL == "" && !shown(t.opt.Engines, t.opt.Plan.Simulated, s) {
			return nil, nil
		}
	}
	d, err := t.newDeployment(block, block.Spec)
	if err != nil {
		return nil, err
	}
	in := d.layout.Symbolic()
	if in.Hosts, err = d.hosts(); err != nil {
		return nil, err
	}
	rendered, err := d.renderAt("r1-"+block.Addr, in)
	if err != nil {
		return nil, err
	}
	if err := d.showSteps(rendered); err != nil {
		return nil, err
	}
	var out []plan.Process
	roles := map[string]string{}
	for _, m := range d.processes() {
		roles[m.Name] = m.Role
	}
	for wave, names := range d.order() {
		for _, name := range names {
			if _, started := rendered[name]; started {
				out = append(out, show(name, roles[name], wave+1, rendered[name].Process))
			}
		}
	}
	return out, nil
}

// showSpread shows the processes of a server that is spread over nodes.
func (t targets) showSpread(server *lang.Server) ([]plan.Process, error) {
	s, err := t.newSpread(server, server.Spec)
	if err != nil {
		return nil, err
	}
	rendered, err := s.render("r1-"+server.Addr, nil)
	if err != nil {
		return nil, err
	}
	var out []plan.Process
	for i, m := range s.target().Members {
		p := rendered[m.Name].Process
		if t.cluster != nil {
			if p, err = t.cluster.show(s.places[i], p); err != nil {
				return nil, err
			}
		}
		out = append(out, show(m.Name, m.Role, 1, p))
	}
	return out, nil
}

// shownRendezvous stands for the port at which processes of a server meet, where it is
// chosen at launch.
const shownRendezvous = shownPort - 1

// withSymbols writes symbols where ports stand in the rendering of a node that are not
// known yet.
func withSymbols(argv []string, ports map[kv.Port]int, name, head string) []string {
	at, meet := kv.Port{Process: name, Purpose: kv.PortHTTP}, kv.Port{Process: head, Purpose: rendezvousPort}
	out := slices.Clone(argv)
	for i, word := range out {
		if ports[at] == 0 && word == strconv.Itoa(shownPort) {
			out[i] = at.String()
		}
		if ports[meet] == 0 {
			out[i] = strings.ReplaceAll(out[i], strconv.Itoa(shownRendezvous), meet.String())
		}
	}
	return out
}

// show describes one process.
func show(name, role string, wave int, p steps.Process) plan.Process {
	out := plan.Process{Name: name, Role: role, Wave: wave, Argv: p.Argv}
	if c := p.Container; c != nil {
		out.Image, out.Network = c.Image, c.Network
		out.GPUs = gpuNames(c.GPUs)
	}
	for _, e := range p.Env {
		value := e.Value
		if e.Secret {
			value = "(secret)"
		}
		out.Env = append(out.Env, e.Name+"="+value)
	}
	for _, f := range p.Files {
		out.Files = append(out.Files, plan.LaunchFile{Name: f.Name, EnvVar: f.EnvVar, Content: strings.ToValidUTF8(string(f.Content), "?")})
	}
	return out
}

// gpuNames are the GPUs of a container, or how many the daemon chooses.
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
