// Package cgroup reads the kernel's memory counters of control groups, version 2.
package cgroup

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// System names the folders in which the kernel shows processes and control groups. Zero values mean /proc and
// /sys/fs/cgroup.
type System struct{ Proc, Groups string }

// Memory holds a control group and the groups above it, with their counters at the time MemoryOf was called.
type Memory struct {
	name   string  // as in /proc
	kills  int     // out-of-memory kills in the group
	levels []level // the group first, then its parents
}

// level is one group in the hierarchy.
type level struct {
	name, dir string
	exhausted int // how often it reached its limit and could free nothing
}

// MemoryOf finds the control group of a process. It returns nil without a version 2 group that counts memory.
func (s System) MemoryOf(pid int) *Memory {
	text, err := os.ReadFile(filepath.Join(cmp.Or(s.Proc, "/proc"), strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "0::"); ok {
			return s.memory(name)
		}
	}
	return nil
}

func (s System) memory(name string) *Memory {
	root := filepath.Clean(cmp.Or(s.Groups, "/sys/fs/cgroup"))
	own, ok := readEvents(filepath.Join(root, name))
	if !ok {
		return nil
	}
	m := &Memory{name: name, kills: own["oom_kill"]}
	for name = filepath.Clean("/" + name); ; name = filepath.Dir(name) {
		dir := filepath.Join(root, name)
		if events, ok := readEvents(dir); ok { // the root has none, except inside a cgroup namespace
			m.levels = append(m.levels, level{name, dir, events["oom"]})
		}
		if name == "/" {
			return m
		}
	}
}

// Name returns the path of the group.
func (m *Memory) Name() string { return m.name }

// Killed describes the processes of the group that the kernel killed for lack of memory since MemoryOf, and the
// limit that caused it. It returns "" for none.
func (m *Memory) Killed() string {
	events, _ := readEvents(m.levels[0].dir)
	n := events["oom_kill"] - m.kills
	if n <= 0 {
		return ""
	}
	what := "a process was"
	if n > 1 {
		what = fmt.Sprintf("%d processes were", n)
	}
	for _, l := range m.levels {
		if events, _ := readEvents(l.dir); events["oom"] > l.exhausted {
			return fmt.Sprintf("%s killed by the memory limit of its cgroup (%s%s)", what, l.name, l.limit())
		}
	}
	if m.levels[len(m.levels)-1].name == "/" { // in a namespace: the machine's real root has no memory.events
		return fmt.Sprintf("%s killed by a memory limit above what this program sees, or because the machine had no memory left (cgroup %s)",
			what, m.levels[0].name)
	}
	return fmt.Sprintf("%s killed by the kernel because the machine had no memory left (cgroup %s)", what, m.levels[0].name)
}

// limit formats the limit of a group, with a leading comma. It returns "" without a limit.
func (l level) limit() string {
	text, err := os.ReadFile(filepath.Join(l.dir, "memory.max"))
	n, notNumber := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	switch {
	case err != nil || notNumber != nil: // "max", or unreadable
		return ""
	case n < 1<<30:
		return fmt.Sprintf(", memory.max %.0f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf(", memory.max %.1f GiB", float64(n)/(1<<30))
}

// readEvents reads the counters in memory.events, which include the groups below.
func readEvents(dir string) (map[string]int, bool) {
	text, err := os.ReadFile(filepath.Join(dir, "memory.events"))
	if err != nil {
		return nil, false
	}
	events := map[string]int{}
	for line := range strings.Lines(string(text)) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		events[name], _ = strconv.Atoi(count)
	}
	return events, true
}
