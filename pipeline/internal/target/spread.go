package target

import (
	"context"
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
)

// rendezvousPort is the purpose of the port to which the processes of a server connect.
const rendezvousPort = "rendezvous"

// portsOf returns the ports that servers on several nodes need in addition to the HTTP port of their first process.
func portsOf(parts []place.Part) []kv.PortNeed {
	var needs []kv.PortNeed
	for _, p := range parts {
		switch {
		case !p.Spec.Spread():
		case p.Rank == 0:
			needs = append(needs, kv.PortNeed{Port: kv.Port{Process: p.Name, Purpose: rendezvousPort}, Count: 1, Spacing: rendezvousSpacing})
		default:
			needs = append(needs, kv.PortNeed{Port: kv.Port{Process: p.Name, Purpose: kv.PortHTTP}, Count: 1, Spacing: serverSpacing})
		}
	}
	return needs
}

const (
	// serverSpacing separates the ports of servers: SGLang derives further ports up to 233 above its own, vLLM searches
	// free ones upwards from a base.
	serverSpacing = 300
	// rendezvousSpacing leaves room for the ports that SGLang uses above the rendezvous port.
	rendezvousSpacing = 20
)

// follower is the engine of a process beside the first of a server. It is never queried: the first process is ready
// when all are.
type follower struct{ steps.Engine }

// Ready returns true at once.
func (follower) Ready(context.Context, steps.Endpoint, steps.Readiness) (string, bool, error) {
	return stateJoined, true, nil
}

// Reset does nothing: the first process does it for all.
func (follower) Reset(context.Context, steps.Endpoint) error { return nil }

// Describe returns nothing: the first process describes the server.
func (follower) Describe(context.Context, steps.Endpoint) (map[string]string, error) { return nil, nil }

// Capabilities returns none: the first process is watched for all.
func (follower) Capabilities() steps.EngineCapabilities { return steps.EngineCapabilities{} }

// stateJoined is the only state of a follower.
const stateJoined = "running"

// renderNode renders the process of a part, with the chosen ports or their symbols.
func renderNode(e steps.Engine, p place.Part, head string, in kv.Assigned) (steps.Process, error) {
	spreader := e.Capabilities().Spreader
	if spreader == nil {
		return steps.Process{}, fmt.Errorf("%s: a server of kind %q cannot be spread over nodes; remove nodes", p.Spec.Addr, p.Spec.Engine)
	}
	at := steps.NodePlace{
		Rank: p.Rank, Host: hostAt(in.Hosts, p.Name), Head: hostAt(in.Hosts, head), Listen: p.Spec.ListenHost(),
		Rendezvous: portAt(in.Ports, kv.Port{Process: head, Purpose: rendezvousPort}),
		Port:       portAt(in.Ports, kv.Port{Process: p.Name, Purpose: kv.PortHTTP}),
	}
	rendered, err := spreader.RenderNode(p.Spec, at)
	if p.Rank > 0 {
		rendered.Name += fmt.Sprintf(" node %d", p.Rank)
	}
	return rendered, err
}

// portAt returns a chosen port, or its symbol.
func portAt(ports map[kv.Port]int, at kv.Port) steps.Port {
	if n := ports[at]; n != 0 {
		return steps.PortNumber(n)
	}
	return steps.PortSymbol(at.String())
}

func hostAt(hosts map[string]string, name string) string {
	if h := hosts[name]; h != "" {
		return h
	}
	return place.Loopback
}

// serverTarget is a target of one server, on one node or spread over several.
type serverTarget struct {
	Resolver
	server *config.Server
	parts  []place.Part
	slots  map[string]place.Slot
}

// serverParts returns the processes of a server that is a target by itself. Processes of a server on several nodes are
// named by their nodes.
func serverParts(addr string, spec steps.ServerSpec) []place.Part {
	if spec.Spread() {
		addr = ""
	}
	return place.Spread([]steps.Member{{Name: addr, Spec: spec}})
}

// placedServer returns a target of one server for placement.
func (r Resolver) placedServer(parts []place.Part) place.Target {
	return place.Target{Processes: r.processes(parts), Alone: len(parts) == 1}
}

// newServer places the processes of a server.
func (r Resolver) newServer(server *config.Server, spec steps.ServerSpec) (*serverTarget, error) {
	parts := serverParts(server.Addr, spec)
	slots, err := r.assign(r.placedServer(parts))
	return &serverTarget{Resolver: r, server: server, parts: parts, slots: slots}, err
}

func (s *serverTarget) target() engine.TargetSpec {
	first := s.parts[0]
	t := engine.TargetSpec{Front: first.Name, Order: [][]string{nil}}
	for _, p := range s.parts {
		t.Members, t.Order[0] = append(t.Members, s.member(p, s.server.Range, s.slots[p.Name], p.Spec.Spread())), append(t.Order[0], p.Name)
	}
	if first.Spec.URL == "" {
		http := kv.Port{Process: first.Name, Purpose: kv.PortHTTP}
		t.Ports = append([]kv.PortNeed{{Port: http, Count: 1, Spacing: serverSpacing, Fixed: first.Spec.Port}}, portsOf(s.parts)...)
		t.Render = s.render
		t.Caches = s.caches(s.parts)
	}
	return t
}

func (s *serverTarget) render(launch string, ports map[kv.Port]int) (map[string]engine.Process, error) {
	in := kv.Assigned{Ports: ports, Hosts: hostsOf(s.slots)}
	out := map[string]engine.Process{}
	for _, p := range s.parts {
		slot := s.slots[p.Name]
		p.Spec = s.started(p.Spec, slot, p.Spec.Spread())
		port := portAt(ports, kv.Port{Process: p.Name, Purpose: kv.PortHTTP})
		if ports == nil {
			port = shownPort(p.Spec)
		}
		rendered, err := s.renderServer(p, s.parts[0].Name, in, port)
		if err == nil && s.simulated() {
			rendered, err = s.double(rendered, s.server.Spec, slot.Self, launch)
		}
		if err != nil {
			return nil, err
		}
		out[p.Name] = engine.Process{Process: rendered}
	}
	return out, nil
}
