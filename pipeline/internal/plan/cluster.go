package plan

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
)

// Cluster holds the settings of the slurm or kubernetes block that change what is measured. A resumed run must
// find them unchanged. It excludes who pays (account), how long the job may take (time) and how long it may
// wait (queue_timeout).
type Cluster struct {
	// Kubernetes is true if servers are Pods; else they are steps of a Slurm job.
	Kubernetes   bool              `json:"kubernetes,omitempty"`
	NodeSelector map[string]string `json:"node_selector,omitempty"`
	GPUResource  string            `json:"gpu_resource,omitempty"`
	Resources    map[string]string `json:"resources,omitempty"`
	// LoadResources are the resources of the load generator's Pod.
	LoadResources map[string]string `json:"load_resources,omitempty"`

	Partition   string   `json:"partition,omitempty"`
	Constraint  string   `json:"constraint,omitempty"`
	Nodes       int      `json:"nodes"`
	GPUsPerNode int      `json:"gpus_per_node,omitempty"`
	Shared      bool     `json:"shared,omitempty"`
	ExtraArgs   []string `json:"extra_args,omitempty"` // they can name nodes and clocks
	Runtime     string   `json:"runtime,omitempty"`
	// LoadNode is the node of a repeat that generates the load; nil is the command's machine.
	LoadNode *int `json:"load_node,omitempty"`
	// Lanes is the number of parts of the allocation on which repeats run side by side, each of LaneNodes
	// nodes; 0 means that they run one after another.
	Lanes     int `json:"lanes,omitempty"`
	LaneNodes int `json:"lane_nodes,omitempty"`
}

// cluster returns the settings of the slurm or kubernetes block; nil if servers do not run on a cluster.
func (b *builder) cluster(p *Plan) *Cluster {
	s := b.cfg.Settings.Slurm
	if p.Simulated != "" || s == nil {
		return b.kubernetes(p)
	}
	c := &Cluster{
		Partition: s.Partition, Constraint: s.Constraint, Nodes: s.Nodes, GPUsPerNode: s.GPUsPerNode,
		Shared: s.Shared, ExtraArgs: s.ExtraArgs, Runtime: s.Runtime, LoadNode: s.LoadNode,
	}
	if s.LoadNode != nil {
		b.loadOnNode()
	}
	if s.SideBySide {
		b.sideBySide(p, c)
	}
	return c
}

// kubernetes returns the settings of the kubernetes block; nil if there is none.
func (b *builder) kubernetes(p *Plan) *Cluster {
	k := b.cfg.Settings.Kubernetes
	if k == nil || p.Simulated != "" {
		return nil
	}
	c := &Cluster{Kubernetes: true, NodeSelector: k.NodeSelector, GPUResource: k.GPUResource, Resources: k.Resources,
		LoadResources: k.LoadResources, LoadNode: k.LoadNode, Nodes: 1}
	if k.LoadNode != nil {
		c.Nodes = *k.LoadNode + 1
		b.loadOnNode()
	}
	for _, t := range p.Targets {
		for _, server := range b.cfg.ServersOf(t.Addr) {
			if s := server.Spec; s.URL == "" {
				c.Nodes = max(c.Nodes, s.Node+max(s.Nodes, 1))
			}
		}
	}
	return c
}

// width returns how many machines a repeat takes, including the one that generates its load.
func (b *builder) width(p *Plan, loadNode *int) int {
	width := 1
	if loadNode != nil {
		width = *loadNode + 1
	}
	for _, t := range p.Targets {
		for _, server := range b.cfg.ServersOf(t.Addr) {
			width = max(width, server.Spec.Node+max(server.Spec.Nodes, 1))
		}
	}
	return width
}

