package spawn

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// The owner is killed with -9: the kernel kills the leader, and what the leader had
// started is found and killed by the journal's entry.
func TestOrphans(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	owner := exec.Command(self)
	owner.Env = append(os.Environ(), ownerVar+"=sleep 1000 & echo left $!; wait")
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	var leader, left int
	var leaderStart uint64
	lines := bufio.NewScanner(out)
	for (leader == 0 || left == 0) && lines.Scan() {
		_, _ = fmt.Sscanf(lines.Text(), "child %d %d", &leader, &leaderStart)
		_, _ = fmt.Sscanf(lines.Text(), "left %d", &left)
	}
	if leader == 0 || left == 0 || leaderStart == 0 {
		t.Fatalf("the owner said leader %d (%d), left %d", leader, leaderStart, left)
	}
	if found := orphanPIDs(t); slices.Contains(found, leader) || slices.Contains(found, left) {
		t.Errorf("children of a living owner are no orphans: %v", found)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // it was killed

	eventually(t, "the leader is killed with its owner", func() bool { return !isAlive(leader, leaderStart) })
	if !slices.Contains(orphanPIDs(t), left) {
		t.Errorf("process %d was not found", left)
	}
	if killed, err := KillOrphan(leader, leaderStart+1<<40); killed || err != nil {
		t.Errorf("a later group with this number: %v, %v", killed, err)
	}
	if killed, err := KillOrphan(leader, leaderStart); !killed || err != nil {
		t.Errorf("the rest of the group: %v, %v", killed, err)
	}
	eventually(t, "the rest is gone", func() bool { return !slices.Contains(orphanPIDs(t), left) })
	if killed, err := KillOrphan(leader, leaderStart); killed || err != nil {
		t.Errorf("again: %v, %v", killed, err)
	}
}

func TestKillOrphanLeavesOthersAlone(t *testing.T) {
	// A process that is not ours: no mark in its environment.
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	begin, err := startTime(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]uint64{"no mark": begin, "other start": begin + 1} {
		if killed, err := KillOrphan(cmd.Process.Pid, at); killed || err != nil || !isAlive(cmd.Process.Pid, begin) {
			t.Errorf("%s: killed %v, %v", name, killed, err)
		}
	}
	for _, pid := range []int{-1, 0, 1, os.Getpid()} {
		if killed, err := KillOrphan(pid, 1); killed || err == nil {
			t.Errorf("process %d: %v, %v", pid, killed, err)
		}
	}
}

func TestKillOrphanLeader(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{MarkVar + "=" + strconv.Itoa(os.Getpid()) + ":1"} // our number, another start
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	begin, err := startTime(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(orphanPIDs(t), cmd.Process.Pid) {
		t.Error("a process whose owner has another start time is an orphan")
	}
	if killed, err := KillOrphan(cmd.Process.Pid, begin); !killed || err != nil {
		t.Errorf("%v, %v", killed, err)
	}
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("ended with %v", err)
	}
}

func orphanPIDs(t *testing.T) []int {
	t.Helper()
	found, err := FindOrphans()
	if err != nil {
		t.Fatal(err)
	}
	pids := make([]int, len(found))
	for i, o := range found {
		pids[i] = o.PID
	}
	return pids
}

// eventually polls for what the kernel does in its own time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	// real time: a limit on what real processes take
	deadline := time.After(long)
	// real time: a limit on what real processes take
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("not so: " + what)
		}
	}
}
