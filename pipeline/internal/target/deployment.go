package target

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	engines "github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/router"
)

// deployment builds the processes of a deployment block. It holds the layout and the slots of the processes.
type deployment struct {
	Resolver
	block  *config.Deployment
	spec   steps.DeploymentSpec
	layout *kv.Layout
	// parts are the processes of the servers as the file declares them.
	parts []place.Part
	// slots holds the slot of each process by name, once the processes are placed.
	slots map[string]place.Slot
}

// layOut returns a deployment with its processes, which have no slots yet.
func (r Resolver) layOut(block *config.Deployment, spec steps.DeploymentSpec) (*deployment, error) {
	layout, err := r.Connectors.NewLayout(spec)
	if err != nil {
		return nil, err
	}
	d := &deployment{Resolver: r, block: block, spec: spec, layout: layout, parts: place.Spread(spec.Members)}
	for i := range d.parts {
		p := &d.parts[i]
		p.Role = layout.Role(spec.Members[p.Server].Name)
		// One half of a prefill-decode pair cannot answer a request alone: some connectors hang or crash.
		p.Spec.Ready.NoCanary = p.Role != ""
	}
	return d, nil
}

// placed returns the processes in the order in which they are placed: servers, services, router.
func (d *deployment) placed() place.Target {
	t := place.Target{Processes: d.processes(d.parts), Together: d.spec.Transfer != nil}
	for _, s := range d.spec.Services {
		t.Processes = append(t.Processes, place.Process{Name: s.Name, Role: place.RoleService, Contained: d.serviceContained(s.Name)})
	}
	if d.spec.Router != nil {
		contained := d.Plan.Simulated == plan.SimulateContainer
		t.Processes = append(t.Processes, place.Process{Name: kv.RouterName, Role: place.RoleRouter, Contained: contained})
	}
	return t
}

// newDeployment lays a deployment out and places it.
func (r Resolver) newDeployment(block *config.Deployment, spec steps.DeploymentSpec) (*deployment, error) {
	d, err := r.layOut(block, spec)
	if err != nil {
		return nil, err
	}
	d.slots, err = d.assign(d.placed())
	return d, err
}

// deployment resolves a target of several processes.
func (r Resolver) deployment(block *config.Deployment, outputs config.Outputs) (engine.TargetSpec, error) {
	spec := block.Spec
	// A simulated run executes no steps, so the outputs of steps stay placeholders.
	if block.Late && !r.simulated() {
		var err error
		if spec, err = r.Plan.Config.Late.ResolveDeployment(block.Addr, outputs); err != nil {
			return engine.TargetSpec{}, err
		}
	}
	if r.Change != nil {
		spec.Members = slices.Clone(spec.Members)
	}
	for i := range spec.Members {
		changed, err := r.changed(spec.Members[i].Spec)
		if err != nil {
			return engine.TargetSpec{}, err
		}
		spec.Members[i].Spec = changed
	}
	d, err := r.newDeployment(block, spec)
	if err != nil {
		return engine.TargetSpec{}, err
	}
	return d.target(), nil
}

func (d *deployment) target() engine.TargetSpec {
	t := engine.TargetSpec{Members: d.members(), Order: d.order(), Front: d.front(), Render: d.render, Caches: d.caches(d.parts)}
	t.Ports = slices.Concat(d.layout.Ports(), portsOf(d.parts))
	if d.Places.Model() != nil { // no request opens a connection, and no bytes move that could be evidence
		return t
	}
	if r := d.spec.Router; r != nil {
		t.Canaries = max(1, len(r.Prefill)) * max(1, len(r.Decode))
		t.Canary = canary(engines.NewClient())
	}
	if d.spec.Transfer != nil {
		first := d.spec.Members[0].Spec
		t.Transfer = &kv.Evidence{
			Connectors: d.Connectors,
			Transfer:   *d.spec.Transfer, Engine: first.Engine, Version: first.Version, Simulated: d.simulated(),
		}
	}
	return t
}

