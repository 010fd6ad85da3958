package kubernetes

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/kubernetes"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/load/remote"
)

// Lane implements place.Place. A lane has the nodes of one machine for repeats, or all nodes.
func (p *pods) Lane(lane int) *place.Lane {
	count, width := place.LanesOf(p.opt.Plan)
	if p.run == nil || p.spec.LoadNode == nil && count < 2 {
		return nil
	}
	part := *p
	nodes := p.run.Nodes()
	if count > 1 {
		part.first = lane * width
		nodes = nodes[min(part.first, len(nodes)):min(part.first+width, len(nodes))]
	}
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	out := &place.Lane{Place: &part, Nodes: strings.Join(names, ",")}
	if node := p.spec.LoadNode; node != nil && *node < len(names) {
		out.LoadNode = names[*node]
		out.Load = func(ctx context.Context, run engine.LoadRun) (load.Result, error) {
			return p.generate(ctx, p.loads[lane], run)
		}
	}
	return out
}

// datasetFile is the name of a run's dataset in its folder.
const datasetFile = "dataset"

// generate runs the load generator in the cluster. It sends to the servers' own addresses, and finds its
// dataset in its folder.
func (p *pods) generate(ctx context.Context, at *kubernetes.Tasks, run engine.LoadRun) (load.Result, error) {
	path := run.Workload.Dataset.Path
	if path != "" {
		run.Workload.Dataset.Path = datasetFile
	}
	run.BaseURL = p.run.Direct(run.BaseURL)
	run.Files = &dataset.Files{}
	folder := ""
	g := remote.Generator{Argv: []string{p.opt.Self, place.LoadWorker}, Folder: func(name string) (_ string, err error) {
		if folder, err = p.opt.Folder(name); err != nil {
			return "", err
		}
		if folder, err = filepath.Abs(folder); err != nil || path == "" {
			return folder, err
		}
		return folder, p.copyDataset(path, filepath.Join(folder, datasetFile))
	}}
	g.Spawner = spawner(func(ctx context.Context, c steps.Command) (steps.Child, error) {
		return at.In(folder).Spawn(ctx, c)
	})
	return g.Run(ctx, run.Name, run.Options, run.Log)
}

// copyDataset copies a dataset to a file on this machine.
func (p *pods) copyDataset(path, to string) error {
	in, err := p.opt.Config.Files.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // opened for reading only
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// spawner is a function that starts a command.
type spawner func(context.Context, steps.Command) (steps.Child, error)

func (s spawner) Spawn(ctx context.Context, c steps.Command) (steps.Child, error) { return s(ctx, c) }
