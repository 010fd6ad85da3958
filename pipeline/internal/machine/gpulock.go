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

// LockDirEnv names another folder for the locks of this machine.
const LockDirEnv = "PIPELINE_LOCK_DIR"

// lockDirs are tried in this order. They belong to the machine and not to a user (as
// XDG_RUNTIME_DIR does), since runs of different users share its GPUs.
var lockDirs = []string{"/run/lock/pipeline", "/tmp/pipeline-locks"}

// LockDir returns the folder of the locks of this machine, and makes it if it is not there.
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

// lockDir makes a folder in which all users can make files and none can remove those of
// others. One that is there must be such a folder, ours, or root's.
func lockDir(dir string) error {
	const shared = os.ModeSticky | 0o777
	err := os.Mkdir(dir, 0o777)
	if err == nil {
		return os.Chmod(dir, shared) // beyond what the umask left
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
		return fmt.Errorf("%s is no folder", dir)
	}
	if mode.Perm()&0o002 != 0 && mode&os.ModeSticky == 0 {
		return fmt.Errorf("%s lets everybody remove the locks of others: chmod 1777 %s", dir, dir)
	}
	return nil
}

// GPUs waits for the GPUs that the plan's targets use and keeps them to the end of the
// session, so that two runs never measure on one GPU, and those of a run do not change
// between its launches. A target that asks for a number of GPUs locks all of the machine,
// since the engine or the daemon chooses; one that names them locks those. They are taken
// in the order of their UUIDs: two runs cannot wait for each other.
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

// lockName is the file of a lock below the folder, and what it stands for.
type lockName struct{ file, what string }

// lockNames lists the locks that are needed, in the order in which they are taken. Where
// GPUs are asked for that cannot be seen, one lock stands for all of the machine.
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

// lockFile is the name of a GPU's lock. A UUID comes from a driver and becomes part of a
// path, so that only what UUIDs consist of is kept.
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
