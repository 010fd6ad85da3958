package slurmjob

import (
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/place"
)

// Lane implements place.Place. A lane is a part of the job's nodes, or all of them if repeats run one after
// another.
func (j *job) Lane(lane int) *place.Lane {
	part := *j
	if lanes, width := place.LanesOf(j.opt.Plan); lanes > 1 {
		part.first, part.count = lane*width, width
	}
	names := part.names()
	out := &place.Lane{Place: &part, Nodes: strings.Join(names, ",")}
	if node := j.spec.LoadNode; node != nil && *node < len(names) {
		out.Load, out.LoadNode = part.loadOn(*node), names[*node]
	}
	return out
}

// names returns the names of the part's nodes.
func (j *job) names() []string {
	var names []string
	for i, n := range j.job.Nodes() {
		if i >= j.first && i < j.first+j.count {
			names = append(names, n.Name)
		}
	}
	return names
}
