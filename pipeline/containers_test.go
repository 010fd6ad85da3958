package main_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/docker"
)

// needDocker skips the test unless containers of this test binary can run here.
func needDocker(t *testing.T) {
	t.Helper()
	if err := errors.Join(daemonAnswers(), testBinaryIsStatic()); err != nil {
		skipOrFail(t, "docker", err.Error())
	}
}

// TestContainersLeaveNothing runs servers in containers, and pairs of them with router and
// service, and ends the runs in every way, with signals at every moment: no container,
// network or volume of theirs is left.
func TestContainersLeaveNothing(t *testing.T) {
	needDocker(t)
	file, err := os.ReadFile(filepath.Join("testdata", "containers.pipeline.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	var killed sync.Map // the runs that could not clean up
	t.Run("ends", func(t *testing.T) {
		for _, target := range []struct {
			name  string
			times int // that each way to end is tried with -full
		}{{"servers", 2}, {"pairs", 1}} {
			for _, end := range ends {
				rounds := min(2, end.ways)
				switch {
				case *full:
					rounds = target.times * end.ways
				case inCI() && target.name == "servers":
					rounds = end.ways
				}
				for round := range rounds {
					t.Run(fmt.Sprintf("%s %s %d", target.name, end.name, round), func(t *testing.T) {
						t.Parallel()
						dir := t.TempDir()
						if err := os.WriteFile(filepath.Join(dir, "f.hcl"), file, 0o644); err != nil {
							t.Fatal(err)
						}
						end.check(t, dir, round, "--var", "target="+target.name)
						if end.name != "kill" {
							nothingLeft(t, dir)
							return
						}
						noProcessLeft(t, dir)
						if id, err := runID(filepath.Join(dir, "out")); err == nil {
							killed.Store(id, true)
						}
					})
				}
			}
		}
	})
	// What a killed program asked for last, a busy daemon may make after a look.
	for _, l := range leftovers(t, docker.Filter{Gone: spawn.Gone}) {
		if _, ok := killed.Load(l.RunID); !ok {
			t.Errorf("%s %s of run %s is left", l.Kind, l.Name, l.RunID)
		}
	}
	dir := t.TempDir()
	var found []docker.Leftover
	for try := 0; try == 0 || try < 3 && len(found) > 0; try++ {
		if text, code := marked(t, dir, "cleanup"); code != 0 {
			t.Errorf("cleanup: exit status %d\n%s", code, text)
		}
		found = leftovers(t, docker.Filter{Gone: spawn.Gone})
	}
	for _, l := range found {
		t.Errorf("%s %s of run %s is left by cleanup", l.Kind, l.Name, l.RunID)
	}
}

// ends are the ways in which a run ends. The round chooses one of several ways: what fails,
// or the moment of a signal.
var ends = []struct {
	name  string
	ways  int
	check func(t *testing.T, dir string, round int, args ...string)
}{
	{"success", 1, func(t *testing.T, dir string, _ int, args ...string) {
		t.Helper()
		text, code := marked(t, dir, containerRun(args)...)
		doc, err := store.ReadDocument(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatalf("exit status %d: %v\n%s", code, err, text)
		}
		// Rounds beside this one take the machine from either side, so a regression of the
		// latency is no failure here.
		failed := slices.ContainsFunc(doc.Launches, func(l result.Launch) bool { return l.Failure != nil })
		if code > 1 || failed || doc.Status != result.StatusComplete {
			t.Errorf("exit status %d, the run is %s\n%s", code, doc.Status, text)
		}
	}},
	{"failure", 4, func(t *testing.T, dir string, round int, args ...string) {
		t.Helper()
		fails := []string{"crash_after=9", "oom", "port_in_use", "crash_after=1"}[round%4]
		text, code := marked(t, dir, containerRun(args, []string{"--var", fmt.Sprintf("fails=[%q]", fails)})...)
		if code != 5 { // two launches cannot say that it is the head
			t.Errorf("%s: exit status %d, want 5\n%s", fails, code, text)
		}
	}},
	{"interrupt", len(moments), func(t *testing.T, dir string, round int, args ...string) {
		t.Helper()
		if text, code := signalled(t, dir, round, syscall.SIGINT, containerRun(args)...); code != 130 {
			t.Errorf("exit status %d, want 130\n%s", code, text)
		}
	}},
	{"kill", len(moments), func(t *testing.T, dir string, round int, args ...string) {
		t.Helper()
		signalled(t, dir, round, syscall.SIGKILL, containerRun(args)...)
		// The daemon may still carry out the last request of the killed program, after a
		// cleanup has looked: then the next one finds it.
		for range 3 {
			if text, code := marked(t, dir, "cleanup"); code != 0 {
				t.Errorf("cleanup: exit status %d\n%s", code, text)
			}
			if len(leftOf(t, dir)) == 0 {
				return
			}
		}
	}},
}

func containerRun(more ...[]string) []string {
	return slices.Concat(append([][]string{{"run", "f.hcl", "--simulate=container", "--out", "out", "--progress", "plain"}}, more...)...)
}

// moments of a run at which a signal is sent: words of its journal.
var moments = []string{`"type":"launch_start"`, `"type":"launch_state"`, `"type":"launch_ready"`, `"type":"run_start"`,
	`"type":"run_end"`, `"type":"launch_stopped"`}

// signalled runs the program and sends it a signal at the moment that belongs to the round.
func signalled(t *testing.T, dir string, round int, signal syscall.Signal, args ...string) (string, int) {
	t.Helper()
	cmd, out := markedCommand(t, dir, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	moment := moments[round%len(moments)]
	if !within(time.Minute, time.Millisecond, fileHolds(filepath.Join(dir, "out", "events.jsonl"), moment)) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("the journal never held %s\n%s", moment, out)
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	return out.String(), exitStatus(t, err)
}
