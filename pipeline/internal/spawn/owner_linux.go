package spawn

import (
	"os"
	"strings"
)

// Owner names this program for the labels of what it makes but is no process of its own,
// such as containers: "BOOT/NAMESPACE/PID:START". It is "" where the system does not say
// enough.
func Owner() string {
	place := ownerPlace()
	if place == "" {
		return ""
	}
	return place + "/" + ownMark()
}

// Gone reports whether the program that [Owner] named has certainly ended. Of one that
// runs, or ran, where it cannot be seen from here (another machine, another container, an
// earlier boot) it is not certain.
func Gone(owner string) bool {
	place := ownerPlace()
	mark, ok := strings.CutPrefix(owner, place+"/")
	if place == "" || !ok {
		return false
	}
	pid, start, ok := parseMark(mark)
	return ok && !isAlive(pid, start)
}

// ownerPlace identifies the machines, boots and PID namespaces in which process ids mean
// different things.
func ownerPlace() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "/" + space
}
