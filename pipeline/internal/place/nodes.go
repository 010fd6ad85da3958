package place

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/machine"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

// Nodes holds the machines of a cluster that a place uses, by number.
type Nodes struct {
	// Kind of cluster is the prefix of their facts.
	Kind string
	List []Node
	// Lanes is the number of lanes on which repeats run concurrently, and Width the nodes of each; 1 and 0
	// without lanes.
	Lanes, Width int
	// Load holds the nodes that generate load, one per lane, nil for the machine of the command.
	Load []int
	// LoadAs describes the load generator on a node, such as "a step of the job", and LoadHere the one without
	// a node.
	LoadAs, LoadHere string
	// Advice says how to get similar nodes.
	Advice string
}

// LanesOf returns on how many lanes the repeats of a plan run, and how many nodes each lane has. Consecutive
// repeats use one lane of all nodes.
func LanesOf(p *plan.Plan) (lanes, width int) {
	if m := p.Machines; m != nil {
		return m.Count, m.Width
	}
	if c := p.Cluster; c != nil && c.Lanes > 1 {
		return c.Lanes, c.LaneNodes
	}
	return 1, 0
}

// LoadNodes returns the numbers of the nodes that generate load, one per lane. node is the number within a
// lane, nil if no node does.
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

// CheckNodeLoad rejects delayed load from a node, because the program that delays runs beside the command.
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

// Compare checks that the hosts of each role are alike, over the members of a target and over the lanes. Its
// error names two hosts that differ; it warns of differences that matter less.
func (n Nodes) Compare(opt Options) error {
	warned := map[string]bool{}
	for _, t := range opt.Plan.Targets {
		hosts := n.rolesOn(opt.Plan.Config, t.Addr)
		gpus := slices.ContainsFunc(slices.Concat(slices.Collect(maps.Values(byRole(opt.Plan.Config, t.Addr)))...), wantsGPUs)
		for _, role := range slices.Sorted(maps.Keys(hosts)) {
			found, unlike := n.compareWithFirst(hosts[role], gpus)
			if unlike != "" {
				return &steps.EvictionError{Class: steps.EvictionUnlikeNodes, Reason: fmt.Sprintf(
					"%s: the hosts of role %q are not alike: %s; %s, or place the servers on others", t.Addr, role, unlike, n.Advice)}
			}
			for _, text := range found {
				if !warned[text] {
					warned[text] = true
					opt.Warn(text)
				}
			}
		}
	}
	return nil
}

// compareWithFirst compares nodes, given by their numbers, with the first of them. unlike describes the first that differs
// too much; the differences of the others matter less.
func (n Nodes) compareWithFirst(nodes []int, gpus bool) (differences []string, unlike string) {
	first := n.List[nodes[0]]
	for _, i := range nodes[1:] {
		other := n.List[i]
		hard, soft := probe.Unlike(first.Facts, other.Facts, gpus)
		switch {
		case hard != "":
			return nil, fmt.Sprintf("node %s has %s and node %s has %s", first.Name, factText(first.Facts, hard), other.Name,
				factText(other.Facts, hard))
		case soft != "":
			differences = append(differences, fmt.Sprintf("nodes %s and %s differ: %s and %s", first.Name, other.Name,
				factText(first.Facts, soft), factText(other.Facts, soft)))
		}
	}
	return differences, ""
}

// rolesOn maps each role of a target to the numbers of the nodes that its servers run on.
func (n Nodes) rolesOn(cfg *config.Config, addr string) map[string][]int {
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

// byRole maps roles to the launched servers of a target.
func byRole(cfg *config.Config, addr string) map[string][]steps.ServerSpec {
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

// Facts returns the facts of the nodes and of the command's machine, given by here. The load generator and the
// router run on that machine unless they have a node. Facts without a prefix, such as GPUs, are those of the
// first node, which was measured.
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

// ofMachine reports whether a node's fact also stands for the machine: facts of [probe.Remote], and the
// cluster's facts of the same names.
func ofMachine(name string) bool {
	for _, prefix := range []string{"gpu_", "cpu_", "cpus", "memory_gib", "smt", "host", "kernel", "arch", "os"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Keys for the source of load in a result.
const (
	clientFact  = "load_generator"
	commandFact = "command"
)

// aboutLoad adds where load comes from, and the facts of that machine.
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
	for name, value := range n.List[n.Load[0]].Facts { // the facts of the other nodes have their own prefix
		if ofMachine(name) {
			all[clientFact+"."+name] = value
		}
	}
}

// putFacts adds facts of a machine under a prefix, without those for the heading.
func putFacts(all map[string]string, under string, facts map[string]string) {
	for name, value := range facts {
		if name != result.MachineGPU && name != result.MachineGPUs && name != result.MachineCPU {
			all[under+"."+name] = value
		}
	}
}
