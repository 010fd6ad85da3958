package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/servegate/pipeline/pipeline/internal/regular"
	"github.com/servegate/pipeline/reports/result"
)

// IsRunDir reports whether a folder is a run directory with results.
func IsRunDir(path string) bool {
	_, err := os.Stat(filepath.Join(path, ResultsFile))
	return err == nil
}

// SourceDir returns the folder in a run directory with copies of the pipeline files.
func SourceDir(run string) string { return filepath.Join(run, sourceDir) }

// BesideDir returns the folder in a run directory with copies of the files that those have read.
func BesideDir(run string) string { return filepath.Join(run, besideDir) }

// ReadDocument reads a results file, given its path or its run directory.
func ReadDocument(path string) (*result.Document, error) {
	dir := path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, ResultsFile)
	}
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, noPlan := os.Stat(filepath.Join(dir, PlanFile)); noPlan == nil {
			err = fmt.Errorf("%w: its run has not ended; a `pipeline run` that was killed goes on with --resume --out %s", err, dir)
		} else {
			err = fmt.Errorf("%w; give the folder that a run names as its results, or the results.json in it", err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	doc, err := result.Decode(f, result.Limits{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return doc, nil
}
