package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
)

// DirsEnv is the environment variable with the folders outside of the pipeline file's
// own from which datasets may be read, separated as in PATH. The machine's owner sets
// it; a pipeline file cannot, so that a file of a pull request reads nothing else.
const DirsEnv = "PIPELINE_DATA"

// maxFile is the size of the largest dataset file.
const maxFile = 8 << 30

// Files opens the files of datasets, and makes their prompts. The zero value opens none; it
// must not be copied after use.
type Files struct {
	// Kinds of datasets that there are; nil means All.
	Kinds Kinds `json:"-"`
	// Dir is the folder that relative paths are meant from. Nothing above it is read.
	Dir string `json:"dir,omitempty"`
	// Dirs are the folders below which absolute paths may lie.
	Dirs []string `json:"dirs,omitempty"`

	mu     sync.Mutex
	tables map[string]*Table // by kind and sum
}

func (f *Files) kinds() Kinds {
	if f == nil || f.Kinds == nil {
		return All()
	}
	return f.Kinds
}

// Dirs splits the value of DirsEnv. What is not absolute is left out: it would depend on
// the working directory.
func Dirs(value string) []string {
	var out []string
	for _, d := range filepath.SplitList(value) {
		if filepath.IsAbs(d) {
			out = append(out, filepath.Clean(d))
		}
	}
	return out
}

// Sum is the SHA-256 of a file's content. The error of a file that is not there is
// fs.ErrNotExist.
func (f *Files) Sum(path string) (string, error) {
	file, err := f.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", fmt.Errorf("read dataset %q: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Table reads the file of a dataset. It is kept for the next run that needs it. A file
// that is not the one that was planned with is an *InvalidError.
func (f *Files) Table(d steps.Dataset) (*Table, error) {
	if f == nil {
		return nil, invalid("%q is to be read, and no folder to read from is given", d.Path)
	}
	kind, err := f.kinds().Lookup(d.Kind)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := d.Kind + " " + d.Sum
	if t := f.tables[key]; t != nil && d.Sum != "" {
		return t, nil
	}
	file, err := f.Open(d.Path)
	if err != nil {
		return nil, &InvalidError{Reason: err.Error()}
	}
	defer func() { _ = file.Close() }()
	h := sha256.New()
	t, err := kind.read(io.TeeReader(file, h))
	if err == nil {
		_, err = io.Copy(h, file) // what the decoder left, so that the sum is of all
	}
	if err != nil {
		return nil, &InvalidError{Reason: fmt.Sprintf("%s: %v", d.Path, err)}
	}
	if sum := hex.EncodeToString(h.Sum(nil)); d.Sum != "" && sum != d.Sum {
		return nil, &InvalidError{Reason: fmt.Sprintf("%s has changed since the plan was made; start a new run", d.Path)}
	}
	if f.tables == nil {
		f.tables = map[string]*Table{}
	}
	f.tables[key] = t
	return t, nil
}

// CheckTrace returns an *InvalidError for a trace that cannot be replayed as its dataset says, or whose requests
// cannot be sent by a load. Datasets of other kinds pass.
func (f *Files) CheckTrace(d steps.Dataset, l steps.Load) error {
	kind, err := f.kinds().Lookup(d.Kind)
	if err != nil || !kind.Has(timeScale.Name) {
		return err
	}
	t, err := f.Table(d)
	if err == nil {
		err = replayable(t, d)
	}
	if err != nil || t.Sessions == 0 {
		return err
	}
	return CheckSessions(l)
}

// Notes returns what of the file of a dataset is not replayed.
func (f *Files) Notes(d steps.Dataset) []string {
	t, err := f.Table(d)
	if err != nil {
		return nil // said by CheckTrace
	}
	return t.Notes
}

// Span is the planned time of the last of the first n requests of a trace, of all of
// them for n = 0.
func (f *Files) Span(d steps.Dataset, n int) (time.Duration, error) {
	t, err := f.Table(d)
	if err != nil {
		return 0, err
	}
	if n > len(t.Entries) {
		return 0, invalid("the trace has %d requests, and the load asks for %d", len(t.Entries), n)
	}
	if n == 0 {
		n = len(t.Entries)
	}
	return time.Duration(float64(t.Entries[n-1].At) * timeScaleOf(d)), nil
}

// Open opens a regular file below one of the folders. os.Root refuses every way out of
// them, also that of symbolic links.
func (f *Files) Open(path string) (*os.File, error) {
	dir, name, err := f.place(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("dataset %q: %w", path, err)
	}
	defer func() { _ = root.Close() }()
	// Asked before opening: to open a named pipe is to wait for its writer.
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("dataset %q is not there: %w", path, fs.ErrNotExist)
	case err != nil:
		return nil, fmt.Errorf("dataset %q cannot be read below %s: %w", path, dir, cause(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("dataset %q is not a regular file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("dataset %q has more than %d GiB", path, maxFile>>30)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("dataset %q: %w", path, cause(err))
	}
	return file, nil
}

// place finds the folder that a path lies in.
func (f *Files) place(path string) (dir, name string, err error) {
	if !filepath.IsAbs(path) {
		if f.Dir == "" {
			return "", "", fmt.Errorf("dataset %q: no folder for relative paths", path)
		}
		return f.Dir, path, nil
	}
	for _, d := range f.Dirs {
		if rel, err := filepath.Rel(d, path); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return d, rel, nil
		}
	}
	return "", "", fmt.Errorf("dataset %q is outside of the pipeline file's folder: put it there, or name its folder in %s", path, DirsEnv)
}

func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
