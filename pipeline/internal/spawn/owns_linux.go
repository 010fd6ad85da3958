package spawn

import (
	"os"
)

// hostNamespace is the value of /proc/self/ns/pid in a machine's initial PID namespace. In any other namespace,
// a process ID reported by a driver may belong to another process here.
const hostNamespace = "pid:[4026531836]"

// OwnerOf reports whether this program started a process, at any depth and with any environment.
func OwnerOf(pid int) Ownership {
	if pid <= 0 {
		return Unknown
	}
	if markOf(pid, spaceOf("self")) == ownMark() {
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

// ControlGroup returns the text of a process's control groups, in which container runtimes name their
// containers; "" if unreadable.
func ControlGroup(pid int) string {
	data, err := os.ReadFile(procDir(pid) + "/cgroup")
	if err != nil {
		return ""
	}
	return string(data)
}