// order returns the start order of the layout, preceded by the servers that already run at a URL.
func (d *deployment) order() [][]string {
	var attached []string
	for _, p := range d.parts {
		if p.Spec.URL != "" {
			attached = append(attached, p.Name)
		}
	}
	order := d.layout.Order()
	for _, p := range d.parts {
		if p.Rank == 0 {
			continue
		}
		// The other processes start in the same wave as the first process of their server, since they connect while
		// starting.
		wave := slices.IndexFunc(order, func(names []string) bool { return slices.Contains(names, d.spec.Members[p.Server].Name) })
		order[wave] = append(order[wave], p.Name)
	}
	if len(attached) > 0 {
		order = slices.Insert(order, 0, attached)
	}
	return order
}

// front returns the name of the process that clients send requests to: the router, or the only server.
func (d *deployment) front() string {
	if d.spec.Router != nil {
		return kv.RouterName
	}
	return d.parts[0].Name
}

// members returns all processes of the target, with how each is launched and queried.
func (d *deployment) members() []engine.Member {
	var out []engine.Member
	for i, s := range d.spec.Services {
		out = append(out, d.beside(engine.Member{
			Name: s.Name, Role: result.RoleService, Range: plan.Range(d.block.Services[i].Range),
			Spec: steps.ServerSpec{Addr: d.block.Services[i].Addr, StopGrace: serviceGrace, Ready: steps.Readiness{Timeout: serviceTimeout,
				Interval: serviceInterval}},
			Engine: &service{d.readyPath(s.Name)},
		}))
	}
	for _, p := range d.parts {
		out = append(out, d.member(p, d.block.Servers[p.Server].Range, d.slots[p.Name], d.spec.Transfer != nil))
	}
	if d.spec.Router != nil {
		out = append(out, d.router())
	}
	return out
}

// beside sets the launcher and the engine of a process that runs beside the servers from its slot.
func (d *deployment) beside(m engine.Member) engine.Member {
	slot := d.slots[m.Name]
	if m.Launcher = slot.Launcher; slot.Ask != nil {
		m.Engine = slot.Ask(m.Engine)
	}
	return m
}

// router returns the router as a member. It is queried as the servers behind it are. It is ready when it reports so and
// lists their model. Canaries test whether requests reach the servers.
func (d *deployment) router() engine.Member {
	behind := d.parts[slices.IndexFunc(d.parts, func(p place.Part) bool { return p.Name == d.spec.Router.Decode[0] })]
	served := behind.Spec
	spec := steps.ServerSpec{
		Addr: d.block.Router.Addr, Model: served.Model, ServedName: served.ServedName, APIKey: served.APIKey,
		Ready: served.Ready, StopGrace: routerGrace,
	}
	spec.Ready.NoCanary, spec.Ready.Path = true, ""
	return d.beside(engine.Member{
		Name: kv.RouterName, Role: result.RoleRouter, Range: plan.Range(d.block.Router.Range), Spec: spec,
		Engine: routed{d.Engines[behind.Spec.Engine], len(d.spec.Router.Command) == 0},
	})
}

// render renders all processes with the chosen ports.
func (d *deployment) render(launch string, ports map[kv.Port]int) (map[string]engine.Process, error) {
	return d.renderAt(launch, kv.Assigned{Ports: ports, Hosts: hostsOf(d.slots)})
}

// renderAt renders all processes with given ports, or with symbols for them.
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
		r, err := d.renderPart(p, rendered.Members[d.spec.Members[p.Server].Name], in, launch)
		if err != nil {
			return nil, err
		}
		out[p.Name] = engine.Process{Process: r}
	}
	for _, s := range rendered.Services {
		p, err := d.renderService(s, launch)
		if err != nil {
			return nil, err
		}
		ready := ""
		if at := in.Ports[s.ReadyPort]; at != 0 && at != s.Port {
			ready = "http://" + net.JoinHostPort(cmp.Or(in.Hosts[s.Name], place.Loopback), strconv.Itoa(at))
		}
		out[s.Name] = engine.Process{Process: p, ReadyURL: ready}
	}
	if rendered.Router != nil {
		out[kv.RouterName] = engine.Process{Process: d.renderRouter(*rendered.Router, in)}
	}
	return out, nil
}

