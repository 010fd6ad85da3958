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

	"golang.org/x/sys/unix"
)

// FindOrphans finds the processes of programs of ours that are gone: what is left after a
// kill -9, however far down it was started, whatever group it is in and whatever it has made of
// its environment. Processes of other users cannot be read and are not found.
func FindOrphans() ([]Orphan, error) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return nil, fmt.Errorf("searching for processes that were left: %w", err)
	}
	all := listProcesses()
	known := all.recorded()
	maps.Copy(known, all.marked())
	maps.DeleteFunc(known, func(_ int, owner string) bool { return !Gone(owner) })
	return all.orphans(known), nil
}

// FindStrays finds the processes that this program has started and that still run: called when
// every child has been stopped, those that had left the group they were started in.
func FindStrays() []Orphan {
	all := listProcesses()
	return all.orphans(all.own())
}

// own returns the processes of this program that its records name or that carry its mark.
func (all processes) own() map[int]string {
	known := all.recorded()
	maps.Copy(known, all.marked())
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
		out = append(out, Orphan{PID: pid, StartTime: all[pid].start, Argv: argv, Owner: owner})
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

// EndOrphans kills what [FindOrphans] finds, of these owners or of all if none is named, until
// it finds nothing more, and returns what it killed. Memory and GPUs of a process are free when
// it has ended, and EndOrphans waits for that.
func EndOrphans(owners ...string) ([]Orphan, error) {
	ended, err := end(func() ([]Orphan, error) {
		found, err := FindOrphans()
		if len(owners) > 0 {
			found = slices.DeleteFunc(found, func(o Orphan) bool { return !slices.Contains(owners, o.Owner) })
		}
		return found, err
	})
	pruneRecords()
	return ended, err
}

// EndStrays kills what [FindStrays] finds, until it finds nothing more, and returns what it killed.
func EndStrays() ([]Orphan, error) {
	return end(func() ([]Orphan, error) { return FindStrays(), nil })
}

// endWait is how long processes may take to end after they were killed. A driver that frees the
// memory of many GPUs takes seconds.
const endWait = 30 * time.Second

func end(find func() ([]Orphan, error)) ([]Orphan, error) {
	var ended []Orphan
	deadline := time.Now().Add(endWait)
	for {
		found, err := find()
		if err != nil || len(found) == 0 {
			return ended, err
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

// kill kills a process unless another has got its number.
func kill(pid int, start uint64) (bool, error) {
	if pid <= 1 || pid == os.Getpid() {
		return false, fmt.Errorf("process %d cannot be one that was left behind", pid)
	}
	// What the descriptor means cannot change between the check and the signal.
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
