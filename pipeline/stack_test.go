package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// stackFolder makes a folder with a stack that a shell script starts, and returns arguments that run it there.
func stackFolder(t *testing.T) (folder string, args []string) {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is missing")
	}
	folder = t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "stack"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(folder, "stack.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("pipeline") // TestMain puts it there
	if err != nil {
		t.Fatal(err)
	}
	return folder, []string{"run", "f.hcl", "--out", "out", "--progress", "plain", "--var", "program=" + program}
}

// stackGone demands that neither a process, nor a file of the script, nor a record of a stack is left.
func stackGone(t *testing.T, folder string) {
	t.Helper()
	noProcessLeft(t, folder)
	for _, dir := range []string{"state", ".cache/pipeline/stacks"} {
		left, err := os.ReadDir(filepath.Join(folder, dir))
		if err != nil && !os.IsNotExist(err) || len(left) > 0 {
			t.Errorf("left in %s: %v, %v", dir, left, err)
		}
	}
}

// stackMeasured demands that all four runs were measured. A busy machine may leave the comparison open.
func stackMeasured(t *testing.T, folder, text string) {
	t.Helper()
	doc, err := store.ReadDocument(filepath.Join(folder, "out"))
	if err != nil || doc.Status != result.StatusComplete {
		t.Fatalf("%v\n%s", err, text)
	}
	n := 0
	for _, cell := range doc.Benchmarks[0].Cells {
		for _, run := range cell.Runs {
			if run.Status == result.RunOK && run.Failed == 0 {
				n++
			}
		}
	}
	if n != 4 {
		t.Errorf("%d runs were measured, want 4\n%s", n, text)
	}
}

// TestStack: a server that a script starts and removes is measured at its url. Its log and its outputs are in the result.
func TestStack(t *testing.T) {
	t.Parallel()
	folder, args := stackFolder(t)
	text, _ := marked(t, folder, args...)
	stackMeasured(t, folder, text)
	logs, err := filepath.Glob(filepath.Join(folder, "out", "logs", "*.log"))
	if err != nil || len(logs) != 4 {
		t.Fatalf("logs: %v, %v", logs, err)
	}
	for _, file := range logs {
		if log, err := os.ReadFile(file); err != nil || !strings.Contains(string(log), "Starting vLLM API server") {
			t.Errorf("%s does not hold the log of the stack: %v", file, err)
		}
	}
	whole, err := os.ReadFile(filepath.Join(folder, "out", "results.json"))
	if err != nil || !strings.Contains(string(whole), `"stack.slowdown": "3"`) {
		t.Errorf("the outputs of up are not in the result: %v", err)
	}
	stackGone(t, folder)
}

// TestStackKilled kills the program at many moments of its launches: cleanup, and a run that goes on, remove what it left.
func TestStackKilled(t *testing.T) {
	t.Parallel()
	times, _ := strconv.Atoi(os.Getenv("PIPELINE_STACK_TIMES"))
	for i := range max(times, 2) {
		folder, args := stackFolder(t)
		cmd, out := markedCommand(t, folder, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		up := func() bool { left, _ := filepath.Glob(filepath.Join(folder, "state", "*.pid")); return len(left) > 0 }
		if !within(time.Minute, time.Millisecond, up) {
			t.Fatalf("no stack was started\n%s", out)
		}
		// real time: each round kills at another moment of a launch.
		time.Sleep(time.Duration(i) * 70 * time.Millisecond)
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
		if i%2 == 0 {
			text, code := marked(t, folder, "cleanup")
			if code != 0 {
				t.Fatalf("round %d: exit status %d\n%s", i, code, text)
			}
			stackGone(t, folder)
			continue
		}
		text, _ := marked(t, folder, append(args, "--resume")...)
		stackMeasured(t, folder, text)
		stackGone(t, folder)
	}
}
