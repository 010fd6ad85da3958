package cli

import (
	"errors"
	"path/filepath"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// datasetNames are the datasets that a pipeline file can name.
func datasetNames() []string {
	var names []string
	for _, k := range dataset.Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// setDataset describes the dataset of `pipeline load`. Lengths that a file has are its
// own. The user may read any file of theirs.
func (f loadFlags) setDataset(d *steps.Dataset) (*dataset.Files, error) {
	*d = steps.Dataset{Kind: f.dataset, Path: f.file}
	switch f.dataset {
	case "sharegpt", "trace":
		if f.dataset == "trace" {
			d.Options = map[string]any{"time_scale": f.timeScale}
		}
	case "prefix_repetition":
		d.PrefixLen, d.Options = f.prefix, map[string]any{"num_prefixes": f.numPrefixes, "suffix_len": f.suffix}
		d.OutputMin, d.OutputMax = f.output, f.output
	case "chat":
		d.Options = map[string]any{"turns": f.turns, "users": f.users, "system_len": f.system, "real_answers": f.realAnswers}
		d.InputMin, d.InputMax, d.OutputMin, d.OutputMax = f.input, f.input, f.output, f.output
	case "file":
		d.OutputMin, d.OutputMax = f.output, f.output
	default:
		d.InputMin, d.InputMax, d.OutputMin, d.OutputMax, d.PrefixLen = f.input, f.input, f.output, f.output, f.prefix
	}
	if f.endpoint == "embeddings" { // their answers have no length, and datasets need one
		d.OutputMin, d.OutputMax = 1, 1
	}
	if f.realAnswers && f.dataset != "chat" {
		return nil, errors.New("--real-answers needs --dataset chat")
	}
	if err := dataset.Check(*d); err != nil || d.Path == "" {
		return nil, err
	}
	path, err := filepath.Abs(d.Path)
	if err != nil {
		return nil, err
	}
	files := &dataset.Files{Dir: filepath.Dir(path)}
	d.Path = filepath.Base(path)
	d.Sum, err = files.Sum(d.Path)
	return files, err
}
