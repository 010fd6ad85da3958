package spawn

import (
	"os"
)

// hostNamespace is what /proc/self/ns/pid is in the first PID namespace of a machine. In
// any other, a number that a driver gives may be that of another process here.
const hostNamespace = "pid:[4026531836]"

// OwnerOf reports whether this program has started a process, however far down and whatever the
// process has made of its environment.
func OwnerOf(pid int) Ownership {
	if pid <= 0 {
		return Unknown
	}
	if markOf(pid) == ownMark() {
		return Ours
	}
	all := listProcesses()
	if _, ours := all.family(all.own())[pid]; ours {
		return Ours
	}
	p, err := readProcess(pid)
	namespace, nsErr := os.Readlink("/proc/self/ns/pid")
	if err != nil || p.ended() || nsErr != nil || namespace != hostNamespace {
		return Unknown
	}
	return Others
}

// ControlGroup returns the text of a process's control groups, in which container
// runtimes name their containers; "" if it cannot be read.
func ControlGroup(pid int) string {
	data, err := os.ReadFile(procDir(pid) + "/cgroup")
	if err != nil {
		return ""
	}
	return string(data)
}
