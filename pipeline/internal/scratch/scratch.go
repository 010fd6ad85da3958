// Package scratch makes temporary folders that go even if the program that made them was killed: the next program that makes a
// folder of the same kind removes them, and `pipeline cleanup` removes those of all kinds. Each program holds a lock on its
// folder while it lives, so that no record says whose it is. Where the disk has no locks, folders of killed programs stay.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
)

// Kind names what a folder is for.
type Kind string

// The kinds.
const (
	Build     Kind = "build"   // the temporary files of a build
	Driver    Kind = "driver"  // the files of a load generator
	History   Kind = "history" // the repository of a history
	Rehearsal Kind = "virtual" // the files of modelled processes
)

var kinds = []Kind{Build, Driver, History, Rehearsal}

// pattern matches the names of all folders of a kind.
func (k Kind) pattern() string { return "pipeline-" + string(k) + "-*" }

// Folder is a temporary folder that exists until Remove, or until its program ends and another one looks.
type Folder struct {
	Path string
	lock *flock.Flock
}

// tries bounds how often New starts again because another program has locked its folder. After that, locks do not work on this
// disk, and the folder is used without one.
const tries = 10

// New creates an empty temporary folder. It first removes the folders of this kind that killed programs left.
func New(kind Kind) (*Folder, error) {
	_, _ = sweep(kind, true) // whoever needs the space asks for cleanup, which tells
	for try := 1; ; try++ {
		path, err := os.MkdirTemp("", kind.pattern())
		if err != nil {
			return nil, fmt.Errorf("make a temporary folder: %w: set TMPDIR to a folder that you may write to", err)
		}
		lock := lockOf(path)
		held, err := lock.TryLock()
		if _, gone := os.Stat(path); gone == nil && (held || err != nil || try > tries) {
			return &Folder{path, lock}, nil
		}
		_ = lock.Close() // another program took it for one without an owner, in the moment before it was locked
	}
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() error { return errors.Join(Remove(f.Path), f.lock.Close()) }

// Sweep removes the folders of killed programs, all kinds, and returns their paths. A dry run only returns them.
func Sweep(dry bool) (removed []string, err error) {
	for _, k := range kinds {
		some, failed := sweep(k, !dry)
		removed, err = append(removed, some...), errors.Join(err, failed)
	}
	return removed, err
}

func sweep(kind Kind, remove bool) (found []string, err error) {
	paths, err := filepath.Glob(filepath.Join(os.TempDir(), kind.pattern()))
	for _, path := range paths {
		if !isOurs(path) {
			continue
		}
		lock := lockOf(path)
		if held, failed := lock.TryLock(); failed == nil && held {
			found = append(found, path)
			if remove {
				err = errors.Join(err, Remove(path))
			}
		}
		_ = lock.Close() // it was opened for reading
	}
	return found, err
}

// isOurs reports whether a path is a folder of this user. Anybody may make one in a shared folder of temporary files.
func isOurs(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// lockOf returns the lock of a folder, which is on the folder itself and goes with it.
func lockOf(path string) *flock.Flock { return flock.New(path, flock.SetFlag(os.O_RDONLY)) }

// Remove removes a folder, also if what is in it is read-only, such as a cache of modules.
func Remove(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder that is about to go
		}
		return nil
	})
	return os.RemoveAll(path)
}
