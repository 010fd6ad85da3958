package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
	engines "github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/kv"
)

// Services and the router start quickly and have no work to finish.
const (
	serviceTimeout  = 2 * time.Minute
	serviceInterval = 100 * time.Millisecond
	serviceGrace    = 10 * time.Second
	routerGrace     = 5 * time.Second
)

// service checks whether a service of a deployment is ready. No report measures it, so it implements little of an
// engine.
type service struct {
	path string // path that answers 200, "" if accepting a connection is enough
}

var _ steps.Engine = (*service)(nil)

func (*service) Endpoints() []string                         { return nil }
func (*service) Capabilities() steps.EngineCapabilities      { return steps.EngineCapabilities{} }
func (*service) Reset(context.Context, steps.Endpoint) error { return nil }

// Render is not used: the layout renders services.
func (s *service) Render(steps.ServerSpec, string, steps.Port) (steps.Process, error) {
	return steps.Process{}, errors.New("a service is rendered by its deployment")
}

func (*service) Describe(context.Context, steps.Endpoint) (map[string]string, error) { return nil, nil }

// Ready connects, and requests the path if there is one.
func (s *service) Ready(ctx context.Context, ep steps.Endpoint, _ steps.Readiness) (string, bool, error) {
	u, err := url.Parse(ep.BaseURL)
	if err != nil {
		return "", false, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return steps.StateStarting, false, err
	}
	if err := errors.Join(conn.Close()); err != nil || s.path == "" {
		return steps.StateListening, err == nil, err
	}
	a, err := engines.NewClient().Get(ctx, ep, s.path)
	switch {
	case err != nil:
		return steps.StateListening, false, err
	case !a.OK():
		return steps.StateListening, false, a.Err("GET " + s.path)
	}
	return steps.StateHealthy, true, nil
}

// Classify applies the rules that all servers share.
func (*service) Classify(tail []string) (class, evidence string) {
	return engines.Classify(engines.SharedRules(), tail)
}

// routed is the engine of the servers behind a router, queried through it. Only ours measures what it adds.
type routed struct {
	steps.Engine
	ours bool
}

// Reset does nothing: the servers are reset one by one.
func (routed) Reset(context.Context, steps.Endpoint) error { return nil }

// Describe returns nothing: the servers describe themselves.
func (routed) Describe(context.Context, steps.Endpoint) (map[string]string, error) { return nil, nil }

// Capabilities returns those of the router only: the servers are watched one by one.
func (r routed) Capabilities() steps.EngineCapabilities {
	if !r.ours {
		return steps.EngineCapabilities{}
	}
	return steps.EngineCapabilities{MeasureOverhead: measureOverhead}
}

// Classify recognises the router's own failures, not those of the engine.
func (routed) Classify(tail []string) (class, evidence string) {
	return engines.Classify(engines.SharedRules(), tail)
}

func (d *deployment) readyPath(name string) string {
	for _, s := range d.services() {
		if s.Name == name {
			return s.ReadyPath
		}
	}
	return ""
}

// services returns the services as the layout renders them before ports are known.
func (d *deployment) services() []kv.Service {
	rendered, err := d.layout.Render(d.layout.Symbolic())
	if err != nil {
		return nil // symbols are always complete
	}
	return rendered.Services
}

// serviceContained reports whether a service runs in a container, from its own image or as a simulated container.
func (d *deployment) serviceContained(name string) bool {
	if d.simulated() {
		return d.Plan.Simulated == plan.SimulateContainer
	}
	return slices.ContainsFunc(d.services(), func(s kv.Service) bool { return s.Name == name && s.Image != "" })
}

// renderService renders a service as a process, in its image, or as a simulated double.
func (d *deployment) renderService(s kv.Service, launch string) (steps.Process, error) {
	slot := d.slots[s.Name]
	p := steps.Process{
		Name: d.spec.Addr + ".service." + s.Name, Argv: slices.Concat(s.Program, s.Args), Env: s.Env,
		Host: cmp.Or(slot.Host, place.Loopback), Port: s.Port, StopSignal: "TERM", StopGrace: serviceGrace,
	}
	switch {
	case d.simulated():
		p.Argv = []string{slot.Self.Program, "simulate", "--", s.Kind}
		if s.Listen != "" {
			p.Argv = append(p.Argv, "--"+s.Listen, cmp.Or(slot.Spec.Listen, p.Host))
		}
		p.Argv = append(p.Argv, s.Args...)
		p.Container = ownContainer(slot.Self)
		return p, nil
	case s.Image != "":
		p.Container = &steps.ContainerSpec{Image: s.Image, Network: steps.NetworkHost}
		return p, nil
	case len(p.Argv) == 0:
		return p, fmt.Errorf("service %s has neither an image nor an executable", s.Name)
	}
	p.Dir = d.Plan.Config.Folder
	if s.Scratch && d.Folder != nil {
		dir, err := d.Folder(launch + "-" + s.Name)
		if err != nil {
			return p, err
		}
		p.Dir = dir
	}
	p.Argv[0] = place.Program(p.Argv[0], d.Plan.Config.Folder)
	return p, nil
}
