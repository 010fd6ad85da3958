package bisect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/git"
	"github.com/servegate/pipeline/pipeline/internal/scratch"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/exec"
	"golang.org/x/sys/unix"
)

// UnbuildableError is the failure of a candidate's build command.
type UnbuildableError struct{ Err error }

func (e *UnbuildableError) Error() string { return e.Err.Error() }
func (e *UnbuildableError) Unwrap() error { return e.Err }

const (
	// keptBuilds is the number of builds kept besides those in use; a search revisits few.
	keptBuilds = 3
	// diskEvery is the interval between checks of the size of a running build.
	diskEvery = 2 * time.Second
	// leastFree is the free disk space in bytes below which a failed build is not blamed on the commit.
	leastFree = 64 << 20
)

// Builder builds candidates in separate checkouts.
type Builder struct {
	Repo   git.Repo
	Spec   *config.BisectBuild
	Folder string // folder of the search
	Redact *event.Redactor
	// Action runs the build command.
	Action exec.Action
}

// made is the receipt that a build writes beside its checkout.
type made struct {
	Outputs map[string]string `json:"outputs"`
}

func (b *Builder) builds() string             { return filepath.Join(b.Folder, "builds") }
func (b *Builder) path(c Candidate) string    { return filepath.Join(b.builds(), c.Short()) }
func (b *Builder) receipt(c Candidate) string { return b.path(c) + ".json" }

// Values returns a candidate's values for the file: its reference and, if there is a build, its folder and
// outputs. If the build command fails, the error is an UnbuildableError.
func (b *Builder) Values(ctx context.Context, c Candidate, good Candidate) (map[string]string, error) {
	values := map[string]string{"ref": c.Ref, "path": ""}
	if b.Spec == nil {
		return values, nil
	}
	values["path"] = b.path(c)
	outputs, err := b.make(ctx, c)
	if err != nil {
		return nil, err
	}
	maps.Copy(values, outputs)
	now := time.Now()
	_ = os.Chtimes(b.receipt(c), now, now) // marks it as used, so that others are evicted first
	return values, b.evict(c, good)
}

func (b *Builder) make(ctx context.Context, c Candidate) (map[string]string, error) {
	var m made
	if text, err := os.ReadFile(b.receipt(c)); err == nil && json.Unmarshal(text, &m) == nil {
		return m.Outputs, nil
	}
	if err := b.checkout(ctx, c); err != nil {
		return nil, err
	}
	outputs, err := b.run(ctx, c)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, errors.Join(err, scratch.Remove(b.path(c)))
	}
	text, err := json.Marshal(made{outputs})
	if err != nil {
		return nil, err
	}
	return outputs, renameio.WriteFile(b.receipt(c), text, 0o600)
}

// checkout makes a clone that shares the repository's objects. Unlike a worktree, it leaves nothing in the
// repository, even if the program is killed.
func (b *Builder) checkout(ctx context.Context, c Candidate) error {
	dir := b.path(c)
	if err := errors.Join(scratch.Remove(dir), os.MkdirAll(b.builds(), 0o700)); err != nil {
		return err
	}
	from, err := b.Repo.Line(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return err
	}
	if _, err := b.Repo.Run(ctx, "clone", "--shared", "--no-checkout", "--template=", "--quiet", "--", from, dir); err != nil {
		return err
	}
	clone := b.Repo
	clone.Dir = dir
	if origin, err := b.Repo.Line(ctx, "remote", "get-url", "origin"); err == nil { // for relative addresses of submodules
		if _, err := clone.Run(ctx, "remote", "set-url", "origin", origin); err != nil {
			return err
		}
	}
	_, err = clone.Run(ctx, "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", c.Ref)
	return err
}

