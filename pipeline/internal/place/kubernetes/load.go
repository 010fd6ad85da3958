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
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/load/remote"
)

// Lane implements place.Place: all nodes, since repeats come one after another.
func (p *pods) Lane(int) *place.Lane {
	node := p.spec.LoadNode
	if node == nil || p.run == nil || *node >= len(p.run.Nodes()) {
		return nil
	}
	var names []string
	for _, n := range p.run.Nodes() {
		names = append(names, n.Name)
	}
	return &place.Lane{Place: p, Nodes: strings.Join(names, ","), Load: p.generate, LoadNode: names[*node]}
}

// datasetFile is the dataset of a run in its folder.
const datasetFile = "dataset"

// generate carries out a run of the load generator in the cluster. It finds the servers at their own
// addresses, and the file of its dataset in its folder.
func (p *pods) generate(ctx context.Context, run engine.LoadRun) (load.Result, error) {
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
		return p.load.In(folder).Spawn(ctx, c)
	})
	return g.Run(ctx, run.Name, run.Options, run.Log)
}

// copyDataset copies a dataset to a file of this machine.
func (p *pods) copyDataset(path, to string) error {
	in, err := p.opt.Config.Files.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // opened for reading
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