// sideBySide divides the nodes into as many lanes as fit, and at most one for each repeat.
func (b *builder) sideBySide(p *Plan, c *Cluster) {
	at := b.cfg.Settings.SlurmRange
	width := b.width(p, c.LoadNode)
	for _, t := range p.Targets {
		for _, server := range b.cfg.ServersOf(t.Addr) {
			s := server.Spec
			if s.URL != "" {
				b.fail(at, "side_by_side needs servers that are launched",
					fmt.Sprintf("%s answers at %s, and all nodes would share it. Leave side_by_side out, or have the servers launched.", s.Addr, s.URL))
				return
			}
		}
		if d := b.cfg.DeploymentAt(t.Addr); d != nil && d.Spec.Router != nil && d.Spec.Router.Port != 0 && c.LoadNode == nil {
			b.fail(at, "side_by_side needs routers without a port of their own",
				fmt.Sprintf("The routers of %s would all listen on port %d of the machine that the command runs on. Leave the router's port out.",
					t.Addr, d.Spec.Router.Port))
			return
		}
	}
	if !b.ownMeasures(p, at, "side_by_side needs") {
		return
	}
	lanes := c.Nodes / width
	if lanes < 2 {
		b.fail(at, "side_by_side needs nodes for two",
			fmt.Sprintf(
				"The servers of one repeat, and what sends it load, take %s, and the job has %d: set nodes = %d, or leave side_by_side out.",
				humanize.Count(width, "node"), c.Nodes, 2*width))
		return
	}
	if lanes = min(lanes, p.mostRepeats()); lanes < 2 {
		return // one repeat runs alone
	}
	c.Lanes, c.LaneNodes = lanes, width
}

// loadOnNode refuses benchmarks that do not use our own load generator.
func (b *builder) loadOnNode() {
	for _, bm := range b.cfg.Benchmarks {
		for _, c := range bm.Cells {
			if c.Workload.Driver.Runs() {
				b.fail(bm.Range, "load_node is for this program's own load generator",
					fmt.Sprintf("%s has a driver, which runs on the machine that the command runs on. Leave load_node out.", bm.Addr))
				break
			}
		}
	}
}

// ownMeasures reports whether all measures are of what one repeat launches. If not, it reports the exporter: it
// counts all repeats that run side by side, so that base and head would show the same.
func (b *builder) ownMeasures(p *Plan, at hcl.Range, need string) bool {
	for _, m := range p.Measures {
		if m.Source == steps.MeasureURL {
			b.fail(at, need+" measures of the servers themselves",
				fmt.Sprintf("%s reads %s, which counts what all repeats do that run side by side, the other sides included. Measure the servers or "+
					"the router, or let repeats come one after another.", m.ID(), m.URL))
			return false
		}
	}
	return true
}

// lanes returns the number of repeats that run at once.
func (p *Plan) lanes() int {
	if p.Cluster != nil {
		return max(p.Cluster.Lanes, 1)
	}
	return 1
}

// places returns the number of machines, or parts of a cluster, that repeats take in turn.
func (p *Plan) places() int {
	if p.Machines != nil {
		return p.Machines.Count
	}
	return p.lanes()
}

// Rounds returns the repeats in the order of their execution. The repeats of a round run side by side, each on
// its own lane.
func (p *Plan) Rounds() [][]Repeat {
	var out [][]Repeat
	for i, r := range p.Repeats {
		if i == 0 || p.lanes() == 1 || r.Lane <= p.Repeats[i-1].Lane {
			out = append(out, nil)
		}
		last := len(out) - 1
		out[last] = append(out[last], r)
	}
	return out
}

// unpairedOnNodes warns of tests that do not pair the sides of a repeat, if repeats run on different nodes.
func (p *Plan) unpairedOnNodes() []string {
	var out []string
	for _, g := range p.Gates {
		if p.Test(g).Design == gates.Unpaired && p.lanes() > 1 {
			out = append(out, fmt.Sprintf("%s: test = %q takes the sides of a repeat apart, so that what differs between nodes "+
				"becomes noise; leave test out with side_by_side", g.Addr, g.TestName))
		}
	}
	return out
}

// sideBySideText describes how much time running side by side saves.
func (p *Plan) sideBySideText() string {
	if p.Cluster == nil || p.lanes() < 2 {
		return ""
	}
	e := p.Estimate
	return fmt.Sprintf("%d repeats at a time, each with its sides on %s: saves %s of %s",
		p.lanes(), ownNodes(p.Cluster.LaneNodes), Duration(e.Sequential-e.Seconds), Duration(e.Sequential))
}

// loadNodeText describes where the load comes from, "" for the machine that the command runs on.
func (p *Plan) loadNodeText() string {
	if p.Cluster == nil || p.Cluster.LoadNode == nil {
		return ""
	}
	if p.Cluster.Kubernetes {
		return fmt.Sprintf("from node %d of the cluster, in a Pod", *p.Cluster.LoadNode)
	}
	of := "the job"
	if p.lanes() > 1 {
		of = "each repeat"
	}
	return fmt.Sprintf("from node %d of %s, as a step for each run", *p.Cluster.LoadNode, of)
}

func ownNodes(n int) string {
	if n == 1 {
		return "one node"
	}
	return fmt.Sprintf("the same %d nodes", n)
}
