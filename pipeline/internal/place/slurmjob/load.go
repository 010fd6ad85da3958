package slurmjob

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/load/remote"
	"github.com/servegate/pipeline/steps/slurm"
)

// loadOn returns a function that generates load on a node of the part.
func (j *job) loadOn(node int) func(context.Context, engine.LoadRun) (load.Result, error) {
	at := slurm.Place{Node: j.first + node}
	return func(ctx context.Context, run engine.LoadRun) (load.Result, error) {
		self, err := filepath.Abs(j.opt.Self)
		if err != nil {
			return load.Result{}, &load.LostError{Err: err}
		}
		g := remote.Generator{Spawner: j.job.Tasks("load", at), Argv: []string{self, place.LoadWorker}, Folder: j.opt.Folder}
		run.Files = j.opt.Plan.Config.Files
		return g.Run(ctx, run.Name, run.Options, run.Log)
	}
}

// loadNodes returns the numbers of the nodes that generate load, one per lane.
func (j *job) loadNodes() []int {
	return place.LoadNodes(j.opt.Plan, j.spec.LoadNode)
}

// loadNodeWait is the timeout for starting this program on a node.
const loadNodeWait = time.Minute

// checkLoadNodes checks that this program runs on the nodes that generate load.
func (j *job) checkLoadNodes(ctx context.Context) error {
	for _, i := range j.loadNodes() {
		name := j.job.Nodes()[i].Name
		said, err := versionOn(ctx, j.job.Spawner(i), j.opt.Self)
		if err != nil {
			return fmt.Errorf(
				"load_node: this program does not run on node %s: %w; put it on a file system that the nodes share, or leave load_node out", name, err)
		}
		if want := "pipeline " + j.opt.Version; !slices.Contains(strings.Split(said, "\n"), want) {
			return fmt.Errorf("load_node: %s on node %s is %q, and this is %q; put it on a file system that the nodes share",
				j.opt.Self, name, said, want)
		}
	}
	return nil
}

// versionOn returns the version output of this program on a node.
func versionOn(ctx context.Context, sp steps.Spawner, self string) (string, error) {
	path, err := filepath.Abs(self)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loadNodeWait, errors.New("it did not answer within "+loadNodeWait.String()))
	defer cancel()
	out, said, err := steps.Output(ctx, sp, steps.Command{Argv: []string{path, "version"}})
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, steps.Line(said, 400))
	}
	return strings.TrimSpace(out), nil
}
