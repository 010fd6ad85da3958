package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Memory holds a control group and the groups above it, with their counters at the time MemoryOf was called.
type Memory struct {
	name   string  // as in /proc
	kills  int64   // out-of-memory kills in the group
	levels []level // the group first, then its parents
	files  files
}

// files are the files of a version.
type files struct {
	events, limit string
	// failures counts how often a limit was reached, if events does not.
	failures string
}

var (
	version1 = files{"memory.oom_control", "memory.limit_in_bytes", "memory.failcnt"}
	version2 = files{"memory.events", "memory.max", ""}
)

// unlimited is the smallest limit of version 1 that stands for none: the largest number of whole pages.
const unlimited = 1 << 62

// level is one group in the hierarchy.
type level struct {
	name, dir string
	exhausted int64 // how often it reached its limit and could free nothing
}

// MemoryOf finds the control group of a process. It returns nil without a group that counts memory.
func (s System) MemoryOf(pid int) *Memory {
	for _, g := range s.groupsOf(pid) {
		var m *Memory
		switch {
		case g.unified():
			m = memory(g.root, g.name, version2)
		case slices.Contains(g.controllers, "memory"):
			m = memory(filepath.Join(g.root, "memory"), g.name, version1)
		}
		if m != nil {
			return m
		}
	}
	return nil
}

func memory(root, name string, of files) *Memory {
	own, ok := of.read(filepath.Join(root, name))
	if !ok {
		return nil
	}
	m := &Memory{name: name, kills: own["oom_kill"], files: of}
	for name := range upward(name) {
		dir := filepath.Join(root, name)
		// The root has none in version 2, except inside a cgroup namespace, and no limit in version 1.
		if events, ok := of.read(dir); ok && (of == version2 || name != "/") {
			m.levels = append(m.levels, level{name, dir, events["oom"]})
		}
	}
	return m
}

// Name returns the path of the group.
func (m *Memory) Name() string { return m.name }

// Killed describes the processes of the group that the kernel killed for lack of memory since MemoryOf, and the
// limit that caused it. It returns "" for none.
func (m *Memory) Killed() string {
	if len(m.levels) == 0 {
		return ""
	}
	events, _ := m.files.read(m.levels[0].dir)
	n := events["oom_kill"] - m.kills
	if n <= 0 {
		return ""
	}
	what := "a process was"
	if n > 1 {
		what = fmt.Sprintf("%d processes were", n)
	}
	for _, l := range m.levels {
		if events, _ := m.files.read(l.dir); events["oom"] > l.exhausted {
			return fmt.Sprintf("%s killed by the memory limit of its cgroup (%s%s)", what, l.name, m.files.limitOf(l))
		}
	}
	if m.levels[len(m.levels)-1].name == "/" { // in a namespace: the machine's real root has no memory.events
		return fmt.Sprintf("%s killed by a memory limit above what this program sees, or because the machine had no memory left (cgroup %s)",
			what, m.levels[0].name)
	}
	return fmt.Sprintf("%s killed by the kernel because the machine had no memory left (cgroup %s)", what, m.levels[0].name)
}

// limitOf formats the limit of a group, with a leading comma. It returns "" without a limit.
func (f files) limitOf(l level) string {
	text, err := os.ReadFile(filepath.Join(l.dir, f.limit))
	n, notNumber := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	switch {
	case err != nil || notNumber != nil || n >= unlimited: // "max", or unreadable
		return ""
	case n < 1<<30:
		return fmt.Sprintf(", %s %.0f MiB", f.limit, float64(n)/(1<<20))
	}
	return fmt.Sprintf(", %s %.1f GiB", f.limit, float64(n)/(1<<30))
}

// read reads the counters of a group. Those of version 2 include the groups below.
func (f files) read(dir string) (map[string]int64, bool) {
	events, ok := counters(dir, f.events)
	if ok && f.failures != "" {
		events["oom"] = number(text(dir, f.failures))
	}
	return events, ok
}
