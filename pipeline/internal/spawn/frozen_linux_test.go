package spawn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
)

// A real process that is stopped is seen, be it the child or one below it, and no longer when it
// goes on.
func TestStoppedProcess(t *testing.T) {
	s := newSpawner(t, Options{})
	out := newFirstLine()
	child := start(t, s, steps.Command{Argv: sh(`sleep 1000 & echo $!; wait`), Stdout: out})
	var below int
	if _, err := fmt.Sscan(out.wait(t), &below); err != nil {
		t.Fatal(err)
	}
	look := child.Capabilities().Frozen()
	if got := look(); got != "" {
		t.Fatalf("at first: %q", got)
	}
	for _, pid := range []int{child.PID(), below} {
		signalled(t, pid, syscall.SIGSTOP, func() bool { return strings.HasPrefix(look(), fmt.Sprintf("process %d (", pid)) })
		signalled(t, pid, syscall.SIGCONT, func() bool { return look() == "" })
	}
}

func signalled(t *testing.T, pid int, signal syscall.Signal, seen func() bool) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
	awaitSeen(t, signal.String(), seen)
}

func awaitSeen(t *testing.T, what string, seen func() bool) {
	t.Helper()
	// real time: the kernel stops a real process
	for limit := time.Now().Add(long); !seen(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s was not seen", what)
		}
	}
}

// A real cgroup that is frozen is seen, of each kind that this machine has and this user may make.
func TestFrozenCgroup(t *testing.T) {
	tried := 0
	for _, kind := range []struct{ mount, file, freeze, thaw string }{
		{"freezer", "freezer.state", "FROZEN", "THAWED"}, // version 1
		{"", "cgroup.freeze", "1", "0"},                  // version 2
		{"unified", "cgroup.freeze", "1", "0"},           // version 2 beside version 1
	} {
		group := fmt.Sprintf("pipeline-test-%d", os.Getpid())
		folder := filepath.Join(cgroupRoot, kind.mount, group)
		if os.Mkdir(folder, 0o700) != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(folder, kind.file)); err != nil {
			removeCgroup(t, folder)
			continue
		}
		tried++
		t.Run("at "+filepath.Join(cgroupRoot, kind.mount), func(t *testing.T) {
			t.Cleanup(func() { removeCgroup(t, folder) })
			write := func(file, text string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := newSpawner(t, Options{})
			child := start(t, s, steps.Command{Argv: sh(`sleep 1000`)})
			write("cgroup.procs", fmt.Sprint(child.PID()))
			groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", child.PID()))
			if err != nil || !strings.Contains(string(groups), ":/"+group+"\n") {
				t.Skipf("this container sees only part of the cgroups of its machine (%v)", err)
			}
			look := child.Capabilities().Frozen()
			if got := look(); got != "" {
				t.Fatalf("at first: %q", got)
			}
			write(kind.file, kind.freeze)
			thaw := func() { write(kind.file, kind.thaw) }
			defer thaw() // before the child is killed
			want := "the cgroup /" + group + " was frozen"
			awaitSeen(t, "the freeze", func() bool { return look() == want })
			thaw()
			awaitSeen(t, "the thaw", func() bool { return look() == "" })
		})
	}
	if tried == 0 {
		t.Skip("needs a cgroup that this user may make")
	}
}

// removeCgroup removes a cgroup once its processes have ended.
func removeCgroup(t *testing.T, folder string) {
	t.Helper()
	awaitSeen(t, "the end of "+folder, func() bool { return os.Remove(folder) == nil })
}

func TestFreezers(t *testing.T) {
	root := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct{ cgroup, file, frozen, thawed string }{
		"version 2":                  {"0::/a/b\n", "a/b/cgroup.events", "populated 1\nfrozen 1\n", "populated 1\nfrozen 0\n"},
		"version 2 beside version 1": {"4:memory:/x\n0::/a\n", "unified/a/cgroup.events", "populated 1\nfrozen 1\n", "populated 1\nfrozen 0\n"},
		"version 1":                  {"9:name=systemd:/y\n6:cpu,freezer:/c\n", "freezer/c/freezer.state", "FROZEN\n", "FREEZING\n"},
		"a path with a colon":        {"0::/a:b\n", "a:b/cgroup.events", "frozen 1\n", "frozen 10\n"},
	} {
		t.Run(name, func(t *testing.T) {
			frozen := func() (cgroups []string) {
				for _, f := range parseFreezers([]byte(tt.cgroup), root) {
					if f.frozen() {
						cgroups = append(cgroups, f.cgroup)
					}
				}
				return cgroups
			}
			if got := frozen(); got != nil {
				t.Errorf("without a file: %v", got)
			}
			write(tt.file, tt.thawed)
			if got := frozen(); got != nil {
				t.Errorf("thawed: %v", got)
			}
			write(tt.file, tt.frozen)
			if got := frozen(); len(got) != 1 || !strings.Contains(tt.cgroup, ":"+got[0]+"\n") {
				t.Errorf("frozen: %v", got)
			}
		})
	}
	for _, text := range []string{"", "\n", "0\n", "::\n", "1:freezer\n"} {
		if got := parseFreezers([]byte(text), root); got != nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestBelow(t *testing.T) {
	all := processes{
		7: {pid: 7, parent: 1, group: 7}, 8: {pid: 8, parent: 7, group: 7}, 9: {pid: 9, parent: 8, group: 9},
		10: {pid: 10, parent: 1, group: 7}, 11: {pid: 11, parent: 10, group: 11, state: 'Z'}, 12: {pid: 12, parent: 11, group: 12},
		13: {pid: 13, parent: 1, group: 13},
	}
	if diff := cmp.Diff([]int{7, 8, 9, 10, 12}, all.below(7)); diff != "" {
		t.Error(diff)
	}
	if got := all.below(99); got != nil {
		t.Errorf("of a group that is gone: %v", got)
	}
}
