package session

import (
	"fmt"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps/slurm"
)

// lanes are where the repeats of a plan are carried out: parts of the job's nodes, or all
// of them where repeats come one after another. Nil where no server runs on a cluster.
func (t targets) lanes() func(lane int) engine.Lane {
	if t.cluster == nil {
		return nil
	}
	return func(lane int) engine.Lane {
		on := t
		on.cluster = t.cluster.lane(t.opt, lane)
		at := engine.Lane{Target: on.resolve, Nodes: strings.Join(on.cluster.names(), ",")}
		if node := on.cluster.loadNode(); node != nil {
			at.Load, at.LoadNode = on.loadOn(*node), on.cluster.names()[*node]
		}
		return at
	}
}

// lane is the part of the cluster on which a lane of the plan is carried out.
func (c *cluster) lane(opt Options, lane int) *cluster {
	part := *c
	part.count = c.spec.Nodes
	if lanes, width := lanesOf(opt.Plan); lanes > 1 {
		part.first, part.count = lane*width, width
	}
	return &part
}

// lanesOf says on how many lanes the repeats of a plan are carried out, and how many nodes
// each has for itself. Repeats that come one after another have one lane of all nodes.
func lanesOf(p *plan.Plan) (lanes, width int) {
	if c := p.Cluster; c != nil && c.Lanes > 1 {
		return c.Lanes, c.LaneNodes
	}
	return 1, 0
}

// names of the nodes of the part.
func (c *cluster) names() []string {
	var names []string
	for _, n := range c.job.Nodes()[c.first:][:c.count] {
		names = append(names, n.Name)
	}
	return names
}

// launcher starts servers at a place of the part.
func (c *cluster) launcher(at slurm.Place) *slurm.Launcher {
	at.Node += c.first
	return c.job.Launcher(at)
}

// address of a node of the part.
func (c *cluster) address(node int) (string, error) {
	if c.count > 0 && node >= c.count {
		return "", fmt.Errorf("node %d is beyond the %d nodes that a repeat has", node, c.count)
	}
	return c.job.Address(c.first + node)
}
