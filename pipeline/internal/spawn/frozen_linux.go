package spawn

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// cgroupRoot is the mount point of the cgroup hierarchies.
const cgroupRoot = "/sys/fs/cgroup"

// Capabilities implements steps.Child.
func (c *child) Capabilities() steps.ChildCapabilities {
	return steps.ChildCapabilities{Frozen: c.frozen}
}

// frozen looks for processes stopped by SIGSTOP or frozen by their cgroup.
func (c *child) frozen() (look func() string) {
	all := listProcesses()
	if p, ok := all[c.pid]; ok && p.start != c.start {
		return func() string { return "" }
	}
	pids := all.below(c.pid)
	freezers := freezersOf(pids, cgroupRoot)
	return func() string {
		for _, pid := range pids {
			if p, err := readProcess(pid); err == nil && p.state == 'T' && p.start == all[pid].start {
				return fmt.Sprintf("process %d (%s) was stopped by a signal", p.pid, p.name)
			}
		}
		for _, f := range freezers {
			if f.frozen() {
				return fmt.Sprintf("the cgroup %s was frozen", f.cgroup)
			}
		}
		return ""
	}
}

// below returns the running processes of a group and all their descendants, ordered by number.
func (all processes) below(group int) []int {
	children := map[int][]int{}
	found := map[int]bool{}
	var next, out []int
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p.pid)
		if p.group == group {
			next = append(next, p.pid)
		}
	}
	for len(next) > 0 {
		pid := next[len(next)-1]
		next = next[:len(next)-1]
		if found[pid] {
			continue
		}
		found[pid] = true
		next = append(next, children[pid]...)
		if !all[pid].ended() {
			out = append(out, pid)
		}
	}
	slices.Sort(out)
	return out
}

// freezer is the file that shows whether a cgroup is frozen.
type freezer struct{ cgroup, file, line string }

// frozen reports whether the cgroup, or one above it, is frozen. A removed cgroup is not.
func (f freezer) frozen() bool {
	data, err := os.ReadFile(f.file)
	return err == nil && slices.Contains(strings.Split(strings.TrimSpace(string(data)), "\n"), f.line)
}

// freezersOf returns the freezers of several processes, each once.
func freezersOf(pids []int, root string) []freezer {
	var out []freezer
	for _, pid := range pids {
		data, err := os.ReadFile(procDir(pid) + "/cgroup")
		if err != nil {
			continue
		}
		for _, f := range parseFreezers(data, root) {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// parseFreezers parses /proc/PID/cgroup (cgroups(7)). Version 2 has one hierarchy without a controller; version
// 1 may have a freezer hierarchy.
func parseFreezers(data []byte, root string) []freezer {
	var out []freezer
	for line := range bytes.Lines(data) {
		fields := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		switch {
		case len(fields) < 3:
		case fields[0] == "0" && fields[1] == "":
			for _, mount := range []string{"", "unified"} { // version 2 alone, or besides version 1
				out = append(out, freezer{fields[2], filepath.Join(root, mount, fields[2], "cgroup.events"), "frozen 1"})
			}
		case slices.Contains(strings.Split(fields[1], ","), "freezer"):
			out = append(out, freezer{fields[2], filepath.Join(root, "freezer", fields[2], "freezer.state"), "FROZEN"})
		}
	}
	return out
}
