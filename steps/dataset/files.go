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

// DirsEnv is the environment variable that lists folders, separated as in PATH, from which datasets outside the
// pipeline file's folder may be read. The machine's owner sets it. A pipeline file cannot, so a pull request
// cannot read other files.
const DirsEnv = "PIPELINE_DATA"

// maxFile is the largest size of a dataset file in bytes.
const maxFile = 8 << 30

// Files opens dataset files and makes their prompts. The zero value opens none. It must not be copied after
// first use.
type Files struct {
	// Kinds lists the known kinds; nil means All.
	Kinds Kinds `json:"-"`
	// Dir is the folder against which relative paths are resolved. Nothing above it is read.
	Dir string `json:"dir,omitempty"`
	// Dirs are the folders that absolute paths must lie below.
	Dirs []string `json:"dirs,omitempty"`

	mu     sync.Mutex
	tables map[string]*Table // by kind and SHA-256
}

func (f *Files) kinds() Kinds {
	if f == nil || f.Kinds == nil {
		return All()
	}
	return f.Kinds
}

// Dirs splits the value of DirsEnv. It drops relative folders, which would depend on the working directory.
func Dirs(value string) []string {
	var out []string
	for _, d := range filepath.SplitList(value) {
		if filepath.IsAbs(d) {
			out = append(out, filepath.Clean(d))
		}
	}
	return out
}

// Sum returns the SHA-256 of a file's content. For a missing file the error is fs.ErrNotExist.
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

// Table reads the file of a dataset and caches it for later runs. If the file changed since planning, the error
// is an *InvalidError.
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
		_, err = io.Copy(h, file) // hash what the decoder did not read
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

// CheckTrace returns an *InvalidError for a trace that cannot be replayed with the dataset's options, or whose
// sessions the load cannot send. It accepts datasets of other kinds.
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

// Notes describes the parts of a dataset's file that are not replayed.
func (f *Files) Notes(d steps.Dataset) []string {
	t, err := f.Table(d)
	if err != nil {
		return nil // CheckTrace reports it
	}
	return t.Notes
}

// Span returns the planned time of the last of the first n requests of a trace. n = 0 means all.
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

// Open opens a regular file below one of the folders. os.Root prevents escapes, including those by symbolic
// links.
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
	// Check first: opening a named pipe would block.
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

// place returns the folder that a path lies in, and the path within it.
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
