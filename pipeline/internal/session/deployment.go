package session

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
	engines "github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/slurm"
)

// deployment is what makes processes of a deployment block: its layout, and how its
// servers are started here.
type deployment struct {
	targets
	block  *lang.Deployment
	spec   steps.DeploymentSpec
	layout *kv.Layout
	// members as they are started: with their place, network and GPUs.
	members []steps.Member
	// places of the members on a cluster.
	places []slurm.Place
}

func (t targets) newDeployment(block *lang.Deployment, spec steps.DeploymentSpec) (*deployment, error) {
	layout, err := kv.NewLayout(spec)
	if err != nil {
		return nil, err
	}
	d := &deployment{targets: t, block: block, spec: spec, layout: layout}
	if t.cluster != nil {
		d.members = slices.Clone(spec.Members)
		d.places, err = t.cluster.places(d.members)
	} else {
		d.members, err = placed(spec, t.opt.Plan.Simulated != "")
	}
	if err != nil {
		return nil, err
	}
	for i := range d.members {
		m := &d.members[i]
		m.Role = layout.Role(m.Name)
		// Half of a pair cannot answer a request alone: some connectors hang or crash.
		m.Spec.Ready.NoCanary = m.Role != ""
		switch {
		case t.opt.Plan.Simulated == SimulateContainer && m.Spec.URL == "":
			m.Spec = t.containers.simulatedSpec(m.Spec)
			m.Spec.Container.Network = steps.NetworkHost
		case t.opt.Plan.Simulated != "" && m.Spec.URL == "":
			m.Spec = bare(m.Spec)
		case m.Spec.Image == "":
			m.Spec = located(m.Spec, t.opt.Dir)
		}
		if t.cluster != nil {
			m.Spec = onNode(m.Spec)
		}
	}
	return d, nil
}

// deployed is a target of several processes.
func (t targets) deployed(block *lang.Deployment, outputs engine.Outputs) (engine.TargetSpec, error) {
	spec := block.Spec
	// A simulated run carries out no step: what their outputs would be stays a placeholder.
	if block.Late && t.opt.Plan.Simulated == "" {
		resolved, diags := t.opt.Config.ResolveDeployment(block.Addr, outputs)
		if diags.HasErrors() {
			return engine.TargetSpec{}, diags
		}
		spec = resolved
	}
	d, err := t.newDeployment(block, spec)
	if err != nil {
		return engine.TargetSpec{}, err
	}
	return d.target(), nil
}

func (d *deployment) target() engine.TargetSpec {
	t := engine.TargetSpec{Members: d.processes(), Order: d.order(), Front: d.front(), Render: d.render}
	for _, need := range d.layout.Ports() {
		t.Ports = append(t.Ports, engine.PortNeed{Port: engine.Port{Member: need.Process, Purpose: need.Purpose}, Count: need.Count, Spacing: need.Spacing, Fixed: need.Fixed})
	}
	if r := d.spec.Router; r != nil {
		t.Canaries = max(1, len(r.Prefill)) * max(1, len(r.Decode))
		t.Canary = canary(engines.NewClient())
	}
	if d.spec.Transfer != nil {
		first := d.spec.Members[0].Spec
		t.Transfer = &kv.Evidence{
			Transfer: *d.spec.Transfer, Engine: first.Engine, Version: first.Version, Simulated: d.opt.Plan.Simulated != "",
		}
	}
	return t
}

// order is the layout's, after the servers that answer already.
func (d *deployment) order() [][]string {
	var attached []string
	for _, m := range d.members {
		if m.Spec.URL != "" {
			attached = append(attached, m.Name)
		}
	}
	order := d.layout.Order()
	if len(attached) > 0 {
		order = slices.Insert(order, 0, attached)
	}
	return order
}

// front is what clients talk to: the router, or the only server.
func (d *deployment) front() string {
	if d.spec.Router != nil {
		return kv.RouterName
	}
	return d.members[0].Name
}

