package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

// sourceFlags selects the file that judges: the pipeline of the run, or the one of the target branch of a change.
type sourceFlags struct {
	base   string
	source gateSource
}

// gateSource is the side of a change whose file judges.
type gateSource string

const (
	gatesOfHead gateSource = "head"
	gatesOfBase gateSource = "base"
)

func (f *sourceFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.base, "base-file", "",
		"the pipeline `file` or folder as it was before the change: reports say how its gates differ")
	enumFlag(cmd, &f.source, "gate-source", string(gatesOfHead), []option[gateSource]{
		{string(gatesOfHead), gatesOfHead, "the pipeline itself"},
		{string(gatesOfBase), gatesOfBase, "--base-file: the change decides nothing but what the servers of its own side are"},
	}, "the file that judges")
}

// judged is the configuration that runs and judges, with the effects of the change on it.
type judged struct {
	*lang.Config
	changes []publish.GateChange
	// notes lists differences without effect, because the file before the change judges.
	notes []string
}

// judgedBy compares a pipeline with the one before the change, and uses the latter if requested. It must run before
// planning. A failed comparison is an error only if the file before the change is to judge.
func (a *app) judgedBy(f sourceFlags, config configFlags, head *lang.Config) (judged, error) {
	out := judged{Config: head}
	if f.base == "" {
		if f.source == gatesOfBase {
			return out, errors.New("--gate-source base needs --base-file")
		}
		return out, nil
	}
	if _, err := os.Stat(f.base); errors.Is(err, fs.ErrNotExist) && f.source == gatesOfHead {
		return out, nil // the change adds the first pipeline file
	}
	base, err := a.readBase(f, config, head)
	if err != nil {
		err = fmt.Errorf("the pipeline before the change cannot be read: %w", err)
		if f.source == gatesOfBase {
			return out, err
		}
		a.warn("reports do not say how the gates differ: " + err.Error())
		return out, nil
	}
	out.changes = gateChanges(base, head)
	if f.source != gatesOfBase {
		return out, nil
	}
	differences := lang.Differences(base, head)
	if err := base.TakeHead(head); err != nil {
		return out, fmt.Errorf("the file before the change judges (--gate-source base): %w", err)
	}
	for _, d := range differences {
		if !strings.HasPrefix(d.Addr, "gate.") { // gateChanges compares gates
			out.changes = append(out.changes, publish.GateChange{Gate: d.Addr, Setting: d.Argument, Old: d.Old, New: d.New})
		}
	}
	out.Config, out.notes = base, noEffect(out.changes)
	placeGates(base, head)
	return out, nil
}

// judgedHistory returns the history that judges a change. It replaces a history in the checkout of the change with
// the base's, because the change could write its own there.
func (a *app) judgedHistory(f sourceFlags, h historyFlag, head, base *lang.Config) (historyFlag, error) {
	location, stated := a.historyLocation(h)
	if f.source != gatesOfBase || history.OnBranch(location) {
		return h, nil
	}
	needed := stated || slices.ContainsFunc(base.Baselines, func(b *config.Baseline) bool { return b.Kind == result.BaselineStored })
	before, inside, err := beforeChange(location, head.Folder, baseFolder(f.base))
	switch {
	case err != nil && !needed:
		before = filepath.Join(baseFolder(f.base), defaultHistory)
	case err != nil:
		return h, fmt.Errorf("the history: %w", err)
	case !inside:
		return h, nil
	}
	if _, err := os.Stat(before); needed && (err != nil || before == absolute(location)) {
		return h, fmt.Errorf(
			"the history %s is in the checkout of the change, which could write its own sessions there, and the base has none (%s): "+
				"name a directory outside of the checkout by its absolute path, or a branch, with --history or $%s", location, before, historyEnv)
	}
	return historyFlag{location: before, implied: !stated}, nil
}

