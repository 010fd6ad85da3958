package spawn

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// FindOrphans finds the processes that carry our mark and whose program is gone: what is
// left after a kill -9, however far down it was started and whatever group it is in.
// Processes of other users cannot be read and are not found.
func FindOrphans() ([]Orphan, error) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return nil, fmt.Errorf("searching for processes that were left: %w", err)
	}
	var found []Orphan
	eachProcess(func(p process) bool {
		owner, start, ok := parseMark(markOf(p.pid))
		if ok && !p.ended() && !isAlive(owner, start) {
			found = append(found, Orphan{PID: p.pid, StartTime: p.start, Argv: argvOf(p.pid), Owner: owner})
		}
		return true
	})
	return found, nil
}

// FindStrays finds the processes that carry this program's own mark: called when every
// child has been stopped, those that had left the group they were started in.
func FindStrays() []Orphan {
	var found []Orphan
	eachProcess(func(p process) bool {
		if p.pid != os.Getpid() && !p.ended() && markOf(p.pid) == ownMark() {
			found = append(found, Orphan{PID: p.pid, StartTime: p.start, Argv: argvOf(p.pid), Owner: os.Getpid()})
		}
		return true
	})
	return found
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

// KillOrphan kills a process that a journal names, with its whole group if it leads one,
// and reports whether anything was killed. It kills nothing unless the start time is the
// same and the process carries our mark, so that a later process with the same number is
// safe. Where the leader itself is gone, what is left of its group is killed if it
// carries the mark.
func KillOrphan(pid int, start uint64) (bool, error) {
	if pid <= 1 || pid == os.Getpid() {
		return false, fmt.Errorf("process %d cannot be one that was left behind", pid)
	}
	p, err := readProcess(pid)
	switch {
	case err == nil && p.start != start:
		return false, nil // another process has the number, so the old group is gone
	case err == nil && !p.ended():
		if _, _, ours := parseMark(markOf(pid)); !ours {
			return false, nil
		}
		if p.group == pid {
			return kill(-pid)
		}
		return kill(pid)
	}
	return killRest(pid, start)
}

// killRest kills the members of a group whose leader is gone. Its number cannot have
// been given to another process while a member is left.
func killRest(group int, start uint64) (bool, error) {
	var members []int
	eachProcess(func(p process) bool {
		_, _, ours := parseMark(markOf(p.pid))
		if p.group == group && p.start >= start && !p.ended() && ours {
			members = append(members, p.pid)
		}
		return true
	})
	killed := false
	var errs []error
	for _, pid := range members {
		k, err := kill(pid)
		killed = killed || k
		errs = append(errs, err)
	}
	return killed, errors.Join(errs...)
}

func kill(pid int) (bool, error) {
	err := syscall.Kill(pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("kill process %d: %w", pid, err)
	}
	return true, nil
}
