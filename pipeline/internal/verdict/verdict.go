// Package verdict brings results before the gates of a file: those of a run that has just
// ended, of a run directory, or of other tools.
package verdict

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/regular"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// Judge brings a document before the gates of a configuration. past is what stored
// baselines are taken from, nil for nothing.
func Judge(cfg *lang.Config, p *plan.Plan, doc *result.Document, past *history.History) error {
	return judge.Judge(p, doc, Options(cfg, p, past))
}

// Options are what judging a plan of a configuration needs beside the document.
func Options(cfg *lang.Config, p *plan.Plan, past *history.History) judge.Options {
	return judge.Options{Assert: asserter{cfg}.eval, Baseline: baselines(p), History: past}
}

// ReadDocument reads a results file, or the one of a run directory.
func ReadDocument(path string) (*result.Document, error) {
	dir := path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, store.ResultsFile)
	}
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, noPlan := os.Stat(filepath.Join(dir, store.PlanFile)); noPlan == nil {
			err = fmt.Errorf("%w: its run has not ended; a `pipeline run` that was killed goes on with --resume --out %s", err, dir)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	doc, err := result.Decode(f, result.Limits{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return doc, nil
}
