package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/docker"
)

// injected is a failure that a simulated server can be made to show, and what has to
// become of it.
type injected struct {
	fail string
	// class and evidence of the failed launches; "" where the server serves.
	class, evidence string
	// ready is the time from start to ready that is allowed, "" for plenty.
	ready string
	// head and base are the exit statuses where that side fails alone.
	head, base int
	// containers: shown in containers as well.
	containers bool
	// always: shown on both sides, and on the base without -full, too; and alike: only in CI and with
	// -full, since another one ends in the same way.
	always, alike bool
	// waits: each launch takes its time limit. A base is launched twice and a head four times, so that it is
	// shown on the base, and on the head only with -full.
	waits bool
}

var injectedVLLM = []injected{
	{fail: "oom", class: "out_of_memory", evidence: "torch.OutOfMemoryError: CUDA out of memory", head: 1, base: 4,
		containers: true, always: true},
	{fail: "exit_at_start", class: "driver", evidence: "ImportError: libcudart.so.12: cannot open shared object file", head: 1,
		base: 4, alike: true},
	{fail: "nccl_timeout", class: "nccl", evidence: "torch.distributed.DistBackendError: NCCL error", head: 1, base: 4,
		containers: true, alike: true},
	{fail: "kv_too_small", class: "kv_cache_too_small", evidence: "To serve at least one request with the model's max seq len", head: 1,
		base: 4, alike: true},
	{fail: "port_in_use", class: "port_in_use", evidence: "[Errno 98] Address already in use", head: 1, base: 4, containers: true},
	{fail: "never_ready", class: "not_ready", evidence: `not ready in time (8s; last state "listening": GET /health: status 503)`,
		ready: "8s", head: 1, base: 4, containers: true, waits: true},
	{fail: "garbage", class: "not_ready", evidence: "canary request: the answer is not a completion", ready: "8s", head: 1,
		base: 4, waits: true},
	{fail: "slow_start=30s", class: "not_ready", evidence: `not ready in time (1.5s; last state "starting"`, ready: "1500ms", head: 1,
		base: 4, alike: true},
	{fail: "slow_start=300ms"},
	{fail: "crash_after=12", class: "engine_failed", evidence: "EngineCore encountered a fatal error", head: 1, base: 4,
		containers: true, always: true},
	{fail: "drop=0.5", head: 1},
	{fail: "ignore_sigterm", containers: true},
}

var injectedSGLang = []injected{
	{fail: "oom", class: "out_of_memory", evidence: "torch.OutOfMemoryError: CUDA out of memory", head: 1, base: 4},
	{fail: "nccl_timeout", class: "nccl", evidence: "NCCL error", head: 1, base: 4, alike: true},
	{fail: "kv_too_small", class: "kv_cache_too_small", evidence: "Not enough memory. Please try to increase --mem-fraction-static", head: 1,
		base: 4, alike: true},
	{fail: "port_in_use", class: "port_in_use", evidence: "error while attempting to bind on address", head: 1, base: 4, alike: true},
	{fail: "crash_after=12", class: "engine_failed", head: 1, base: 4},
}

// TestInjectedFailures: each failure of a simulated server, on the head, on the base and on
// both, ends in its class, with the line that says so and the line of the server in the file,
// in the exit status that the side deserves, and leaves no process.
func TestInjectedFailures(t *testing.T) {
	t.Parallel() // its parts beside those of others, as some wait
	for engine, failures := range map[string][]injected{"vllm": injectedVLLM, "sglang": injectedSGLang} {
		for _, f := range failures {
			for _, side := range []string{"head", "base", "both"} {
				if !f.shown(side) {
					continue
				}
				t.Run(engine+" "+f.fail+" "+side, func(t *testing.T) {
					t.Parallel()
					f.check(t, engine, side, "--simulate")
				})
			}
		}
	}
}

// shown reports whether a failure is shown on a side: on all with -full, and on one else.
func (f injected) shown(side string) bool {
	switch {
	case side == "both":
		return f.always
	case *full || f.always:
		return true
	case f.alike && !inCI():
		return false
	case f.waits:
		return side == "base"
	}
	return side == "head"
}

// TestInjectedFailuresInContainers: the same where servers are containers.
func TestInjectedFailuresInContainers(t *testing.T) {
	needDocker(t)
	for _, f := range injectedVLLM {
		for _, side := range []string{"head", "base"} {
			if !f.containers || !f.always && (side == "base") != (f.waits && !*full) {
				continue
			}
			t.Run(f.fail+" "+side, func(t *testing.T) {
				t.Parallel()
				f.check(t, "vllm", side, "--simulate=container")
			})
		}
	}
}

