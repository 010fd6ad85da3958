package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// status runs a command and demands its exit status: status 3 pipeline validate x.hcl.
// Standard output and error are kept in the files stdout.txt and stderr.txt as well, for
// scripts that look at both.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND [ARG]...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), []byte(ts.ReadFile("stdout")), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), []byte(ts.ReadFile("stderr")), 0o644))
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// noProcess demands that no process of this script's folder is left.
func noProcess(ts *testscript.TestScript, _ bool, _ []string) {
	dir := ts.Getenv("WORK")
	// A killed process is reaped by init a moment later.
	if !within(10*time.Second, 10*time.Millisecond, func() bool { return len(processes(dir)) == 0 }) {
		ts.Fatalf("still running: %s", strings.Join(processes(dir), "; "))
	}
}

// processes lists the command lines of those whose environment names the folder, and not
// one whose name only begins like it.
func processes(folder string) []string {
	var out []string
	named := regexp.MustCompile(regexp.QuoteMeta(folder) + "[/\x00]")
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !named.Match(env) || filepath.Base(dir) == strconv.Itoa(os.Getpid()) {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err == nil && len(cmdline) > 0 {
			out = append(out, strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return out
}

// interrupt starts a command, sends it a signal once a file holds a text, and demands
// its exit status and that it ended within 7 seconds, longer where others share the processors:
//
//	interrupt INT 130 out/events.jsonl run_start pipeline run x.hcl --simulate --out out
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 {
		ts.Fatalf("usage: interrupt SIGNAL CODE FILE TEXT COMMAND [ARG]...")
	}
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	path, err := exec.LookPath(args[4])
	ts.Check(err)
	var stderr bytes.Buffer
	cmd := exec.Command(path, args[5:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), &stderr, &stderr
	cmd.Env = append(os.Environ(), "WORK="+ts.Getenv("WORK"), "NO_COLOR=1", "HOME="+ts.Getenv("WORK"), "PATH="+ts.Getenv("PATH"))
	ts.Check(cmd.Start())
	waitFile(ts, false, args[2:4])
	sent := time.Now()
	ts.Check(cmd.Process.Signal(signals[args[0]]))
	err = cmd.Wait()
	ts.Logf("[output]\n%s", stderr.String())
	if args[0] == "KILL" {
		return
	}
	if took, limit := time.Since(sent), shared(7*time.Second); took > limit {
		ts.Fatalf("took %v to end, longer than %v", took, limit)
	}
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// shared is a time that is as much longer as there are processes for each processor of this machine.
func shared(d time.Duration) time.Duration {
	text, _ := os.ReadFile("/proc/loadavg") // elsewhere the time is as it is
	var load float64
	if _, err := fmt.Sscan(string(text), &load); err != nil {
		return d
	}
	return time.Duration(float64(d) * max(1, load/float64(runtime.NumCPU())))
}

// waitHTTP waits until an address answers 200.
func waitHTTP(ts *testscript.TestScript, _ bool, args []string) {
	answers := func() bool {
		resp, err := http.Get(args[0])
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}
	if !within(time.Minute, 10*time.Millisecond, answers) {
		ts.Fatalf("%s never answered", args[0])
	}
}

// waitFile waits until a file holds a text: waitfile out/events.jsonl run_start.
func waitFile(ts *testscript.TestScript, _ bool, args []string) {
	file, text := ts.MkAbs(args[0]), args[1]
	if !within(time.Minute, 10*time.Millisecond, fileHolds(file, text)) {
		ts.Fatalf("%s never held %q", file, text)
	}
}

// valid demands that a file, or stdout, is valid by the published schema of its kind: valid KIND FILE.
func valid(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: valid KIND FILE")
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "docs", args[0]+".schema.json"))
	ts.Check(err)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(args[1])))
	ts.Check(err)
	ts.Check(schema.Validate(doc))
}