// processes lists all members of the target with how each is launched and asked.
func (d *deployment) processes() []engine.Member {
	var out []engine.Member
	for i, s := range d.spec.Services {
		out = append(out, engine.Member{
			Name: s.Name, Role: result.RoleService, Range: plan.Range(d.block.Services[i].Range),
			Spec:   steps.ServerSpec{Addr: d.block.Services[i].Addr, StopGrace: serviceGrace, Ready: steps.Readiness{Timeout: serviceTimeout, Interval: serviceInterval}},
			Engine: &service{name: s.Name, path: d.readyPath(s.Name)}, Launcher: d.serviceLauncher(s.Name),
		})
	}
	for i, m := range d.members {
		if d.opt.Plan.Simulated != "" && m.Spec.URL == "" {
			m.Spec.Ready = inItsOwnTime(m.Spec.Ready, d.opt.Plan.TimeScale)
		}
		role := m.Role
		if role == "" {
			role = result.RoleServer
		}
		out = append(out, engine.Member{
			Name: m.Name, Role: role, Range: plan.Range(d.block.Servers[i].Range), Spec: m.Spec,
			Engine: d.opt.Engines[m.Spec.Engine], Launcher: d.memberLauncher(i),
		})
	}
	if d.spec.Router != nil {
		out = append(out, d.router())
	}
	return out
}

func (d *deployment) launcherOf(container bool) steps.Launcher {
	if container {
		return d.containers.launcher
	}
	return d.launcher
}

// router is asked as the servers behind it are. It is ready when it says so and lists their
// model; whether requests come through shows the canaries.
func (d *deployment) router() engine.Member {
	behind := d.member(d.spec.Router.Decode[0])
	spec := steps.ServerSpec{
		Addr: d.block.Router.Addr, Model: behind.Spec.Model, ServedName: behind.Spec.ServedName, APIKey: behind.Spec.APIKey,
		Ready: behind.Spec.Ready, StopGrace: routerGrace,
	}
	spec.Ready.NoCanary, spec.Ready.Path = true, ""
	return engine.Member{
		Name: kv.RouterName, Role: result.RoleRouter, Range: plan.Range(d.block.Router.Range), Spec: spec,
		Engine: routed{d.opt.Engines[behind.Spec.Engine]}, Launcher: d.launcherOf(d.opt.Plan.Simulated == SimulateContainer),
	}
}

func (d *deployment) member(name string) steps.Member {
	return d.members[slices.IndexFunc(d.members, func(m steps.Member) bool { return m.Name == name })]
}

// render renders all processes with the ports that were taken for them.
func (d *deployment) render(launch string, ports map[engine.Port]int) (map[string]engine.Process, error) {
	hosts, err := d.hosts()
	if err != nil {
		return nil, err
	}
	in := kv.Assigned{Ports: map[kv.Port]int{}, Hosts: hosts}
	for at, port := range ports {
		in.Ports[kv.Port{Process: at.Member, Purpose: at.Purpose}] = port
	}
	return d.renderAt(launch, in)
}

// renderAt renders all processes at given ports, or with their symbols.
func (d *deployment) renderAt(launch string, in kv.Assigned) (map[string]engine.Process, error) {
	rendered, err := d.layout.Render(in)
	if err != nil {
		return nil, err
	}
	out := map[string]engine.Process{}
	for i, m := range d.members {
		if m.Spec.URL != "" {
			continue
		}
		p, err := d.renderMember(i, rendered.Members[m.Name], in, launch)
		if err != nil {
			return nil, err
		}
		out[m.Name] = engine.Process{Process: p}
	}
	for _, s := range rendered.Services {
		p, err := d.renderService(s, launch)
		if err != nil {
			return nil, err
		}
		ready := ""
		if at := in.Ports[s.ReadyPort]; at != 0 && at != s.Port {
			ready = "http://" + net.JoinHostPort(cmp.Or(in.Hosts[s.Name], loopback), strconv.Itoa(at))
		}
		out[s.Name] = engine.Process{Process: p, ReadyURL: ready}
	}
	if rendered.Router != nil {
		out[kv.RouterName] = engine.Process{Process: d.renderRouter(*rendered.Router)}
	}
	return out, nil
}