// run runs the command in the checkout, with limits on time and disk. Its error is an UnbuildableError if the command
// failed, and not if its log or its temporary folder did.
func (b *Builder) run(ctx context.Context, c Candidate) (map[string]string, error) {
	log, err := b.log(c)
	if err != nil {
		return nil, err
	}
	temp, err := scratch.New(scratch.Build)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	bounded, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		b.watchDisk(bounded, c, cancel)
	}()
	outputs, err := b.Action.Run(bounded, steps.ActionEnv{Spawner: b.Repo.Spawner, Log: log, Dir: b.path(c), Temp: temp.Path}, b.Spec.Command)
	cancel(nil)
	<-watched
	if err == nil {
		if size := sizeOf(ctx, b.path(c)); size > b.Spec.Disk {
			err = tooLarge(b.Spec.Disk)
		}
	}
	full := fullDisk(b.Folder, temp.Path)
	own := errors.Join(log.Close(), temp.Remove())
	switch {
	case err != nil && full != "":
		return nil, fmt.Errorf("the disk of %s is full, so no commit can be built: %w", full, errors.Join(err, own))
	case own != nil || errors.Is(err, exec.ErrOutputFile):
		return nil, fmt.Errorf("building %s: %w", c.Short(), errors.Join(err, own))
	case err != nil:
		return nil, &UnbuildableError{fmt.Errorf("building %s: %w (%s)", c.Short(), err, log.name)}
	}
	return outputs, nil
}

func tooLarge(limit int64) error {
	return fmt.Errorf("the checkout with its build takes more than disk = %d bytes", limit)
}

// watchDisk cancels a build that exceeds its disk limit.
func (b *Builder) watchDisk(ctx context.Context, c Candidate, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if sizeOf(ctx, b.path(c)) > b.Spec.Disk {
				cancel(tooLarge(b.Spec.Disk))
			}
		}
	}
}

// sizeOf returns the total size of the files in a folder.
func sizeOf(ctx context.Context, dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return ctx.Err() // files that vanish during the walk do not count
	})
	return size
}

// fullDisk returns the first of the folders whose disk is full, "" if none is.
func fullDisk(folders ...string) string {
	i := slices.IndexFunc(folders, func(dir string) bool { return free(dir) < leastFree })
	if i < 0 {
		return ""
	}
	return folders[i]
}

// free returns the free space on a folder's disk, in bytes.
func free(dir string) uint64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return leastFree
	}
	return s.Bavail * uint64(s.Bsize) //nolint:gosec // a size of blocks is above zero
}

// logFile is the log of a build, with secrets masked. It accepts what it cannot write, so that the command does not fail
// by it, and Close returns the error.
type logFile struct {
	masked io.WriteCloser
	file   *os.File
	name   string

	mu  sync.Mutex
	err error
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		_, l.err = l.masked.Write(p)
	}
	return len(p), nil
}

func (b *Builder) log(c Candidate) (*logFile, error) {
	name := filepath.Join(b.Folder, "logs", c.Short()+".log")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	return &logFile{masked: b.Redact.Writer(f), file: f, name: name}, nil
}

func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = l.masked.Close()
	}
	if err := errors.Join(l.err, l.file.Close()); err != nil {
		return fmt.Errorf("writing its log: %w", err)
	}
	return nil
}

// evict removes the least recently used builds.
func (b *Builder) evict(using ...Candidate) error {
	entries, err := os.ReadDir(b.builds())
	if err != nil {
		return err
	}
	type build struct {
		path string
		used time.Time
	}
	var all []build
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || slices.ContainsFunc(using, func(c Candidate) bool { return c.Short() == name }) {
			continue
		}
		if info, err := e.Info(); err == nil {
			all = append(all, build{filepath.Join(b.builds(), name), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(x, y build) int { return y.used.Compare(x.used) })
	var errs []error
	for _, old := range all[min(len(all), keptBuilds):] {
		errs = append(errs, os.Remove(old.path+".json"), scratch.Remove(old.path))
	}
	return errors.Join(errs...)
}

// Clear removes all builds.
func (b *Builder) Clear() error { return scratch.Remove(b.builds()) }
