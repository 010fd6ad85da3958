package judge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// Beside returns the copies in a run directory of the files that its pipeline read.
func Beside(run string) (*config.Stored, error) {
	p, err := readPlan(run)
	if err != nil {
		return nil, err
	}
	out := &config.Stored{Folder: store.BesideDir(run), Sums: map[string]string{}}
	for _, b := range p.Benchmarks {
		for _, c := range b.Cells {
			if d := c.Workload.Dataset; d.Path != "" && d.Sum != "" {
				out.Sums[d.Path] = d.Sum
			}
		}
	}
	if _, err := os.Stat(out.Folder); errors.Is(err, fs.ErrNotExist) { // the run is of an earlier version, or read no files
		out.Folder = store.SourceDir(run)
	}
	return out, nil
}

// StoredVars returns the variables of a stored run as environment variables. With them its file evaluates as it did
// then, and another file uses those that it declares. Sensitive variables are not stored and must be given again.
func StoredVars(run string) ([]string, error) {
	p, err := readPlan(run)
	if err != nil {
		return nil, err
	}
	var out []string
	for name, value := range p.Variables {
		if value != "(sensitive)" {
			out = append(out, "PIPELINE_VAR_"+name+"="+value)
		}
	}
	return out, nil
}

// Rejudge judges the stored runs of a run directory by the gates of a configuration. past provides stored baselines,
// nil for none.
func Rejudge(cfg *config.Config, run string, past *history.History) (*result.Document, error) {
	stored, err := readPlan(run)
	if err != nil {
		return nil, err
	}
	doc, err := store.ReadDocument(run)
	if err != nil {
		return nil, err
	}
	p, diags := plan.Build(cfg, plan.Options{File: stored.File, IgnoreNoise: true, Simulated: stored.Simulated, TimeScale: stored.TimeScale,
		Only: stored.Only})
	if diags.HasErrors() {
		return nil, diags
	}
	if err := adopt(p, stored); err != nil {
		return nil, err
	}
	if ownFile(cfg, run) {
		keepBaselines(p, stored)
	}
	return doc, Judge(p, doc, OptionsOf(p, past))
}

// adopt copies what was decided when the run was planned. It returns an error for gates on cells that were not
// measured.
func adopt(p, stored *plan.Plan) error {
	repeats := map[string]int{}
	for _, b := range stored.Benchmarks {
		repeats[b.Addr] = b.RepeatMax
	}
	p.Again(stored.Attempt, stored.Red)
	p.Before = stored.Before
	p.Variance = stored.Variance
	p.Looks = stored.Looks // looks that were taken cannot change afterwards
	for i := range p.Benchmarks {
		b := &p.Benchmarks[i]
		b.RepeatMin, b.RepeatMax = min(b.RepeatMin, repeats[b.Addr]), repeats[b.Addr]
		for _, c := range b.Cells {
			if _, _, ok := stored.Cell(c.Hash); !ok {
				return fmt.Errorf("%s: cell %s was not measured in this run: its workload or its axes have changed since; leave it out of the gates "+
					"that judge by where, or measure it", b.Addr, result.Coordinates(c.Values, " "))
			}
		}
	}
	return adoptMeasures(p, stored)
}

// adoptMeasures copies the definitions and prices of the metrics that the run's file declared. It returns an error for
// gates on metrics that the present file defines differently, since the run's values do not match that definition.
func adoptMeasures(p, stored *plan.Plan) error {
	then := stored.Described()
	for _, now := range p.Described() {
		was := then.Definition(now.Metric)
		if was == "" || was == now.Definition {
			continue
		}
		for _, g := range p.Gates {
			if slices.Contains(g.Metrics, now.Metric) {
				return fmt.Errorf("%s: metric.%s was measured by another definition in this run (%s): leave it out of the gate, or measure it",
					g.Addr, now.Metric, was)
			}
		}
	}
	for i := range p.Measures {
		for _, m := range stored.Measures {
			if m.Name == p.Measures[i].Name && m.Definition() != p.Measures[i].Definition() {
				p.Measures[i] = m
			}
		}
	}
	p.Price = stored.Price
	return nil
}

// ownFile reports whether a configuration was read from the copy in the run directory.
func ownFile(cfg *config.Config, run string) bool {
	files := cfg.Inputs
	return len(files) > 0 && filepath.Dir(files[0].Name) == filepath.Clean(store.SourceDir(run))
}

// keepBaselines uses the baseline files of the run's own plan. Paths in the file are relative to its original place,
// not to its copy's.
func keepBaselines(p, stored *plan.Plan) {
	paths := map[string]string{}
	for _, g := range stored.Gates {
		paths[g.Addr] = g.BaselinePath
	}
	for i := range p.Gates {
		p.Gates[i].BaselinePath = paths[p.Gates[i].Addr]
	}
}

// notRun returns an error that states why a path is not the directory of a run.
func notRun(path string, err error) error {
	info, statErr := os.Stat(path)
	switch {
	case errors.Is(statErr, fs.ErrNotExist):
		return fmt.Errorf("%w: %s does not exist", store.ErrNotRun, path)
	case statErr == nil && !info.IsDir():
		return fmt.Errorf("%w: %s is a file; name the directory that `pipeline run --out` wrote", store.ErrNotRun, path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s holds no %s, which `pipeline run` writes first", store.ErrNotRun, path, store.PlanFile)
	}
	return fmt.Errorf("%w: %s: %w", store.ErrNotRun, path, err)
}

func readPlan(run string) (*plan.Plan, error) {
	text, err := os.ReadFile(filepath.Join(run, store.PlanFile))
	if err != nil {
		return nil, notRun(run, err)
	}
	p, err := plan.Read(text)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", filepath.Join(run, store.PlanFile), err)
	}
	if p.Schema != plan.Schema {
		return nil, fmt.Errorf("%s: schema %q is not %q, which this version reads", run, p.Schema, plan.Schema)
	}
	return p, nil
}
