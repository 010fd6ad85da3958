package spawn

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// A child carries the mark in two of its resource limits as well. A limit passes to all descendants. It remains when a
// process rewrites its title and environment, closes its descriptors, starts a session and loses its parent, all
// of which daemons do. These two limits have no effect: Linux has ignored the number of locks since 2.4.25, and the other
// bounds real-time processes alone, here at 146,000 years.
const (
	ownerLimit = unix.RLIMIT_LOCKS  // limitMark, the process ID and the start time of the program
	spaceLimit = unix.RLIMIT_RTTIME // limitMark and the number of its PID namespace
)

const (
	limitMark = 1 << 62
	// startBits hold 348 years of clock ticks. A process ID has at most 22 bits.
	startBits = 40
)

// limiting guards the limits of this program, which a fork copies.
var limiting sync.Mutex

// whileMarked calls start while this program has the limits that mark its children. If the system refuses them, the
// environment alone marks the child.
func whileMarked(start func() error) error {
	limiting.Lock()
	defer limiting.Unlock()
	for limit, value := range ownLimits() {
		var was unix.Rlimit
		if unix.Getrlimit(limit, &was) != nil || unix.Setrlimit(limit, &unix.Rlimit{Cur: value, Max: was.Max}) != nil {
			continue
		}
		defer func() { _ = unix.Setrlimit(limit, &was) }() // lowers it, or restores what was allowed
	}
	return start()
}

// ownLimits returns the marks of this program's children; none if the system does not provide the values. They are the
// same for every child.
var ownLimits = sync.OnceValue(func() map[int]uint64 {
	pid := os.Getpid()
	start, err := startTime(pid)
	space := spaceOf("self")
	if err != nil || space == 0 {
		return nil
	}
	return map[int]uint64{ownerLimit: limitMark | uint64(pid)<<startBits | start, spaceLimit: limitMark | space}
})

// spaceOf returns the number of a process's PID namespace; 0 if unreadable.
func spaceOf(pid string) uint64 {
	link, _ := os.Readlink("/proc/" + pid + "/ns/pid")
	number, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]"), 10, 64)
	return number
}

// limitOf returns the mark in the limits of a process, "" if absent, of another PID namespace, or of a process that this
// user cannot end.
func limitOf(pid int, space uint64) string {
	data, err := os.ReadFile(procDir(pid) + "/limits")
	if err != nil {
		return ""
	}
	owner, ok := marked(data, "Max file locks")
	other, ok2 := marked(data, "Max realtime timeout")
	if !ok || !ok2 || other != space || unix.Kill(pid, 0) != nil {
		return ""
	}
	return strconv.FormatUint(owner>>startBits, 10) + ":" + strconv.FormatUint(owner&(1<<startBits-1), 10)
}

// marked returns the soft limit of a row of /proc/PID/limits without limitMark, and whether it has it.
func marked(data []byte, row string) (uint64, bool) {
	_, rest, _ := bytes.Cut(data, []byte(row+" "))
	rest, _, _ = bytes.Cut(rest, []byte("\n"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0, false
	}
	value, err := strconv.ParseUint(string(fields[0]), 10, 64)
	return value &^ limitMark, err == nil && value&limitMark != 0 && value < 2*limitMark
}
