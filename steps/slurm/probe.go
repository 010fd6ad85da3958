package slurm

import (
	"context"
	"maps"
	"slices"

	"github.com/servegate/pipeline/steps"
)

// Spawner returns a spawner that starts short programs as steps on a node of the job. They see the job's GPUs
// there. It serves to inspect the node, not to run servers.
func (j *Job) Spawner(node int) steps.Spawner { return nodeSpawner{j, node} }

type nodeSpawner struct {
	job  *Job
	node int
}

// Spawn starts srun, which is the child.
func (s nodeSpawner) Spawn(ctx context.Context, c steps.Command) (steps.Child, error) {
	opt := &s.job.opt
	at := Place{Node: s.node}
	for gpu := range opt.Spec.GPUsPerNode {
		at.GPUs = append(at.GPUs, gpu)
	}
	argv, err := command{
		job: s.job.id, node: s.job.nodes[s.node].Name, name: stepName("probe", s.job.steps.Add(1), Mark{opt.RunID, opt.Owner}),
		gpusPerNode: opt.Spec.GPUsPerNode, unset: opt.Unset, at: at, process: steps.Process{Argv: c.Argv},
	}.argv()
	if err != nil {
		return nil, err
	}
	c.Argv, c.Env = argv, slices.Concat(opt.Env, c.Env)
	return opt.Spawner.Spawn(ctx, c)
}

// Know adds facts about a node.
func (j *Job) Know(node int, facts map[string]string) {
	maps.Copy(j.nodes[node].Facts, facts)
}
