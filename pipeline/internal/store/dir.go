package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
	"github.com/servegate/pipeline/pipeline/internal/event"
)

// The files of a run directory.
const (
	PlanFile    = "plan.json"
	EventsFile  = "events.jsonl"
	MachineFile = "machine.json"
	ResultsFile = "results.json"
	// CheckoutFile describes the code that was checked out when the run began.
	CheckoutFile = "checkout.json"
	ReportFile   = "report.md"

	recordsDir = "records"
	logsDir    = "logs"
	sourceDir  = "source"
	besideDir  = "beside"
	lockFile   = ".lock"
)

var (
	// ErrNotEmpty means that the directory for a new run is not empty.
	ErrNotEmpty = errors.New("directory is not empty")
	// ErrNotRun means that a directory contains no run.
	ErrNotRun = errors.New("not a run directory")
	// ErrLocked means that another process uses the directory.
	ErrLocked = errors.New("another run is using the directory")
)

// Dir is a run directory.
type Dir struct {
	path   string
	root   *os.Root
	lock   *flock.Flock // nil if opened for reading
	redact *event.Redactor
	// modelled means that no sync is worth its time.
	modelled bool
}

// Create makes path a run directory and locks it. The path must be absent or empty.
func Create(path string, redact *event.Redactor) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil, fmt.Errorf("create the run directory: %w: name a place that you may write to with --out", err)
	} else if at, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("create the run directory: %w: %s is a file: choose another --out", ErrNotRun, at.Path)
	} else if err != nil {
		return nil, fmt.Errorf("create the run directory: %w", misnamed(err))
	}
	d, err := open(path, redact)
	if err != nil {
		return nil, err
	}
	// What another run is writing must not be called what a run has left.
	if err := d.takeLock(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if err := d.checkEmpty(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	for _, sub := range []string{recordsDir, logsDir, sourceDir} {
		if err := d.root.MkdirAll(sub, 0o700); err != nil {
			return nil, errors.Join(fmt.Errorf("create the run directory: %w", err), d.Close())
		}
	}
	return d, nil
}

// Resume opens the directory of an unfinished run and locks it.
func Resume(path string, redact *event.Redactor) (*Dir, error) {
	d, err := openRun(path, redact)
	if err != nil {
		return nil, err
	}
	if err := d.takeLock(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if err := d.sweep(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// sweep removes temporary files left by a killed run.
func (d *Dir) sweep() error {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return fmt.Errorf("read the run directory: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") || e.Name() == lockFile || !e.Type().IsRegular() {
			continue
		}
		if err := d.root.Remove(e.Name()); err != nil {
			return fmt.Errorf("remove a temporary file: %w", err)
		}
	}
	return nil
}

// openRun opens the directory of a run without locking it.
func openRun(path string, redact *event.Redactor) (*Dir, error) {
	d, err := open(path, redact)
	if err != nil {
		return nil, err
	}
	if _, err := d.root.Stat(PlanFile); err != nil {
		err = fmt.Errorf("%s: %w: it has no %s", path, ErrNotRun, PlanFile)
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func open(path string, redact *event.Redactor) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open the run directory: %w", misnamed(err))
	}
	return &Dir{path: path, root: root, redact: redact}, nil
}

// misnamed explains errors about a path that is not and cannot become a directory.
func misnamed(err error) error {
	switch pathErr, _ := errors.AsType[*fs.PathError](err); {
	case pathErr == nil:
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s does not exist", ErrNotRun, pathErr.Path)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w: %s is a file; name the directory that `pipeline run --out` wrote", ErrNotRun, pathErr.Path)
	}
	return err
}

func (d *Dir) checkEmpty() error {
	if _, err := d.root.Stat(PlanFile); err == nil {
		return fmt.Errorf("%s: %w: it holds a run; continue that with --resume --out %s, or choose another --out", d.path, ErrNotEmpty, d.path)
	}
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return fmt.Errorf("read the run directory: %w", err)
	}
	for _, e := range entries {
		if e.Name() != lockFile {
			return fmt.Errorf("%s: %w (it has %q): choose another --out", d.path, ErrNotEmpty, e.Name())
		}
	}
	return nil
}

// takeLock locks the directory until Close or the end of the process.
func (d *Dir) takeLock() error {
	if info, err := d.root.Lstat(lockFile); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: remove it", filepath.Join(d.path, lockFile))
	}
	d.lock = flock.New(filepath.Join(d.path, lockFile))
	ok, err := d.lock.TryLock()
	if err != nil {
		return fmt.Errorf("lock the run directory: %w", err)
	}
	if !ok {
		return fmt.Errorf("%s: %w: wait for it, or choose another --out", d.path, ErrLocked)
	}
	return nil
}

// Close unlocks and closes the directory.
func (d *Dir) Close() error {
	var err error
	if d.lock != nil {
		err = d.lock.Unlock()
	}
	return errors.Join(err, d.root.Close())
}

// Modelled says that the runs to come take place in virtual time. Their records and their journal are written without
// syncs, which would take longer than the runs: only a power failure could lose them, and they are made again in seconds.
func (d *Dir) Modelled() { d.modelled = true }

// Path returns the path of the directory, as given.
func (d *Dir) Path() string { return d.path }

// Journal is the open journal of a run.
type Journal struct {
	*event.Journal
	file *os.File
}

// Journal opens the journal for appending. It first truncates an incomplete last line, left by a crash.
func (d *Dir) Journal() (*Journal, error) {
	f, err := d.root.OpenFile(EventsFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	good, err := event.Read(f, func(event.Event) error { return nil })
	if err == nil {
		err = f.Truncate(good)
	}
	if err == nil {
		_, err = f.Seek(good, io.SeekStart)
	}
	if err == nil {
		err = d.syncSelf()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the journal: %w", err), f.Close())
	}
	return &Journal{Journal: event.NewJournal(events{f, d}, d.redact), file: f}, nil
}

// events is the file of a journal. In virtual time the kernel decides when it reaches the disk.
type events struct {
	*os.File
	dir *Dir
}

// Sync syncs the file, unless the runs are modelled.
func (e events) Sync() error {
	if e.dir.modelled {
		return nil
	}
	return e.File.Sync()
}

// Close closes the file and returns the journal's error, if any.
func (j *Journal) Close() error { return errors.Join(j.Err(), j.file.Close()) }

// Events calls fn for every event in the journal. It ignores an incomplete last line.
func (d *Dir) Events(fn func(event.Event) error) error {
	f, err := d.root.Open(EventsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	_, err = event.Read(f, fn)
	return err
}

// syncSelf makes new file names in the directory durable.
func (d *Dir) syncSelf() error {
	self, err := d.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(self.Sync(), self.Close())
}
