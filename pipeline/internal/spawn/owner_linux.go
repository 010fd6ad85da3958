package spawn

import (
	"os"
	"strings"
)

// Owner identifies this program in the labels of objects other than processes, such as containers:
// "BOOT/NAMESPACE/PID:START". It returns "" if the system does not provide these values.
func Owner() string {
	place := ownerPlace()
	if place == "" {
		return ""
	}
	return place + "/" + ownMark()
}

// Gone reports whether the program identified by [Owner] has certainly ended. It returns false for programs
// that are invisible from here: on another machine, in another container, or before a reboot.
func Gone(owner string) bool {
	place := ownerPlace()
	mark, ok := strings.CutPrefix(owner, place+"/")
	if place == "" || !ok {
		return false
	}
	pid, start, ok := parseMark(mark)
	return ok && !isAlive(pid, start)
}

// ownerPlace identifies the boot and the PID namespace, outside of which process IDs have other meanings.
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
