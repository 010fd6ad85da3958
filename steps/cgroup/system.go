// Package cgroup reads what the kernel counts for control groups: the memory of servers, and the processor time of the client.
// It reads version 2, or version 1 where a machine counts it there.
package cgroup

import (
	"cmp"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// System names the folders in which the kernel shows processes and control groups. Zero values mean /proc and
// /sys/fs/cgroup.
type System struct{ Proc, Groups string }

// group is one of the control groups of a process, as /proc lists it.
type group struct {
	root        string // the folder of all groups
	controllers []string
	name        string
}

// unified reports whether the group is of version 2.
func (g group) unified() bool { return g.controllers == nil }

// groupsOf returns the control groups of a process.
func (s System) groupsOf(pid int) []group {
	text, err := os.ReadFile(filepath.Join(cmp.Or(s.Proc, "/proc"), strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return nil
	}
	var all []group
	for line := range strings.Lines(string(text)) {
		number, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), ":")
		controllers, name, _ := strings.Cut(rest, ":")
		g := group{root: filepath.Clean(cmp.Or(s.Groups, "/sys/fs/cgroup")), name: name}
		if number != "0" || controllers != "" {
			g.controllers = strings.Split(controllers, ",")
		}
		all = append(all, g)
	}
	return all
}

// upward yields the name of a group, then those of the groups above it up to the root.
func upward(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name = filepath.Clean("/" + name); yield(name) && name != "/"; name = filepath.Dir(name) {
		}
	}
}

// counters reads a file whose lines are a name and a count. It returns false if the file is unreadable.
func counters(path ...string) (map[string]int64, bool) {
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		return nil, false
	}
	counts := map[string]int64{}
	for line := range strings.Lines(string(data)) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		counts[name] = number(count)
	}
	return counts, true
}

// text returns the content of a file, "" if it is unreadable.
func text(path ...string) string {
	data, _ := os.ReadFile(filepath.Join(path...)) // nil with an error
	return strings.TrimSpace(string(data))
}

// number parses a count, 0 if it is none.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