// renderMember renders a server with what the transfer adds to its block.
func (d *deployment) renderMember(i int, extra kv.Extra, in kv.Assigned, launch string) (steps.Process, error) {
	m := d.members[i]
	spec := extra.Apply(m.Spec)
	at := kv.Port{Process: m.Name, Purpose: kv.PortHTTP}
	port := in.Ports[at]
	p, err := d.opt.Engines[spec.Engine].Render(spec, spec.ListenHost(), cmp.Or(port, shownPort))
	if err != nil {
		return p, err
	}
	if port == 0 {
		p.Argv = withSymbol(p.Argv, at.String())
	}
	p.Files = extra.Files
	if d.opt.Plan.Simulated != "" {
		return simulated(p, d.spec.Members[i].Spec, d.self(), d.opt.Plan.TimeScale, launch+" "+m.Name)
	}
	return p, nil
}

// self is where this program is for a simulated process.
func (d *deployment) self() string {
	if d.opt.Plan.Simulated == SimulateContainer {
		return docker.SimulatorProgram
	}
	return d.opt.Self
}

// hosts are the addresses at which others reach members: the loopback address unless a
// container with a network of its own is published by a daemon of another machine, or
// they run on nodes of a cluster.
func (d *deployment) hosts() (map[string]string, error) {
	if d.cluster != nil {
		return d.nodeHosts()
	}
	hosts := map[string]string{}
	for _, m := range d.members {
		if m.Spec.Image != "" && d.containers.launcher != nil && m.Spec.ListenHost() != loopback {
			hosts[m.Name] = d.containers.launcher.Address()
		}
	}
	return hosts, nil
}

const loopback = "127.0.0.1"

// renderRouter is our own router, as a command of this program.
func (d *deployment) renderRouter(r kv.Router) steps.Process {
	listen := net.JoinHostPort(r.Host, portText(r.Port, kv.Port{Process: kv.RouterName, Purpose: kv.PortHTTP}))
	argv := []string{d.self(), "router", "--protocol", r.Protocol, "--listen", listen}
	for _, b := range r.Prefill {
		argv = append(argv, "--prefill", backend(b))
	}
	for _, b := range r.Decode {
		argv = append(argv, "--decode", backend(b))
	}
	if r.NoParams {
		argv = append(argv, "--allow-recompute")
	}
	if d.opt.Plan.Simulated != "" {
		argv = append(argv, "--simulated")
	}
	p := steps.Process{
		Name: d.block.Router.Addr, Argv: argv, Host: r.Host, Port: r.Port, StopSignal: "TERM", StopGrace: routerGrace,
	}
	if d.opt.Plan.Simulated == SimulateContainer {
		p.Container = d.containers.own()
	}
	return p
}

// backend writes a server as the router's command line takes it.
func backend(b kv.Backend) string {
	text := b.URL + ",name=" + b.Name
	if b.Bootstrap != "" {
		text += ",bootstrap=" + b.Bootstrap
	}
	if b.KV != "" {
		text += ",kv=" + b.KV
	}
	return text
}

func portText(port int, symbol kv.Port) string {
	if port == 0 {
		return symbol.String()
	}
	return strconv.Itoa(port)
}

// canary sends short requests, each with a prompt of its own that fills several blocks of
// KV cache, so that there is something to hand over.
func canary(client *engines.Client) func(context.Context, steps.Endpoint, int) error {
	return func(ctx context.Context, front steps.Endpoint, n int) error {
		words := make([]string, canaryWords)
		for i := range words {
			words[i] = strconv.Itoa((i*i + 7*n + i) % 997)
		}
		prompt := fmt.Sprintf("Pair %d counts: %s", n+1, strings.Join(words, " "))
		return client.Complete(ctx, front, front.Model, prompt, canaryTokens)
	}
}

const (
	canaryWords  = 64
	canaryTokens = 4
)
