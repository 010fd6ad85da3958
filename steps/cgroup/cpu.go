package cgroup

import (
	"slices"
	"strings"
	"time"
)

// CPU holds a control group and the groups above it that have a quota of processor time, with their counters at the time CPUOf
// was called.
type CPU struct{ quotas []quota }

// quota is one group with a quota.
type quota struct {
	read            func() (throttled, used time.Duration)
	throttled, used time.Duration
}

// CPUOf finds the control groups of a process that have a quota. It returns nil for none.
func (s System) CPUOf(pid int) *CPU {
	c := &CPU{}
	groups := s.groupsOf(pid)
	if i := slices.IndexFunc(groups, func(g group) bool { return slices.Contains(g.controllers, "cpu") }); i >= 0 {
		c.add(groups[i], version1CPU)
	} else if i := slices.IndexFunc(groups, group.unified); i >= 0 {
		c.add(groups[i], version2CPU)
	}
	if len(c.quotas) == 0 {
		return nil
	}
	return c
}

// cpuFiles reads the files of a version. Paths are below the folder of all groups.
type cpuFiles struct {
	limit func(root, name string) string
	read  func(root, name string) (throttled, used time.Duration)
}

var (
	version1CPU = cpuFiles{
		limit: func(root, name string) string { return text(root, "cpu", name, "cpu.cfs_quota_us") },
		read: func(root, name string) (throttled, used time.Duration) {
			stat, _ := counters(root, "cpu", name, "cpu.stat") // empty if unreadable
			return time.Duration(stat["throttled_time"]), time.Duration(number(text(root, "cpuacct", name, "cpuacct.usage")))
		},
	}
	version2CPU = cpuFiles{
		limit: func(root, name string) string { return text(root, name, "cpu.max") },
		read: func(root, name string) (throttled, used time.Duration) {
			stat, _ := counters(root, name, "cpu.stat") // empty if unreadable
			return time.Duration(stat["throttled_usec"]) * time.Microsecond, time.Duration(stat["usage_usec"]) * time.Microsecond
		},
	}
)

// add adds the groups with a quota, from one up to the root. A container of version 1 has its own group at the root, and the
// name that it has on the machine.
func (c *CPU) add(g group, of cpuFiles) {
	for name := range upward(g.name) {
		if limit := of.limit(g.root, name); limit != "" && limit != "-1" && !strings.HasPrefix(limit, "max") {
			q := quota{read: func() (throttled, used time.Duration) { return of.read(g.root, name) }}
			q.throttled, q.used = q.read()
			c.quotas = append(c.quotas, q)
		}
	}
}

// Throttled estimates how long a process of the group was stopped since CPUOf because a quota was used up. The kernel adds up the
// stops of all processes of a group on all processors. A process that used the time own gets the same share of both.
func (c *CPU) Throttled(own time.Duration) time.Duration {
	if c == nil {
		return 0
	}
	var sum float64
	for _, q := range c.quotas {
		throttled, used := q.read()
		sum += float64(throttled-q.throttled) * min(float64(own)/float64(max(used-q.used, 1)), 1)
	}
	return time.Duration(sum)
}
