package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// drained is a drained node with the reason: Slurm gives it to no further job. An administrator can drain a
// node, and Slurm drains it if a step does not end.
type drained struct{ name, why string }

func (d drained) String() string { return fmt.Sprintf("%s (%s)", d.name, d.why) }

// drainedNodes returns the drained nodes among those selected by an option of sinfo, none if the controller
// does not answer.
func (j *Job) drainedNodes(ctx context.Context, which ...string) []drained {
	argv := append([]string{"sinfo", "--noheader", "--Node", "--states=drain", "--format=%N|%E"}, which...)
	out, err := j.opt.call(ctx, argv...)
	if err != nil {
		return nil
	}
	var nodes []drained
	for line := range strings.Lines(out) {
		name, why, ok := strings.Cut(strings.TrimSpace(line), "|")
		if node := (drained{name, why}); ok && !slices.Contains(nodes, node) { // a node in several partitions is listed once per partition
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// drainedBefore describes the drained nodes of the partition, to append to a reason for waiting; "" for none.
func (j *Job) drainedBefore(ctx context.Context) string {
	var which []string
	if p := j.opt.Spec.Partition; p != "" {
		which = append(which, "--partition="+p)
	}
	var names []string
	for _, node := range j.drainedNodes(ctx, which...) {
		names = append(names, node.String())
	}
	if len(names) == 0 {
		return ""
	}
	return "; drained, and given to no job: " + strings.Join(names, ", ") + "; an administrator gives a node back by scontrol update " +
		"NodeName=NODE State=RESUME"
}

// tellDrained reports each drained node of the job once. The job keeps the node until it ends.
func (j *Job) tellDrained(ctx context.Context) {
	var names []string
	for _, n := range j.nodes {
		names = append(names, n.Name)
	}
	for _, node := range j.drainedNodes(ctx, "--nodes="+strings.Join(names, ",")) {
		if _, told := j.told.LoadOrStore(node, true); !told {
			j.opt.Tell(fmt.Sprintf("node %s is being drained: Slurm job %s keeps it until the run ends, and no other job gets it; to end "+
				"the run before, interrupt it and continue it later with --resume", node, j.id))
		}
	}
}
