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
	// parts are the processes of the members as they are started: with their place, network
	// and GPUs.
	parts  []part
	places []slurm.Place
}

func (t targets) newDeployment(block *lang.Deployment, spec steps.DeploymentSpec) (*deployment, error) {
	layout, err := kv.NewLayout(spec)
	if err != nil {
		return nil, err
	}
	d := &deployment{targets: t, block: block, spec: spec, layout: layout}
	if d.parts, d.places, err = t.place(spread(spec.Members), spec.Transfer != nil); err != nil {
		return nil, err
	}
	for i := range d.parts {
		p := &d.parts[i]
		p.Role = layout.Role(spec.Members[p.server].Name)
		// Half of a pair cannot answer a request alone: some connectors hang or crash.
		p.Spec.Ready.NoCanary = p.Role != ""
	}
	return d, d.reachable()
}

// reachable refuses services that servers at other hosts do not reach.
func (d *deployment) reachable() error {
	for _, s := range d.spec.Services {
		if h := d.containers.host(serviceNode); d.cluster == nil && h != nil && !h.local && !d.serviceInContainer(s.Name) {
			return fmt.Errorf("service %q is an executable, which runs on this machine, where servers at %s do not reach it; give it an image", s.Name, h.shown)
		}
	}
	return nil
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
	t.Ports = append(t.Ports, portsOf(d.parts)...)
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
	for _, p := range d.parts {
		if p.Spec.URL != "" {
			attached = append(attached, p.Name)
		}
	}
	order := d.layout.Order()
	for _, p := range d.parts {
		if p.rank == 0 {
			continue
		}
		// Beside the first process of the server: they meet while they start.
		wave := slices.IndexFunc(order, func(names []string) bool { return slices.Contains(names, d.spec.Members[p.server].Name) })
		order[wave] = append(order[wave], p.Name)
	}
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
	return d.parts[0].Name
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
	for i, p := range d.parts {
		out = append(out, d.targets.member(p, plan.Range(d.block.Servers[p.server].Range), d.launcherAt(d.places, d.parts, i)))
	}
	if d.spec.Router != nil {
		out = append(out, d.router())
	}
	return out
}

// ownLauncher starts what runs beside the members: containers of services and of the router
// are on the first host.
func (d *deployment) ownLauncher(container bool) steps.Launcher {
	if container {
		return d.containers.host(serviceNode).launcher
	}
	return d.launcher
}

// routerInContainer says whether our router runs in a container, too. One at another host
// would be far from the load generator, unlike the one of a real run.
func (d *deployment) routerInContainer() bool {
	return d.opt.Plan.Simulated == SimulateContainer && d.containers.host(serviceNode).local
}

// routerLauncher starts the router where the load comes from.
func (d *deployment) routerLauncher() steps.Launcher {
	if node := d.cluster.loadNode(); node != nil {
		return d.cluster.launcher(slurm.Place{Node: *node})
	}
	return d.ownLauncher(d.routerInContainer())
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
		Engine: routed{d.opt.Engines[behind.Spec.Engine]}, Launcher: d.routerLauncher(),
	}
}

// member is the process of a server that answers.
func (d *deployment) member(name string) part {
	return d.parts[slices.IndexFunc(d.parts, func(p part) bool { return p.Name == name })]
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
	for _, p := range d.parts {
		if p.Spec.URL != "" {
			continue
		}
		r, err := d.renderPart(p, rendered.Members[d.spec.Members[p.server].Name], in, launch)
		if err != nil {
			return nil, err
		}
		out[p.Name] = engine.Process{Process: r}
	}
	for _, s := range rendered.Services {
		p, err := d.renderService(s, hostAt(in.Hosts, s.Name), launch)
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

// renderPart renders a process of a server with what the transfer adds to its block.
func (d *deployment) renderPart(p part, extra kv.Extra, in kv.Assigned, launch string) (steps.Process, error) {
	p.Spec = extra.Apply(p.Spec)
	at := kv.Port{Process: p.Name, Purpose: kv.PortHTTP}
	rendered, err := d.renderAtPort(p, in, in.Ports[at])
	if err != nil {
		return rendered, err
	}
	if in.Ports[at] == 0 && !p.Spec.Spread() {
		rendered.Argv = withSymbol(rendered.Argv, at.String())
	}
	rendered.Files = extra.Files
	if d.opt.Plan.Simulated != "" {
		return d.simulatedProcess(rendered, d.spec.Members[p.server].Spec, launch+" "+d.spec.Members[p.server].Name)
	}
	return rendered, nil
}

// renderAtPort renders a process at its port, or where that is not known yet at one that
// stands for it.
func (d *deployment) renderAtPort(p part, in kv.Assigned, port int) (steps.Process, error) {
	if !p.Spec.Spread() {
		return d.opt.Engines[p.Spec.Engine].Render(p.Spec, p.Spec.ListenHost(), cmp.Or(port, shownPort))
	}
	return renderNode(d.opt.Engines[p.Spec.Engine], p, in.Hosts, d.spec.Members[p.server].Name, in.Ports)
}

// hosts are the addresses at which others reach members, services and the router: the
// loopback address unless they run on nodes of a cluster, or on hosts elsewhere.
func (d *deployment) hosts() (map[string]string, error) {
	hosts, err := d.hostsOf(d.places, d.parts)
	if err != nil {
		return nil, err
	}
	for _, s := range d.spec.Services {
		switch h := d.containers.host(serviceNode); {
		case d.cluster != nil:
			if hosts[s.Name], err = d.nodeAddress(serviceNode); err != nil {
				return nil, err
			}
		case h != nil && !h.local && d.serviceInContainer(s.Name):
			hosts[s.Name] = h.address
		}
	}
	if node := d.cluster.loadNode(); node != nil && d.spec.Router != nil {
		if hosts[kv.RouterName], err = d.nodeAddress(*node); err != nil {
			return nil, err
		}
	}
	return hosts, nil
}

const loopback = "127.0.0.1"

// renderRouter is our own router, as a command of this program.
func (d *deployment) renderRouter(r kv.Router) steps.Process {
	listen := net.JoinHostPort(r.Host, portText(r.Port, kv.Port{Process: kv.RouterName, Purpose: kv.PortHTTP}))
	self := d.opt.Self
	if d.routerInContainer() {
		self = docker.SimulatorProgram
	}
	argv := []string{self, "router", "--protocol", r.Protocol, "--listen", listen}
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
	if d.routerInContainer() {
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