// renderPart renders a process of a server, including what the transfer adds to its block.
func (d *deployment) renderPart(p place.Part, extra kv.Extra, in kv.Assigned, launch string) (steps.Process, error) {
	p.Spec = extra.Apply(d.started(p.Spec, d.slots[p.Name], d.spec.Transfer != nil || p.Spec.Spread()))
	rendered, err := d.renderServer(p, d.spec.Members[p.Server].Name, in, portAt(in.Ports, kv.Port{Process: p.Name, Purpose: kv.PortHTTP}))
	if err != nil {
		return rendered, err
	}
	rendered.Files = extra.Files
	if d.simulated() {
		return d.double(rendered, d.spec.Members[p.Server].Spec, d.slots[p.Name].Self, launch+" "+d.spec.Members[p.Server].Name)
	}
	return rendered, nil
}

// renderServer renders a process of a server with its port, or with the port's symbol. head is the name of the server's
// first process.
func (r Resolver) renderServer(p place.Part, head string, in kv.Assigned, port steps.Port) (steps.Process, error) {
	e := r.Engines[p.Spec.Engine]
	if p.Spec.Spread() {
		return renderNode(e, p, head, in)
	}
	return e.Render(p.Spec, p.Spec.ListenHost(), port)
}

// hostsOf returns the addresses at which processes reach each other, by name. A process without an entry is at the
// loopback address.
func hostsOf(slots map[string]place.Slot) map[string]string {
	hosts := map[string]string{}
	for name, slot := range slots {
		if slot.Host != "" {
			hosts[name] = slot.Host
		}
	}
	return hosts
}

// renderRouter renders the router: ours as a command of this program, or the command of another.
func (d *deployment) renderRouter(r kv.Router, in kv.Assigned) steps.Process {
	slot := d.slots[kv.RouterName]
	self, host := slot.Self, cmp.Or(slot.Spec.Listen, r.Host)
	port := portAt(in.Ports, kv.Port{Process: kv.RouterName, Purpose: kv.PortHTTP})
	p := steps.Process{
		Name: d.block.Router.Addr, Host: host, Port: r.Port, StopSignal: "TERM", StopGrace: routerGrace, Container: ownContainer(self),
	}
	if spec := d.spec.Router; len(spec.Command) > 0 {
		urls := make([]string, len(r.Decode))
		for i, b := range r.Decode {
			urls[i] = b.URL
		}
		listening := router.Listening{Host: host, Port: port, Decode: urls}
		if spec.Uses("metrics_port") {
			listening.Metrics = portAt(in.Ports, kv.Port{Process: kv.RouterName, Purpose: kv.PortMetrics})
		}
		p.Argv, p.Env, p.Dir = router.Command(spec.Command, listening), spec.Env, d.Plan.Config.Folder
		p.Argv[0] = place.Program(p.Argv[0], p.Dir)
		return p
	}
	p.Argv = []string{self.Program, "router", "--protocol", r.Protocol, "--listen", net.JoinHostPort(host, port.String())}
	for _, b := range r.Prefill {
		p.Argv = append(p.Argv, "--prefill", backend(b))
	}
	for _, b := range r.Decode {
		p.Argv = append(p.Argv, "--decode", backend(b))
	}
	if r.NoParams {
		p.Argv = append(p.Argv, "--allow-recompute")
	}
	if d.simulated() {
		p.Argv = append(p.Argv, "--simulated")
	}
	return p
}

// backend formats a server for the router's command line.
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

// canary returns a function that sends a short request. Each has a different prompt that fills several blocks of KV
// cache, so that there is data to transfer.
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