// beforeChange maps a path in the checkout of the change to the checkout of the base, given the folders of both
// pipeline files. inside is false for an absolute path outside the checkout, which belongs to the job.
func beforeChange(name, head, base string) (path string, inside bool, err error) {
	abs := absolute(name)
	below := func(dir string) bool {
		rel, err := filepath.Rel(dir, abs)
		return err == nil && filepath.IsLocal(rel)
	}
	if filepath.IsAbs(name) && !below(head) && !below(absolute(".")) {
		return name, false, nil
	}
	head, base = absolute(head), absolute(base)
	rel, err := filepath.Rel(head, abs)
	if err != nil {
		return "", false, err
	}
	for up := rel; up == ".." || strings.HasPrefix(up, ".."+string(filepath.Separator)); up = strings.TrimPrefix(up[2:],
		string(filepath.Separator)) {
		if filepath.Base(head) != filepath.Base(base) {
			return "", false, fmt.Errorf("%s is above the folder of the pipeline, and --base-file lies in another folder than the pipeline does, "+
				"so the one before the change cannot be found: name it by an absolute path outside of the checkout", name)
		}
		head, base = filepath.Dir(head), filepath.Dir(base)
		rel = strings.TrimPrefix(up[2:], string(filepath.Separator))
	}
	return filepath.Join(base, rel), true, nil
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// readBase reads the pipeline before the change. It ignores variables that this pipeline does not declare. If the
// base's file judges, variable files in the change's checkout are replaced by the base's, because the change could
// otherwise set values that judge it.
func (a *app) readBase(f sourceFlags, config configFlags, head *lang.Config) (*lang.Config, error) {
	vars, err := splitVars(config.vars)
	if err != nil {
		return nil, err
	}
	if f.source == gatesOfBase {
		if config.varFiles, err = baseVarFiles(config.varFiles, head.Folder, baseFolder(f.base)); err != nil {
			return nil, err
		}
	}
	declared, err := a.declared(f.base)
	if err != nil {
		return nil, err
	}
	config.vars = nil
	for _, v := range vars {
		if slices.Contains(declared, v.Name) {
			config.vars = append(config.vars, v.Name+"="+v.Text)
		}
	}
	base, diags, err := a.read(config, []string{f.base})
	if err == nil && diags.HasErrors() {
		err = errors.New(diags.Errs()[0].Error())
	}
	return base, err
}

// declared returns the names of a pipeline's variables.
func (a *app) declared(path string) ([]string, error) {
	registry, err := a.kinds()
	if err != nil {
		return nil, err
	}
	names, diags := lang.Declared(lang.Options{Paths: []string{path}, Stdin: a.In, Registry: registry})
	if diags.HasErrors() {
		return nil, errors.New(diags.Errs()[0].Error())
	}
	return names, nil
}

// baseFolder returns the folder of a pipeline that is given as a file or a folder.
func baseFolder(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path
	}
	return filepath.Dir(path)
}

// baseVarFiles returns the variable files before the change. An absolute path outside the change's folder belongs to
// the job and stays.
func baseVarFiles(files []string, head, base string) ([]string, error) {
	out := make([]string, len(files))
	for i, name := range files {
		path, _, err := beforeChange(name, head, base)
		if err != nil {
			return nil, err
		}
		out[i] = path
	}
	return out, nil
}

// noEffect describes differences without effect.
func noEffect(changes []publish.GateChange) []string {
	var out []string
	for _, c := range changes {
		text := c.Gate + " " + c.Setting
		if c.Old != "" || c.New != "" {
			text += fmt.Sprintf(": %s before the change, %s now", cmp.Or(c.Old, "unset"), cmp.Or(c.New, "unset"))
		}
		out = append(out, "the file before the change judges, and the pull request changes "+text)
	}
	return out
}

// placeGates sets the ranges of gates to their lines in the file of the change, if they still exist there. The base's
// file is not part of the pull request.
func placeGates(base, head *lang.Config) {
	for _, g := range base.Gates {
		if now := head.GateAt(g.Addr); now != nil {
			g.Range = now.Range
		}
	}
}

// settingsOf lists the settings of a gate as text.
func settingsOf(cfg *lang.Config, g *config.Gate) []lang.Setting {
	var metrics []string
	for _, m := range g.Metrics {
		metrics = append(metrics, m.ID)
	}
	slices.Sort(metrics)
	return slices.Concat([]lang.Setting{
		{Name: "benchmark", Value: g.Benchmark},
		{Name: "baseline", Value: g.Baseline},
		{Name: "cells", Value: cellsOf(cfg, g)},
		{Name: "assert", Value: g.Condition},
		{Name: "metrics", Value: strings.Join(metrics, ", ")},
	}, cfg.Terms(g), lang.ActionSettings(g))
}

// cellsOf lists the cells that a gate judges.
func cellsOf(cfg *lang.Config, g *config.Gate) string {
	bm := cfg.BenchmarkAt(g.Benchmark)
	if bm == nil {
		return ""
	}
	var cells []string
	for _, c := range g.Cells {
		cells = append(cells, result.Coordinates(bm.Cells[c].Values, " "))
	}
	return strings.Join(cells, ", ")
}

// gateChanges lists the effects of a change on the gates, in the order of the gates before it.
func gateChanges(base, head *lang.Config) []publish.GateChange {
	var out []publish.GateChange
	for _, before := range base.Gates {
		after := head.GateAt(before.Addr)
		if after == nil {
			out = append(out, publish.GateChange{Gate: before.Addr, Setting: "removed"})
			continue
		}
		now := settingsOf(head, after)
		for i, was := range settingsOf(base, before) {
			if was.Value != now[i].Value {
				out = append(out, publish.GateChange{Gate: before.Addr, Setting: was.Name, Old: was.Value, New: now[i].Value})
			}
		}
	}
	for _, g := range head.Gates {
		if base.GateAt(g.Addr) == nil {
			out = append(out, publish.GateChange{Gate: g.Addr, Setting: "new"})
		}
	}
	return out
}
