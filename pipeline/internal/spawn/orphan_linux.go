package spawn

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/servegate/pipeline/steps"
	"golang.org/x/sys/unix"
)

// FindOrphans finds the processes of instances of this program that have ended, for example by kill -9. It
// finds descendants at any depth, in any group and session, and with a changed environment. It leaves out processes that
// this user cannot end. A descendant that changed its environment and both limits of the mark is found only by its parent.
func FindOrphans() ([]Orphan, error) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return nil, fmt.Errorf("searching for processes that were left: %w", err)
	}
	all := listProcesses()
	known := all.marked()
	maps.DeleteFunc(known, func(_ int, owner string) bool { return !Gone(owner) })
	return all.orphans(known), nil
}

// FindStrays finds running processes that this program started. After all children were stopped, these are the
// processes that had left their group.
func FindStrays() []Orphan {
	all := listProcesses()
	return all.orphans(all.own())
}

// own returns the processes that carry the mark of this program.
func (all processes) own() map[int]string {
	known := all.marked()
	own := Owner()
	maps.DeleteFunc(known, func(_ int, owner string) bool { return owner != own })
	return known
}

func (all processes) orphans(known map[int]string) []Orphan {
	var out []Orphan
	for pid, owner := range all.family(known) {
		argv := argvOf(pid)
		if strings.Join(argv, "") == "" {
			argv = []string{all[pid].name}
		}
		out = append(out, Orphan{PID: pid, StartTime: all[pid].start, Argv: argv, Owner: owner, output: environOf(pid, steps.OutputVar)})
	}
	slices.SortFunc(out, func(a, b Orphan) int { return cmp.Compare(a.PID, b.PID) })
	return out
}

func parseMark(mark string) (pid int, start uint64, ok bool) {
	left, right, ok := strings.Cut(mark, ":")
	if !ok {
		return 0, 0, false
	}
	pid, err1 := strconv.Atoi(left)
	start, err2 := strconv.ParseUint(right, 10, 64)
	return pid, start, err1 == nil && err2 == nil
}

// isAlive reports whether the process with this number and start time still runs.
func isAlive(pid int, start uint64) bool {
	p, err := readProcess(pid)
	return err == nil && p.start == start && !p.ended()
}

// EndOrphans kills the processes that [FindOrphans] finds, repeatedly until there are none, and returns them.
// If owners are named, it kills only theirs. It waits until the processes have ended, because only then their
// memory and GPUs are free.
func EndOrphans(owners ...string) ([]Orphan, error) {
	return end(func() ([]Orphan, error) {
		found, err := FindOrphans()
		if len(owners) > 0 {
			found = slices.DeleteFunc(found, func(o Orphan) bool { return !slices.Contains(owners, o.Owner) })
		}
		return found, err
	})
}

// EndStrays kills the processes that [FindStrays] finds, repeatedly until there are none, and returns them.
func EndStrays() ([]Orphan, error) {
	return end(func() ([]Orphan, error) { return FindStrays(), nil })
}

// endWait is how long processes may take to end after a kill. A driver that frees the memory of many GPUs takes
// seconds.
const endWait = 30 * time.Second

func end(find func() ([]Orphan, error)) ([]Orphan, error) {
	var ended []Orphan
	deadline := time.Now().Add(endWait)
	for {
		found, err := find()
		if err != nil || len(found) == 0 {
			return ended, errors.Join(err, removeFiles(ended))
		}
		if time.Now().After(deadline) {
			o := found[0]
			return ended, fmt.Errorf("process %d (%s) still runs %s after it was killed; a driver may hold it", o.PID, o.Command(), endWait)
		}
		var errs []error
		for _, o := range found {
			killed, err := kill(o.PID, o.StartTime)
			errs = append(errs, err)
			again := func(e Orphan) bool { return e.PID == o.PID && e.StartTime == o.StartTime }
			if killed && !slices.ContainsFunc(ended, again) {
				ended = append(ended, o)
			}
		}
		if err := errors.Join(errs...); err != nil {
			return ended, err
		}
		time.Sleep(groupPoll)
	}
}

// kill kills a process unless its number was reused.
func kill(pid int, start uint64) (bool, error) {
	if pid <= 1 || pid == os.Getpid() {
		return false, fmt.Errorf("process %d cannot be one that was left behind", pid)
	}
	// The descriptor always refers to the same process, so it cannot change between check and signal.
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
	}
	if !isAlive(pid, start) {
		return false, nil
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	} else if !errors.Is(err, unix.ESRCH) { // a kernel before 5.3
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if errors.Is(err, syscall.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("kill process %d: %w", pid, err)
	}
	return true, nil
}
