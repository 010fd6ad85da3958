package slurmjob

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

// nodeProbeWait is the timeout for describing all nodes of a job.
const nodeProbeWait = 2 * time.Minute

// probeNodes describes the nodes that servers run on, concurrently.
func (j *job) probeNodes(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, nodeProbeWait)
	defer cancel()
	nodes := j.job.Nodes()[:j.spec.Nodes]
	found, errs := make([]map[string]string, len(nodes)), make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() {
			if found[i], errs[i] = describeNode(ctx, j.job.Spawner(i)); errs[i] != nil {
				errs[i] = fmt.Errorf("node %s: %w; see whether srun --nodelist=%s starts anything there", n.Name, errs[i], n.Name)
			}
		})
	}
	all.Wait()
	for i := range found {
		j.job.Know(i, found[i])
	}
	return errors.Join(errs...)
}

// describeNode describes a node. It retries, because a busy controller may be slow to start the first steps of
// a job.
func describeNode(ctx context.Context, sp steps.Spawner) (facts map[string]string, err error) {
	for range 3 {
		if facts, err = probe.Remote(ctx, sp); err == nil || ctx.Err() != nil {
			return facts, err
		}
	}
	return facts, err
}

// nodes returns the nodes of the job.
func (j *job) nodes() place.Nodes {
	lanes, width := place.LanesOf(j.opt.Plan)
	out := place.Nodes{
		Kind: "slurm", Lanes: lanes, Width: width, Load: j.loadNodes(),
		LoadAs: "a step of the job", LoadHere: "where the command runs, beside the steps of the job",
		Advice: "ask for like nodes by constraint in the slurm block",
	}
	for _, n := range j.job.Nodes() {
		out.List = append(out.List, place.Node{Name: n.Name, Facts: n.Facts})
	}
	return out
}

// Facts implements place.Place.
func (j *job) Facts(here map[string]string) map[string]string { return j.nodes().Facts(here) }

// Needs implements place.Place. The run needs nothing special of this machine.
func (j *job) Needs(doctor.Needs) doctor.Needs { return doctor.Needs{File: true} }
