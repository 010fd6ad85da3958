package cgroup_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/cgroup"
)

// hungry names the variable that makes this test binary use more memory than its group may have.
const hungry = "PIPELINE_TEST_HUNGRY"

func TestMain(m *testing.M) {
	if os.Getenv(hungry) != "" {
		eat()
		return
	}
	m.Run()
}

// eat waits for a line, so that its process can be put into a group first, and then writes to memory, to four times
// the limit at most.
func eat() {
	var line string
	_, _ = fmt.Scanln(&line)
	var all [][]byte
	for len(all) < 128 {
		part := make([]byte, 1<<20)
		for i := 0; i < len(part); i += 4096 {
			part[i] = 1
		}
		all = append(all, part)
	}
}

// limited makes a real control group with a limit of its memory, below this test's own.
func limited(t *testing.T, limit string) (cgroup.System, string) {
	t.Helper()
	for root, file := range map[string]string{"/sys/fs/cgroup": "memory.max", "/sys/fs/cgroup/memory": "memory.limit_in_bytes"} {
		group := filepath.Join(root, fmt.Sprintf("pipeline-test-%d", os.Getpid()))
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		// A folder of another file system has no files of its own.
		_, err := os.Stat(filepath.Join(group, file))
		if err == nil && os.WriteFile(filepath.Join(group, file), []byte(limit), 0o644) == nil {
			t.Cleanup(func() { _ = os.Remove(group) })
			return cgroup.System{}, group
		}
		_ = os.Remove(group)
	}
	t.Skip("no control group with a memory limit can be made here: it takes root, and a writable /sys/fs/cgroup")
	return cgroup.System{}, ""
}

// TestARealLimit: the kernel kills a process at the memory limit of its group, and the group and its limit are named.
func TestARealLimit(t *testing.T) {
	system, group := limited(t, "33554432")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	eater := exec.Command(self)
	eater.Env = append(os.Environ(), hungry+"=1")
	stdin, err := eater.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := eater.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = eater.Process.Kill() }()
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Append(nil, eater.Process.Pid), 0o644); err != nil {
		t.Fatal(err)
	}
	m := system.MemoryOf(eater.Process.Pid)
	if m == nil {
		t.Fatal("the group of the process is not found")
	}
	if got := m.Killed(); got != "" {
		t.Errorf("before the kill: %q", got)
	}
	if _, err := stdin.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	if err := eater.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the process ended with %v, and not by the limit", err)
	}
	got := m.Killed()
	want := "a process was killed by the memory limit of its cgroup (/" + filepath.Base(group) + ", memory."
	if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, " 32 MiB)") {
		t.Errorf("%q", got)
	}
}
