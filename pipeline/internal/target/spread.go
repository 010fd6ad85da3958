package target

import (
	"context"
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
)

// rendezvousPort is the purpose of the port at which the processes of a server meet.
const rendezvousPort = "rendezvous"

// portsOf are the ports that the processes of servers on several nodes need beside those
// of the first one.
func portsOf(parts []place.Part) []engine.PortNeed {
	var needs []engine.PortNeed
	for _, p := range parts {
		switch {
		case !p.Spec.Spread():
		case p.Rank == 0:
			needs = append(needs, engine.PortNeed{Port: engine.Port{Member: p.Name, Purpose: rendezvousPort}, Count: 1, Spacing: rendezvousSpacing})
		default:
			needs = append(needs, engine.PortNeed{Port: engine.Port{Member: p.Name, Purpose: kv.PortHTTP}, Count: 1, Spacing: engine.ServerSpacing})
		}
	}
	return needs
}

// rendezvousSpacing is for the further ports that SGLang takes behind the rendezvous.
const rendezvousSpacing = 20

// follower is the engine of a process beside the first of a server. Nobody asks it
// anything: the first is ready when all are.
type follower struct{ steps.Engine }

// Ready says so at once.
func (follower) Ready(context.Context, steps.Endpoint, steps.Readiness) (string, bool, error) {
	return stateJoined, true, nil
}

// Reset does nothing: the first process does it for all.
func (follower) Reset(context.Context, steps.Endpoint) error { return nil }

// Describe tells nothing: the first process describes the server.
func (follower) Describe(context.Context, steps.Endpoint) (map[string]string, error) { return nil, nil }

// stateJoined is the only state of a follower.
const stateJoined = "running"

// renderNode renders the process of a part, at the ports that were taken, or with their
// symbols.
func renderNode(e steps.Engine, p place.Part, hosts map[string]string, head string, ports map[kv.Port]int) (steps.Process, error) {
	spreader, ok := e.(steps.Spreader)
	if !ok {
		return steps.Process{}, fmt.Errorf("%s: a server of kind %q cannot be spread over nodes; remove nodes", p.Spec.Addr, p.Spec.Engine)
	}
	at := steps.NodePlace{
		Rank: p.Rank, Host: hostAt(hosts, p.Name), Head: hostAt(hosts, head), Listen: p.Spec.ListenHost(),
		Rendezvous: portAt(ports, kv.Port{Process: head, Purpose: rendezvousPort}),
		Port:       portAt(ports, kv.Port{Process: p.Name, Purpose: kv.PortHTTP}),
	}
	rendered, err := spreader.RenderNode(p.Spec, at)
	if p.Rank > 0 {
		rendered.Name += fmt.Sprintf(" node %d", p.Rank)
	}
	return rendered, err
}

// portAt is a port that was taken, or its symbol.
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

// spreadServer is a target of one server that is spread over nodes.
type spreadServer struct {
	Resolver
	server *lang.Server
	parts  []place.Part
	slots  []place.Slot
}

// newSpread places the processes of a server.
func (r Resolver) newSpread(server *lang.Server, spec steps.ServerSpec) (*spreadServer, error) {
	parts := spread(spec)
	slots, err := r.Places.Assign(place.Target{Processes: r.processes(parts)})
	return &spreadServer{Resolver: r, server: server, parts: parts, slots: slots}, err
}

func (s *spreadServer) target() engine.TargetSpec {
	http := engine.Port{Member: s.parts[0].Name, Purpose: kv.PortHTTP}
	t := engine.TargetSpec{
		Front: s.parts[0].Name, Order: [][]string{nil}, Render: s.render,
		Ports: append([]engine.PortNeed{{Port: http, Count: 1, Spacing: engine.ServerSpacing, Fixed: s.parts[0].Spec.Port}}, portsOf(s.parts)...),
	}
	for i, p := range s.parts {
		t.Members, t.Order[0] = append(t.Members, s.member(p, s.server.Range, s.slots[i], true)), append(t.Order[0], p.Name)
	}
	return t
}

func (s *spreadServer) render(launch string, taken map[engine.Port]int) (map[string]engine.Process, error) {
	ports, hosts := map[kv.Port]int{}, map[string]string{}
	for at, port := range taken {
		ports[kv.Port{Process: at.Member, Purpose: at.Purpose}] = port
	}
	for i, p := range s.parts {
		hosts[p.Name] = s.slots[i].Host
	}
	out := map[string]engine.Process{}
	for i, p := range s.parts {
		p.Spec = s.started(p.Spec, s.slots[i], true)
		rendered, err := renderNode(s.Engines[p.Spec.Engine], p, hosts, s.parts[0].Name, ports)
		if err == nil && s.simulated() {
			rendered, err = s.double(rendered, s.server.Spec, s.slots[i].Self, launch)
		}
		if err != nil {
			return nil, err
		}
		out[p.Name] = engine.Process{Process: rendered}
	}
	return out, nil
}
