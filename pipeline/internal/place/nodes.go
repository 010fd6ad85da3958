package place

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/machine"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

// Nodes are the machines of a cluster that a place has, by their number.
type Nodes struct {
	// Kind of cluster is the first word of their facts.
	Kind string
	List []Node
	// Lanes, each of Width nodes, on which repeats run side by side; 1 and 0 where they do not.
	Lanes, Width int
	// Load are the nodes that load comes from, one for each lane, nil for the machine of the command.
	Load []int
	// LoadAs says what generates it on a node, such as "a step of the job", and LoadHere where it is
	// generated without one.
	LoadAs, LoadHere string
	// Advice says how to get nodes that are alike.
	Advice string
}

// LanesOf returns on how many lanes the repeats of a plan are carried out on nodes of a cluster, and how many
// nodes each has for itself. Repeats that come one after another have one lane of all nodes.
func LanesOf(p *plan.Plan) (lanes, width int) {
	if m := p.Machines; m != nil {
		return m.Count, m.Width
	}
	if c := p.Cluster; c != nil && c.Lanes > 1 {
		return c.Lanes, c.LaneNodes
	}
	return 1, 0
}

// LoadNodes are the nodes that load comes from, by number, one for each lane: node is that of a lane, nil where
// load comes from none.
func LoadNodes(p *plan.Plan, node *int) []int {
	if node == nil {
		return nil
	}
	lanes, width := LanesOf(p)
	out := make([]int, lanes)
	for lane := range out {
		out[lane] = lane*width + *node
	}
	return out
}

// CheckNodeLoad refuses load of a node whose answers are to be delayed: what delays them runs beside the command.
func CheckNodeLoad(node *int, delayed bool) error {
	if delayed && node != nil {
		return errors.New("load of a node cannot be delayed on purpose, since what delays it runs beside the command: leave load_node out")
	}
	return nil
}

// Node of a cluster.
type Node struct {
	Name  string
	Facts map[string]string
}

// classUnlikeNodes is the class of nodes that are not what a comparison needs.
const classUnlikeNodes = "unlike_nodes"

// Compare sees whether the hosts of each role are alike, over the members of a target and
// over the lanes that repeats run on. An error names two that are not; the
// differences that it returns do not matter as much.
func (n Nodes) Compare(opt Options) (differences []string, err error) {
	for _, t := range opt.Plan.Targets {
		hosts := n.rolesOn(opt.Config, t.Addr)
		gpus := slices.ContainsFunc(slices.Concat(slices.Collect(maps.Values(byRole(opt.Config, t.Addr)))...), wantsGPUs)
		for _, role := range slices.Sorted(maps.Keys(hosts)) {
			first := n.List[hosts[role][0]]
			for _, i := range hosts[role][1:] {
				other := n.List[i]
				hard, soft := probe.Unlike(first.Facts, other.Facts, gpus)
				if hard != "" {
					return nil, &steps.EvictionError{Class: classUnlikeNodes, Reason: fmt.Sprintf(
						"%s: the hosts of role %q are not alike: node %s has %s and node %s has %s; %s, or place the servers on others",
						t.Addr, role, first.Name, factText(first.Facts, hard), other.Name, factText(other.Facts, hard), n.Advice)}
				}
				if soft != "" {
					text := fmt.Sprintf("nodes %s and %s differ: %s and %s", first.Name, other.Name, factText(first.Facts, soft),
						factText(other.Facts, soft))
					if !slices.Contains(differences, text) {
						differences = append(differences, text)
					}
				}
			}
		}
	}
	return differences, nil
}

// rolesOn lists the nodes that servers of each role of a target run on, by number.
func (n Nodes) rolesOn(cfg *lang.Config, addr string) map[string][]int {
	hosts := map[string][]int{}
	for role, specs := range byRole(cfg, addr) {
		for _, s := range specs {
			for rank := range max(s.Nodes, 1) {
				for lane := range n.Lanes {
					if at := lane*n.Width + s.Node + rank; !slices.Contains(hosts[role], at) && at < len(n.List) {
						hosts[role] = append(hosts[role], at)
					}
				}
			}
		}
		slices.Sort(hosts[role])
		if len(hosts[role]) == 0 {
			delete(hosts, role)
		}
	}
	return hosts
}

// byRole lists the servers of a target that are launched, by their roles.
func byRole(cfg *lang.Config, addr string) map[string][]steps.ServerSpec {
	out := map[string][]steps.ServerSpec{}
	if d := cfg.DeploymentAt(addr); d != nil {
		for _, m := range d.Spec.Members {
			role := m.Role
			if role == "" {
				role = result.RoleServer
			}
			if m.Spec.URL == "" {
				out[role] = append(out[role], m.Spec)
			}
		}
		return out
	}
	if s := cfg.ServerAt(addr); s != nil && s.Spec.URL == "" {
		out[result.RoleServer] = append(out[result.RoleServer], s.Spec)
	}
	return out
}

func factText(facts map[string]string, name string) string {
	value := facts[name]
	if value == "" {
		return "no " + name
	}
	return name + " " + strings.TrimSpace(value)
}

// Facts are those of the nodes beside the machine of the command, of which here are the facts:
// it is where the load generator and the router run unless they have a node. What is asked of a machine
// without more words, such as its GPUs, is that of the first node: it is what was measured.
func (n Nodes) Facts(here map[string]string) map[string]string {
	all := map[string]string{}
	n.aboutLoad(all, here)
	for i, node := range n.List {
		at := fmt.Sprintf("%s.node%d", n.Kind, i)
		all[at] = node.Name
		for name, value := range node.Facts {
			all[at+"."+name] = value
			if i == 0 && ofMachine(name) {
				all[name] = value
			}
		}
	}
	machine.AddHeadings(all)
	return all
}

// ofMachine reports whether a fact of a node stands for the machine where nothing else is said:
// what [probe.Remote] finds, and what a cluster calls by the same names where it does not.
func ofMachine(name string) bool {
	for _, prefix := range []string{"gpu_", "cpu_", "cpus", "memory_gib", "smt", "host", "kernel", "arch", "os"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// What a result says of where load came from.
const (
	clientFact  = "load_generator"
	commandFact = "command"
)

// aboutLoad says where load comes from and what that machine is.
func (n Nodes) aboutLoad(all, here map[string]string) {
	if n.Load == nil {
		all[clientFact] = n.LoadHere
		putFacts(all, clientFact, here)
		return
	}
	names := make([]string, len(n.Load))
	for i, at := range n.Load {
		names[i] = n.List[at].Name
	}
	all[clientFact] = n.LoadAs + " on " + strings.Join(names, ", ")
	all[result.MachineLoad] = strings.Join(names, ", ")
	putFacts(all, commandFact, here)
	for name, value := range n.List[n.Load[0]].Facts { // those of the others are beside it
		if ofMachine(name) {
			all[clientFact+"."+name] = value
		}
	}
}

// putFacts puts facts of a machine under a name, without what a heading shows.
func putFacts(all map[string]string, under string, facts map[string]string) {
	for name, value := range facts {
		if name != result.MachineGPU && name != result.MachineGPUs && name != result.MachineCPU {
			all[under+"."+name] = value
		}
	}
}
