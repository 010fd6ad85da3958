package bisect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
)

const (
	stateFile   = "search.json"
	journalFile = "journal.jsonl"
)

// State identifies a search. It must be unchanged when the search resumes.
type State struct {
	File string `json:"file"`
	// Sources is a hash of the pipeline's files and the values of its variables.
	Sources    string      `json:"sources"`
	Candidates []Candidate `json:"candidates"`
	Confidence float64     `json:"confidence"`
	Simulated  string      `json:"simulated,omitempty"`
}

// entry is an entry of the journal, with one field set.
type entry struct {
	Ends     *Ends     `json:"ends,omitempty"`
	Probe    *Probe    `json:"probe,omitempty"`
	Unusable *Unusable `json:"unusable,omitempty"`
}

// Probe is a measured pair of the good end and a candidate.
type Probe struct {
	Candidate int     `json:"candidate"`
	D         float64 `json:"d"`
	Launches  int     `json:"launches"`
	Run       string  `json:"run"` // run directory of its session
}

// Unusable is a candidate that could not be probed.
type Unusable struct {
	Candidate int    `json:"candidate"`
	Reason    string `json:"reason"`
	Launches  int    `json:"launches"`
}

// Folder is the folder of a search, locked by one program at a time.
type Folder struct {
	path    string
	lock    *flock.Flock
	journal *os.File
	entries []entry
}

// ErrNotSearch means that a search cannot resume or start in a folder.
var ErrNotSearch = errors.New("not the folder of such a search")

// OpenFolder starts a search in a new or empty folder, or resumes the search in it. In the latter case it fills
// the candidates of *s if they are nil.
func OpenFolder(path string, s *State, resume bool) (*Folder, error) {
	if _, err := os.Stat(path); resume && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: it does not exist", path, ErrNotSearch)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	f := &Folder{path: path, lock: flock.New(filepath.Join(path, ".lock"))}
	if ok, err := f.lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("%s: another search is using the folder", path), err)
	}
	if err := f.open(s, resume); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *Folder) open(s *State, resume bool) error {
	text, err := os.ReadFile(f.in(stateFile))
	switch {
	case errors.Is(err, fs.ErrNotExist) && resume:
		return fmt.Errorf("%s: %w: it has no %s", f.path, ErrNotSearch, stateFile)
	case errors.Is(err, fs.ErrNotExist):
		err = f.begin(s)
	case err == nil && !resume:
		return fmt.Errorf("%s: %w: it holds one; go on with that by --resume, or choose another --out", f.path, ErrNotSearch)
	case err == nil:
		err = same(text, s)
	}
	if err != nil {
		return err
	}
	return f.read()
}

func (f *Folder) begin(s *State) error {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != ".lock" {
			return fmt.Errorf("%s: %w: it is not empty; choose another --out", f.path, ErrNotSearch)
		}
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(f.in(stateFile), append(text, '\n'), 0o600)
}

// same fills in the candidates of a resumed search, and rejects any other difference.
func same(text []byte, s *State) error {
	var before State
	if err := json.Unmarshal(text, &before); err != nil {
		return fmt.Errorf("%w: %s cannot be read: %w", ErrNotSearch, stateFile, err)
	}
	if s.Candidates == nil {
		s.Candidates = before.Candidates
	}
	s.File = before.File // the content must be equal, the path may be spelled differently
	if !reflect.DeepEqual(before, *s) {
		return fmt.Errorf("%w: the pipeline, its variables, the ends or the flags have changed since; leave --good and --bad out for those of "+
			"before, or begin again with another --out", ErrNotSearch)
	}
	return nil
}

// read reads the journal. It truncates an incomplete last line, left by a crash.
func (f *Folder) read() (err error) {
	if f.journal, err = os.OpenFile(f.in(journalFile), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	good := int64(0)
	for r := bufio.NewReader(f.journal); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break // the rest is incomplete
		}
		var e entry
		if err := json.NewDecoder(bytes.NewReader(line)).Decode(&e); err != nil {
			return fmt.Errorf("%s: line %d cannot be read: %w", f.in(journalFile), len(f.entries)+1, err)
		}
		f.entries = append(f.entries, e)
		good += int64(len(line))
	}
	_, err = f.journal.Seek(good, io.SeekStart)
	return errors.Join(f.journal.Truncate(good), err)
}

// add appends an entry durably.
func (f *Folder) add(e entry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := f.journal.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	f.entries = append(f.entries, e)
	return f.journal.Sync()
}

func (f *Folder) in(name string) string { return filepath.Join(f.path, name) }

// Path returns the path of the folder.
func (f *Folder) Path() string { return f.path }

// run returns the run directory of the next measurement.
func (f *Folder) run() string { return f.in(filepath.Join("runs", fmt.Sprint(len(f.entries)+1))) }

// Close unlocks the folder.
func (f *Folder) Close() error {
	var err error
	if f.journal != nil {
		err = f.journal.Close()
	}
	return errors.Join(err, f.lock.Unlock())
}
