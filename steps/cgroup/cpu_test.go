package cgroup_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestThrottled: a process is stopped by the quota of its own group and by those of the groups above it. Its share of a group's
// stops is its share of the group's processor time.
func TestThrottled(t *testing.T) {
	const v1, v2 = "4:memory:/job\n3:cpu,cpuacct:/pod/run\n0::/other\n", "0::/pod/run\n"
	stat := func(throttled, used string) string {
		return "usage_usec " + used + "\nnr_periods 80\nnr_throttled 7\nthrottled_usec " + throttled
	}
	const own = 50 * time.Millisecond
	for name, tt := range map[string]struct {
		groups, limit string
		before, after map[string]string
		want          time.Duration // -1 without a quota
	}{
		"version 2": {v2, "pod/run/cpu.max: 150000 100000",
			map[string]string{"pod/run/cpu.stat": stat("2500", "100000")}, map[string]string{"pod/run/cpu.stat": stat("3500", "150000")},
			time.Millisecond},
		"beside others": {v2, "pod/run/cpu.max: 150000 100000",
			map[string]string{"pod/run/cpu.stat": stat("2500", "100000")}, map[string]string{"pod/run/cpu.stat": stat("3500", "200000")},
			500 * time.Microsecond},
		"above": {v2, "pod/cpu.max: 150000 100000",
			map[string]string{"pod/cpu.stat": stat("0", "0")},
			map[string]string{"pod/cpu.stat": stat("4", "50000"), "pod/run/cpu.stat": stat("9", "1")}, 4 * time.Microsecond},
		"the root of a namespace": {"0::/\n", "cpu.max: 150000 100000",
			map[string]string{"cpu.stat": stat("0", "0")}, map[string]string{"cpu.stat": stat("4", "50000")}, 4 * time.Microsecond},
		"version 1": {v1, "cpu/pod/run/cpu.cfs_quota_us: 50000",
			map[string]string{"cpu/pod/run/cpu.stat": "nr_periods 80\nthrottled_time 2500", "cpuacct/pod/run/cpuacct.usage": "1"},
			map[string]string{"cpu/pod/run/cpu.stat": "nr_periods 90\nthrottled_time 4500", "cpuacct/pod/run/cpuacct.usage": "100000001"}, 1000},
		"version 1, from within its container": {v1, "cpu/cpu.cfs_quota_us: 50000",
			nil, map[string]string{"cpu/cpu.stat": "throttled_time 2500", "cpuacct/cpuacct.usage": "50000000"}, 2500},
		"nothing used":        {v2, "pod/run/cpu.max: 150000 100000", nil, nil, 0},
		"no quota":            {v2, "pod/run/cpu.max: max 100000", nil, nil, -1},
		"no quota, version 1": {v1, "cpu/pod/run/cpu.cfs_quota_us: -1", nil, nil, -1},
		"of another version":  {v1, "pod/run/cpu.max: 150000 100000", nil, nil, -1},
		"no control group":    {"", "cpu.max: 150000 100000", nil, nil, -1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTree(t)
			write := func(files map[string]string) {
				for path, text := range files {
					f.write(filepath.Join(f.Groups, path), text+"\n")
				}
			}
			f.process("7", tt.groups)
			path, limit, _ := strings.Cut(tt.limit, ": ")
			write(map[string]string{path: limit})
			write(tt.before)
			c, got := f.CPUOf(7), time.Duration(-1)
			write(tt.after)
			if c != nil {
				got = c.Throttled(own)
			}
			if got != tt.want {
				t.Errorf("throttled for %v, want %v", got, tt.want)
			}
		})
	}
	if c := newTree(t).CPUOf(8); c != nil || c.Throttled(own) != 0 {
		t.Error("a process without a group has a quota")
	}
}
