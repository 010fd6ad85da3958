package spawn

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// process holds fields of /proc/PID/stat.
type process struct {
	pid, parent, group, session int
	name                        string
	state                       byte
	start                       uint64 // clock ticks since boot
}

// ended reports whether it is a zombie or dead.
func (p process) ended() bool { return p.state == 'Z' || p.state == 'X' }

// eachProcess calls f for every process of the machine until f returns false. It skips processes that end
// meanwhile.
func eachProcess(f func(process) bool) {
	eachID(func(pid int) bool {
		p, err := readProcess(pid)
		return err != nil || f(p)
	})
}

// eachID calls f for the ID of every process of the machine until f returns false.
func eachID(f func(pid int) bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }() // opened for reading only
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return
	}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && !f(pid) {
			return
		}
	}
}

func procDir(pid int) string { return "/proc/" + strconv.Itoa(pid) }

// readProcess reads /proc/PID/stat by three system calls. The kernel gives the whole line at once.
func readProcess(pid int) (process, error) {
	fd, err := syscall.Open(procDir(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return process{}, err
	}
	defer func() { _ = syscall.Close(fd) }() // opened for reading only
	var line [1024]byte
	for {
		n, err := syscall.Read(fd, line[:])
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return process{}, err
		}
		return parseStat(line[:n])
	}
}

// parseStat parses the line of /proc/PID/stat (proc_pid_stat(5)). The name in parentheses may contain spaces
// and parentheses, so the fields are counted from the last parenthesis.
func parseStat(data []byte) (process, error) {
	line := strings.TrimSpace(string(data))
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return process{}, errors.New("the line of /proc has no name in parentheses")
	}
	fields := strings.Fields(line[end+1:])
	const state, parent, group, session, start = 0, 1, 2, 3, 19
	if len(fields) <= start || len(fields[state]) != 1 {
		return process{}, fmt.Errorf("the line of /proc has %d fields after the name; at least %d were expected", len(fields), start+1)
	}
	p := process{name: line[open+1 : end], state: fields[state][0]}
	var err error
	if p.pid, err = strconv.Atoi(strings.TrimSpace(line[:open])); err != nil {
		return process{}, fmt.Errorf("process id: %w", err)
	}
	for _, f := range []struct {
		what string
		at   int
		to   *int
	}{{"parent", parent, &p.parent}, {"process group", group, &p.group}, {"session", session, &p.session}} {
		if *f.to, err = strconv.Atoi(fields[f.at]); err != nil {
			return process{}, fmt.Errorf("%s: %w", f.what, err)
		}
	}
	if p.start, err = strconv.ParseUint(fields[start], 10, 64); err != nil {
		return process{}, fmt.Errorf("start time: %w", err)
	}
	return p, nil
}

// startTime returns the start time of a process in clock ticks since boot.
func startTime(pid int) (uint64, error) {
	p, err := readProcess(pid)
	return p.start, err
}

// markOf returns the mark in the environment or the limits of a process, "" if absent, unreadable or of another PID
// namespace than space.
func markOf(pid int, space uint64) string {
	if mark := environMarkOf(pid); mark != "" && spaceOf(strconv.Itoa(pid)) == space {
		return mark
	}
	return limitOf(pid, space)
}

// environMarkOf returns the valid mark in the environment of a process.
func environMarkOf(pid int) string {
	mark := environOf(pid, MarkVar)
	if _, _, valid := parseMark(mark); !valid {
		return ""
	}
	return mark
}

// environOf returns the value of a variable in the environment of a process, "" if it is unset or unreadable.
func environOf(pid int, name string) string {
	data, err := os.ReadFile(procDir(pid) + "/environ")
	if err != nil {
		return ""
	}
	for kv := range bytes.SplitSeq(data, []byte{0}) {
		if value, ok := bytes.CutPrefix(kv, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// argvOf returns the command line of a process.
func argvOf(pid int) []string {
	data, err := os.ReadFile(procDir(pid) + "/cmdline")
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}
