package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/steps/probe"
)

// LockDirEnv is the environment variable that overrides the lock folder.
const LockDirEnv = "PIPELINE_LOCK_DIR"

// lockDirs are tried in this order. They belong to the machine, not to a user like XDG_RUNTIME_DIR, because
// users share its GPUs.
var lockDirs = []string{"/run/lock/pipeline", "/tmp/pipeline-locks"}

// LockDir returns the lock folder of this machine, and creates it if necessary.
func LockDir(getenv func(string) string) (string, error) {
	if dir := getenv(LockDirEnv); dir != "" {
		return dir, lockDir(dir)
	}
	var errs []error
	for _, dir := range lockDirs {
		err := lockDir(dir)
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("no folder for locks: %w", errors.Join(errs...))
}

// lockDir creates a folder in which all users can create files and nobody can remove files of others. An
// existing folder must not let everybody remove files.
func lockDir(dir string) error {
	const shared = os.ModeSticky | 0o777
	err := os.Mkdir(dir, 0o777)
	if err == nil {
		return os.Chmod(dir, shared) // regardless of the umask
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	mode := info.Mode()
	if !mode.IsDir() {
		return fmt.Errorf("%s is not a folder", dir)
	}
	if mode.Perm()&0o002 != 0 && mode&os.ModeSticky == 0 {
		return fmt.Errorf("%s lets everybody remove the locks of others: chmod 1777 %s", dir, dir)
	}
	return nil
}

// GPUs waits for the GPUs of the plan's targets and locks them for the session. So two runs never measure on
// one GPU, and a run keeps its GPUs between launches. A target that asks for a number of GPUs locks all of the
// machine, because the engine or daemon chooses. A target that names GPUs locks those. Locks are taken in the
// order of UUIDs, so two runs cannot deadlock.
func (l Locks) GPUs(ctx context.Context, needs doctor.Needs, prober *probe.Prober) (func(), error) {
	none := func() {}
	if !needs.MayUseGPUs() {
		return none, nil
	}
	all, err := prober.GPUs(ctx)
	names := lockNames(needs, all)
	if len(names) == 0 || err != nil && !needs.WantsGPUs() {
		return none, nil
	}
	dir, err := LockDir(l.Getenv)
	if err != nil {
		return nil, err
	}
	var releases []func()
	release := func() {
		for _, r := range slices.Backward(releases) {
			r()
		}
	}
	for _, n := range names {
		r, err := l.hold(ctx, n.what, filepath.Join(dir, n.file))
		if err != nil {
			release()
			return nil, err
		}
		releases = append(releases, r)
	}
	return release, nil
}

// lockName is the file name of a lock, and a description of what it locks.
type lockName struct{ file, what string }

// lockNames lists the needed locks in the order in which they are taken. If GPUs are needed but invisible, one
// lock covers the machine.
func lockNames(needs doctor.Needs, all []probe.GPU) []lockName {
	if len(all) == 0 {
		if !needs.WantsGPUs() {
			return nil
		}
		return []lockName{{"gpus.lock", "the GPUs of this machine"}}
	}
	var names []lockName
	for _, t := range needs.Targets {
		if len(t.GPUs) == 0 {
			continue
		}
		selected, sure, err := doctor.Select(t.GPUs, all)
		if err != nil || !sure {
			selected = all
		}
		for _, g := range selected {
			l := lockName{lockFile(g), g.String()}
			if !slices.Contains(names, l) {
				names = append(names, l)
			}
		}
	}
	slices.SortFunc(names, func(a, b lockName) int { return strings.Compare(a.file, b.file) })
	return names
}

// lockFile returns the name of a GPU's lock file. A UUID comes from a driver and becomes part of a path, so
// other characters are replaced.
func lockFile(g probe.GPU) string {
	clean := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' {
			return r
		}
		return '_'
	}, g.UUID)
	if clean == "" {
		clean = fmt.Sprintf("index-%d", g.Index)
	}
	return "gpu-" + clean + ".lock"
}
