package cli

import (
	"errors"
	"path/filepath"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// setDataset describes the dataset of `pipeline load`: the flags that its kind has an
// argument for. The user may read any file of theirs.
func (f loadFlags) setDataset(kinds dataset.Kinds, d *steps.Dataset) (*dataset.Files, error) {
	files := &dataset.Files{Kinds: kinds}
	*d = steps.Dataset{Kind: f.dataset, Path: f.file}
	kind, err := kinds.Lookup(f.dataset)
	if err != nil {
		return nil, err
	}
	if kind.Has("input_len") {
		d.InputMin, d.InputMax = f.input, f.input
	}
	if !kind.OwnLengths {
		d.OutputMin, d.OutputMax = f.output, f.output
	}
	if kind.Has("prefix_len") {
		d.PrefixLen = f.prefix
	}
	for name, value := range map[string]any{
		"time_scale": f.timeScale, "num_prefixes": f.numPrefixes, "suffix_len": f.suffix,
		"turns": f.turns, "users": f.users, "system_len": f.system, "real_answers": f.realAnswers,
	} {
		if !kind.Has(name) {
			continue
		}
		if d.Options == nil {
			d.Options = map[string]any{}
		}
		d.Options[name] = value
	}
	if f.endpoint == "embeddings" { // their answers have no length, and datasets need one
		d.OutputMin, d.OutputMax = 1, 1
	}
	if f.realAnswers && !kind.Has("real_answers") {
		return nil, errors.New("--real-answers needs --dataset chat")
	}
	if err := files.Check(*d); err != nil || d.Path == "" {
		return files, err
	}
	path, err := filepath.Abs(d.Path)
	if err != nil {
		return nil, err
	}
	files.Dir = filepath.Dir(path)
	d.Path = filepath.Base(path)
	d.Sum, err = files.Sum(d.Path)
	return files, err
}
