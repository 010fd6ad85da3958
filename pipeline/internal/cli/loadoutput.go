package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
)

// setBody adds server-specific members and the limits of a good request to a workload.
func (f loadFlags) setBody(w *steps.Workload) error {
	if f.body != "" {
		d := json.NewDecoder(strings.NewReader(f.body))
		d.UseNumber() // keeps numbers as written
		if err := d.Decode(&w.Body); err != nil {
			return fmt.Errorf("--body must be a JSON object such as {\"top_p\":0.9}: %w", err)
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return errors.New("--body must be one JSON object, and has more behind it")
		}
		if err := steps.CheckBody(w.Body); err != nil {
			return err
		}
	}
	for _, limit := range f.goodput {
		name, text, _ := strings.Cut(limit, ":")
		ms, err := strconv.ParseFloat(text, 64)
		if err != nil || !(ms > 0) || ms > 1e12 {
			return fmt.Errorf("--goodput %q must be name:milliseconds, such as ttft:300", limit)
		}
		d := time.Duration(math.Round(ms * 1e6))
		switch name {
		case "ttft":
			w.Goodput.TTFT = d
		case "tpot":
			w.Goodput.TPOT = d
		case "e2el":
			w.Goodput.E2EL = d
		default:
			return fmt.Errorf("--goodput %q: limits are those of ttft, tpot and e2el", limit)
		}
	}
	if steps.Pooled(f.endpoint) && (w.Goodput.TTFT > 0 || w.Goodput.TPOT > 0) {
		return errors.New("--goodput: answers of " + f.endpoint + " have no tokens; limit e2el")
	}
	return nil
}

// loadResult is the schema of `load --json`.
type loadResult struct {
	Schema    string             `json:"schema"`
	Sent      int                `json:"sent"`
	Failed    int                `json:"failed"`
	Failures  map[string]int     `json:"failures,omitempty"`
	Metrics   map[string]float64 `json:"metrics"`
	Histogram map[string]string  `json:"histograms,omitempty"`
	Audit     record.Audit       `json:"audit"`
	// Void is the reason why the client limited the load.
	Void string `json:"void,omitempty"`
}

func (a *app) printLoadJSON(run record.Run) error {
	histograms, err := record.Histograms(run)
	if err != nil {
		return err
	}
	_, void := load.Limits{}.Void(run.Audit)
	out := loadResult{
		Schema: "pipeline/load/1.0", Sent: run.Requests.Len(), Metrics: record.Reduce(run), Histogram: histograms,
		Audit: run.Audit, Void: void,
	}
	out.Failed, out.Failures = record.Failures(run)
	return a.writeJSON(out)
}

// sglangOptions returns what SGLang's result block states about the load. SGLang's backends are named after the
// protocol.
func (f loadFlags) sglangOptions(opt load.Options) load.SGLangOptions {
	o := load.SGLangOptions{Backend: "vllm", RequestRate: opt.Workload.Load.Rate, MaxConcurrency: f.concurrency, Trace: f.trace}
	switch f.endpoint {
	case "generate":
		o.Backend = "sglang"
	case "chat":
		o.Backend = "vllm-chat"
	case "embeddings", "rerank":
		o.Backend = "sglang-embedding"
	}
	return o
}

// datasetFlags are the flags that set an argument of a dataset, in the order of the help, with its name.
var datasetFlags = []struct{ flag, argument string }{
	{"dataset-path", "path"}, {"input-len", "input_len"}, {"output-len", "output_len"}, {"prefix-len", "prefix_len"},
	{"num-prefixes", "num_prefixes"}, {"suffix-len", "suffix_len"}, {"turns", "turns"}, {"users", "users"}, {"system-len", "system_len"},
	{"trace-scale", "time_scale"}, {"real-answers", "real_answers"},
}

// checkDatasetFlags returns an error if a given flag sets an argument that the dataset does not have.
func (f loadFlags) checkDatasetFlags(kind dataset.Kind) error {
	var has []string
	for _, d := range datasetFlags {
		if kind.Has(d.argument) {
			has = append(has, "--"+d.flag)
		}
	}
	for _, d := range datasetFlags {
		if f.given[d.flag] && !kind.Has(d.argument) {
			return fmt.Errorf("--%s does not apply to --dataset %s, which takes %s", d.flag, kind.Name, strings.Join(has, ", "))
		}
	}
	return nil
}

// setDataset describes the dataset of `pipeline load` from the flags that its kind supports. The user may read any of
// their files.
func (f loadFlags) setDataset(kinds dataset.Kinds, d *steps.Dataset) (*dataset.Files, error) {
	files := &dataset.Files{Kinds: kinds}
	*d = steps.Dataset{Kind: f.dataset, Path: f.file}
	kind, err := kinds.Lookup(f.dataset)
	if err != nil {
		return nil, err
	}
	if err := f.checkDatasetFlags(kind); err != nil {
		return nil, err
	}
	if kind.Has("input_len") {
		d.InputMin, d.InputMax = f.input, f.input
	}
	if !kind.OwnLengths || f.given["output-len"] {
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
	if steps.Pooled(f.endpoint) { // their answers have no length, but datasets require one
		d.OutputMin, d.OutputMax = 1, 1
	}
	if err := dataset.CheckEndpoint(*d, f.endpoint); err != nil {
		return nil, err
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