// check runs the file of failures with a side, or both, made to fail.
func (f injected) check(t *testing.T, engine, side, simulate string) {
	t.Helper()
	dir := t.TempDir()
	source, line := failuresFile(t, engine)
	if err := os.WriteFile(filepath.Join(dir, "failures.pipeline.hcl"), source, 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "failures.pipeline.hcl", simulate, "--out", "out", "--progress", "plain"}
	failing := map[string]bool{}
	for _, s := range []string{"base", "head"} {
		if side == s || side == "both" {
			args = append(args, "--var", fmt.Sprintf("%s=[%q]", s, f.fail))
			failing[fmt.Sprintf("server.%s.sut[%q]", engine, s)] = true
		}
	}
	if f.ready != "" {
		args = append(args, "--var", "ready="+f.ready)
	}
	text, code := marked(t, dir, args...)
	if want := map[string]int{"head": f.head, "base": f.base, "both": f.base}[side]; code != want {
		t.Errorf("exit status %d, want %d\n%s", code, want, text)
	}
	doc, err := store.ReadDocument(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	report, err := os.ReadFile(filepath.Join(dir, "out", "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	f.checkLaunches(t, doc, failing, line)
	if place := fmt.Sprintf("failures.pipeline.hcl:%d", line); f.class != "" && !strings.Contains(string(report), place) {
		t.Errorf("the report does not name %s", place)
	}
	if side == "head" && f.head == 1 && !slices.ContainsFunc(doc.Gates[0].Decisions, func(d result.Decision) bool {
		return d.Kind == "success" && d.Verdict == result.Regression
	}) {
		t.Errorf("the head fails, and the success rate is no regression\n%s", text)
	}
	nothingLeft(t, dir)
}

// checkLaunches holds the launches of the targets that fail to the class, and all others to
// none.
func (f injected) checkLaunches(t *testing.T, doc *result.Document, failing map[string]bool, line int) {
	t.Helper()
	failed := map[string]int{}
	for _, l := range doc.Launches {
		switch {
		case l.Failure == nil:
		case !failing[l.Target]:
			t.Errorf("%s failed: %s: %s", l.Target, l.Failure.Class, l.Failure.Evidence)
		default:
			failed[l.Target]++
			if l.Failure.Class != f.class || !strings.Contains(l.Failure.Evidence, f.evidence) {
				t.Errorf("class %s, evidence %q; want %s, %q", l.Failure.Class, l.Failure.Evidence, f.class, f.evidence)
			}
			if l.Failure.Range.File != "failures.pipeline.hcl" || l.Failure.Range.Line != line {
				t.Errorf("place %+v, want line %d", l.Failure.Range, line)
			}
			if len(l.Failure.LogTail) == 0 {
				t.Error("the end of the log is missing")
			}
		}
	}
	// A base that fails twice ends the run; a head is launched until its failures are significant.
	for target := range failing {
		want := 2
		if strings.Contains(target, "head") && len(failing) == 1 {
			want = 4
		}
		if n := failed[target]; f.class == "" && n > 0 || f.class != "" && n != want {
			t.Errorf("%d failed launches of %s, want %d of class %q", n, target, want, f.class)
		}
	}
}

// failuresFile is the file for an engine, and the line of its server.
func failuresFile(t *testing.T, engine string) (source []byte, line int) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "failures.pipeline.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := bytes.Cut(source, []byte(`server "ENGINE"`))
	return bytes.ReplaceAll(source, []byte("ENGINE"), []byte(engine)), 1 + bytes.Count(before, []byte("\n"))
}

// marked runs the program in a folder that all of its processes have in their environment,
// for [nothingLeft].
func marked(t *testing.T, dir string, args ...string) (string, int) {
	t.Helper()
	cmd, out := markedCommand(t, dir, args...)
	err := cmd.Run()
	return out.String(), exitStatus(t, err)
}

func markedCommand(t *testing.T, dir string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	path, err := exec.LookPath("pipeline") // TestMain puts it there
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "NO_COLOR=1")
	if os.Getenv("SLURM_CONF") == "" {
		// Without the machine's programs: cleanup would ask its Slurm as well.
		cmd.Env = append(cmd.Env, "PATH="+dir)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// nothingLeft demands that no process of a marked run is left, and nothing at the daemon.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	noProcessLeft(t, dir)
	if daemonAnswers() != nil {
		return
	}
	for _, l := range leftOf(t, dir) {
		t.Errorf("%s %s is left", l.Kind, l.Name)
	}
}

func noProcessLeft(t *testing.T, dir string) {
	t.Helper()
	// A killed process is reaped by init a moment later.
	if !within(10*time.Second, 10*time.Millisecond, func() bool { return len(processes(dir)) == 0 }) {
		t.Fatalf("still running: %s", strings.Join(processes(dir), "; "))
	}
}

// leftOf is what the daemon has of a run.
func leftOf(t *testing.T, dir string) []docker.Leftover {
	t.Helper()
	run, err := runID(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	return leftovers(t, docker.Filter{RunID: run})
}

func leftovers(t *testing.T, f docker.Filter) []docker.Leftover {
	t.Helper()
	found, err := docker.Leftovers(t.Context(), dockerHost(), f)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
