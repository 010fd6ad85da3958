package session

import (
	"cmp"
	"context"
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/slurm"
)

// part is one process of a server: all of it, or that of one node.
type part struct {
	// Member as it is started. The first part of a server has the server's name, others
	// that of their node behind it.
	steps.Member
	server int // the server's index among the deployment's
	rank   int // of the node among the server's
}

// spread lists the processes of servers: one, or for one that is spread over nodes as many
// as it has nodes, each with its share of the GPUs.
func spread(members []steps.Member) []part {
	var out []part
	for i, m := range members {
		if !m.Spec.Spread() {
			out = append(out, part{Member: m, server: i})
			continue
		}
		for rank := range m.Spec.Nodes {
			p := part{Member: m, server: i, rank: rank}
			p.Name = nodeName(m.Name, rank)
			p.Spec.Node += rank
			p.Spec.GPUs /= m.Spec.Nodes
			if rank > 0 {
				p.Spec.Port = 0 // the one of the file is that which answers
			}
			out = append(out, p)
		}
	}
	return out
}

// nodeName names the process of a node. A server that is the whole target has no name but
// its address.
func nodeName(server string, rank int) string {
	switch {
	case server == "":
		return fmt.Sprintf("node%d", rank)
	case rank == 0:
		return server
	}
	return fmt.Sprintf("%s.node%d", server, rank)
}

// members of parts, for placing them.
func membersOf(parts []part) []steps.Member {
	out := make([]steps.Member, len(parts))
	for i, p := range parts {
		out[i] = p.Member
	}
	return out
}

// rendezvousPort is the purpose of the port at which the processes of a server meet.
const rendezvousPort = "rendezvous"

// portsOf are the ports that the processes of servers on several nodes need beside those
// of the first one.
func portsOf(parts []part) []engine.PortNeed {
	var needs []engine.PortNeed
	for _, p := range parts {
		switch {
		case !p.Spec.Spread():
		case p.rank == 0:
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
func renderNode(e steps.Engine, p part, hosts map[string]string, head string, ports map[kv.Port]int) (steps.Process, error) {
	spreader, ok := e.(steps.Spreader)
	if !ok {
		return steps.Process{}, fmt.Errorf("%s: a server of kind %q cannot be spread over nodes; remove nodes", p.Spec.Addr, p.Spec.Engine)
	}
	at := steps.NodePlace{
		Rank: p.rank, Host: hostAt(hosts, p.Name), Head: hostAt(hosts, head), Listen: p.Spec.ListenHost(),
		Rendezvous: cmp.Or(ports[kv.Port{Process: head, Purpose: rendezvousPort}], shownRendezvous),
		Port:       cmp.Or(ports[kv.Port{Process: p.Name, Purpose: kv.PortHTTP}], shownPort),
	}
	rendered, err := spreader.RenderNode(p.Spec, at)
	rendered.Argv = withSymbols(rendered.Argv, ports, p.Name, head)
	if p.rank > 0 {
		rendered.Name += fmt.Sprintf(" node %d", p.rank)
	}
	return rendered, err
}

func hostAt(hosts map[string]string, name string) string {
	if h := hosts[name]; h != "" {
		return h
	}
	return loopback
}

// spreadServer is a target of one server that is spread over nodes.
type spreadServer struct {
	targets
	server *lang.Server
	parts  []part
	places []slurm.Place
}

// newSpread places the processes of a server.
func (t targets) newSpread(server *lang.Server, spec steps.ServerSpec) (*spreadServer, error) {
	parts, at, err := t.place(spread([]steps.Member{{Spec: spec}}), false)
	return &spreadServer{targets: t, server: server, parts: parts, places: at}, err
}

func (s *spreadServer) target() engine.TargetSpec {
	http := engine.Port{Member: s.parts[0].Name, Purpose: kv.PortHTTP}
	t := engine.TargetSpec{
		Front: s.parts[0].Name, Order: [][]string{nil}, Render: s.render,
		Ports: append([]engine.PortNeed{{Port: http, Count: 1, Spacing: engine.ServerSpacing, Fixed: s.parts[0].Spec.Port}}, portsOf(s.parts)...),
	}
	for i, p := range s.parts {
		m := s.member(p, plan.Range(s.server.Range), s.launcherAt(s.places, s.parts, i))
		t.Members, t.Order[0] = append(t.Members, m), append(t.Order[0], p.Name)
	}
	return t
}

// member is how the engine launches and asks a part.
func (t targets) member(p part, at result.Range, launcher steps.Launcher) engine.Member {
	m := engine.Member{Name: p.Name, Role: result.RoleServer, Range: at, Spec: p.Spec, Engine: t.opt.Engines[p.Spec.Engine], Launcher: launcher}
	if p.Role != "" {
		m.Role = p.Role
	}
	if p.rank > 0 {
		m.Role, m.Engine = result.RoleNode, follower{m.Engine}
	}
	if t.opt.Plan.Simulated != "" && m.Spec.URL == "" {
		m.Spec.Ready = inItsOwnTime(m.Spec.Ready, t.opt.Plan.TimeScale)
	}
	return m
}

func (s *spreadServer) render(launch string, taken map[engine.Port]int) (map[string]engine.Process, error) {
	ports := map[kv.Port]int{}
	for at, port := range taken {
		ports[kv.Port{Process: at.Member, Purpose: at.Purpose}] = port
	}
	hosts, err := s.hostsOf(s.places, s.parts)
	if err != nil {
		return nil, err
	}
	out := map[string]engine.Process{}
	for _, p := range s.parts {
		rendered, err := renderNode(s.opt.Engines[p.Spec.Engine], p, hosts, s.parts[0].Name, ports)
		if err == nil && s.opt.Plan.Simulated != "" {
			rendered, err = s.simulatedProcess(rendered, s.server.Spec, launch)
		}
		if err != nil {
			return nil, err
		}
		out[p.Name] = engine.Process{Process: rendered}
	}
	return out, nil
}
