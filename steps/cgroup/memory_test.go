package cgroup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/cgroup"
)

// tree is a machine whose files the test writes.
type tree struct {
	t *testing.T
	cgroup.System
}

func newTree(t *testing.T) tree {
	t.Helper()
	dir := t.TempDir()
	return tree{t, cgroup.System{Proc: filepath.Join(dir, "proc"), Groups: filepath.Join(dir, "cgroup")}}
}

// TestKilledWithinANamespace: the limit that was reached can be above the root that the program sees.
func TestKilledWithinANamespace(t *testing.T) {
	f := newTree(t)
	f.process("7", "0::/\n")
	f.events(".", "1", "3")
	m := f.MemoryOf(7)
	if m == nil {
		t.Fatal("the group is not found")
	}
	f.events(".", "1", "4")
	const want = "a process was killed by a memory limit above what this program sees, or because the machine had no memory left (cgroup /)"
	if got := m.Killed(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func (f tree) write(path, text string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f tree) process(pid, groups string) { f.write(filepath.Join(f.Proc, pid, "cgroup"), groups) }

func (f tree) events(group, oom, kills string) {
	f.write(filepath.Join(f.Groups, group, "memory.events"), "low 0\nhigh 7\nmax 12\noom "+oom+"\noom_kill "+kills+"\noom_group_kill 0\n")
}

func (f tree) limit(group, text string) {
	f.write(filepath.Join(f.Groups, group, "memory.max"), text+"\n")
}

// TestKilled: what was killed since the group was found is said, with the nearest limit that was reached.
func TestKilled(t *testing.T) {
	for name, tt := range map[string]struct {
		then func(f tree)
		want string
	}{
		"nothing": {func(tree) {}, ""},
		"a small limit": {func(f tree) {
			f.events("job/run", "2", "4")
			f.events("job", "9", "9")
			f.limit("job/run", "1048576000")
		}, "a process was killed by the memory limit of its cgroup (/job/run, memory.max 1000 MiB)"},
		"a limit above": {func(f tree) { f.events("job/run", "1", "5"); f.events("job", "9", "9"); f.limit("job", "8589934592") },
			"2 processes were killed by the memory limit of its cgroup (/job, memory.max 8.0 GiB)"},
		"the machine": {func(f tree) { f.events("job/run", "1", "4") },
			"a process was killed by the kernel because the machine had no memory left (cgroup /job/run)"},
		"another group": {func(f tree) { f.events("job", "9", "20") }, ""},
		"gone":          {func(f tree) { _ = os.RemoveAll(filepath.Join(f.Groups, "job")) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTree(t)
			f.process("7", "1:name=systemd:/elsewhere\n0::/job/run\n")
			f.events("job/run", "1", "3")
			f.events("job", "1", "3")
			f.limit("job", "max")
			m := f.MemoryOf(7)
			if m == nil {
				t.Fatal("the group is not found")
			}
			tt.then(f)
			if got := m.Killed(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestGroupsThatAreNone: what is not there, or of the first version, has no group, and a namespace's own root has one.
func TestGroupsThatAreNone(t *testing.T) {
	f := newTree(t)
	f.events("job", "0", "0")
	for pid, groups := range map[string]string{
		"1": "4:memory:/job\n", "2": "0::/\n", "3": "0::/../../etc\n", "4": "", "5": "0::/unknown\n", "6": strings.Repeat("x", 100),
	} {
		f.process(pid, groups)
	}
	for pid := range 8 {
		if m := f.MemoryOf(pid); m != nil {
			t.Errorf("process %d: %s", pid, m.Name())
		}
	}
	f.events("", "0", "0")
	if m := f.MemoryOf(2); m == nil {
		t.Error("the root of a namespace is not found")
	}
}
