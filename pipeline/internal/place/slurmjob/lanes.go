package slurmjob

import (
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// Lane implements place.Place: a part of the job's nodes, or all of them where repeats come
// one after another.
func (j *job) Lane(lane int) *place.Lane {
	part := *j
	if lanes, width := lanesOf(j.opt.Plan); lanes > 1 {
		part.first, part.count = lane*width, width
	}
	names := part.names()
	out := &place.Lane{Place: &part, Nodes: strings.Join(names, ",")}
	if node := j.spec.LoadNode; node != nil && *node < len(names) {
		out.Load, out.LoadNode = part.loadOn(*node), names[*node]
	}
	return out
}

// lanesOf returns on how many lanes the repeats of a plan are carried out, and how many nodes
// each has for itself. Repeats that come one after another have one lane of all nodes.
func lanesOf(p *plan.Plan) (lanes, width int) {
	if m := p.Machines; m != nil {
		return m.Count, m.Width
	}
	if c := p.Cluster; c != nil && c.Lanes > 1 {
		return c.Lanes, c.LaneNodes
	}
	return 1, 0
}

// names of the nodes of the part.
func (j *job) names() []string {
	var names []string
	for i, n := range j.job.Nodes() {
		if i >= j.first && i < j.first+j.count {
			names = append(names, n.Name)
		}
	}
	return names
}
