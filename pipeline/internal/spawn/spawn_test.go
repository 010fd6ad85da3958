//go:build unix

package spawn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	playEngine(os.Args)
	if script := os.Getenv(ownerVar); script != "" {
		own(script)
	}
	goleak.VerifyTestMain(m)
}

// ownerVar makes this test program the owner of a child that runs its value by sh, until
// it is killed.
const ownerVar = "SPAWN_TEST_OWNER"

func own(script string) {
	s := New(Options{Environ: os.Environ(), OnSpawn: func(pid int, start uint64, _ []string) {
		_, _ = fmt.Fprintf(os.Stdout, "child %d %d\n", pid, start)
	}})
	if _, err := s.Spawn(context.Background(), steps.Command{Argv: sh(script), Stdout: os.Stdout}); err != nil {
		_, _ = fmt.Fprintln(os.Stdout, err)
	}
	select {}
}

// long bounds waits for what should come at once; a test that needs it has failed.
const long = 30 * time.Second

func newSpawner(t *testing.T, opt Options) *Spawner {
	t.Helper()
	if opt.Environ == nil {
		opt.Environ = os.Environ()
	}
	s := New(opt)
	t.Cleanup(s.Close)
	return s
}

func start(t *testing.T, s *Spawner, c steps.Command) steps.Child {
	t.Helper()
	child, err := s.Spawn(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := child.Signal("KILL"); err != nil {
			t.Error(err)
		}
		await(t, child.Done())
	})
	return child
}

func await(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	// real time: a limit on what real processes take
	case <-time.After(long):
		t.Fatal("the process did not end")
	}
}

// firstLine hands out the first line that is written to it.
type firstLine struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	line chan string
	sent bool
}

func newFirstLine() *firstLine { return &firstLine{line: make(chan string, 1)} }

func (f *firstLine) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.buf.Write(p)
	if line, _, ok := strings.Cut(f.buf.String(), "\n"); ok && !f.sent {
		f.sent = true
		f.line <- line
	}
	return len(p), nil
}

func (f *firstLine) wait(t *testing.T) string {
	t.Helper()
	select {
	case line := <-f.line:
		return line
	// real time: a limit on what real processes take
	case <-time.After(long):
		t.Fatal("the process wrote nothing")
		return ""
	}
}

func sh(script string, args ...string) []string {
	return append([]string{"sh", "-c", script, "sh"}, args...)
}

func TestOutputAndExit(t *testing.T) {
	s := newSpawner(t, Options{})
	var out, errs bytes.Buffer
	child := start(t, s, steps.Command{
		Argv: sh(`echo "$A $HOME_OF $1"; pwd; echo oops >&2; exit 3`, "an arg; echo injected"), Dir: "/",
		Env: []steps.EnvVar{{Name: "A", Value: "a b"}}, Stdout: &out, Stderr: &errs,
	})
	err := child.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || err.Error() != "exit status 3" {
		t.Errorf("ended with %v", err)
	}
	if got := out.String(); got != "a b  an arg; echo injected\n/\n" {
		t.Errorf("output %q", got)
	}
	if errs.String() != "oops\n" {
		t.Errorf("errors %q", errs.String())
	}
	if err := child.Signal("TERM"); err != nil {
		t.Errorf("a signal to a process that has ended: %v", err)
	}
	if child := start(t, s, steps.Command{Argv: sh("exit 0")}); child.Wait() != nil {
		t.Error("exit status 0 is no error")
	}
}

func TestOwnGroup(t *testing.T) {
	s := newSpawner(t, Options{})
	out := newFirstLine()
	child := start(t, s, steps.Command{Argv: sh("echo up; exec sleep 1000"), Stdout: out})
	out.wait(t)
	group, err := syscall.Getpgid(child.PID())
	if err != nil || group != child.PID() || group == syscall.Getpgrp() {
		t.Errorf("group %d of process %d, ours is %d: %v", group, child.PID(), syscall.Getpgrp(), err)
	}
}

// A Ctrl-C that the terminal sends to our group reaches us and not the child.
func TestSurvivesOurInterrupt(t *testing.T) {
	s := newSpawner(t, Options{})
	out := newFirstLine()
	child := start(t, s, steps.Command{Argv: sh("echo up; exec sleep 1000"), Stdout: out})
	out.wait(t)
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	defer signal.Stop(caught)
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-caught
	select {
	case <-child.Done():
		t.Fatal("the child ended with our interrupt")
	default:
	}
	if err := child.Signal("TERM"); err != nil {
		t.Fatal(err)
	}
	await(t, child.Done())
	if err := child.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("ended with %v", err)
	}
}

// The signal reaches grandchildren, and Done waits for them.
func TestSignalReachesTheGroup(t *testing.T) {
	s := newSpawner(t, Options{})
	out := newFirstLine()
	child := start(t, s, steps.Command{Argv: sh("sleep 1000 & echo $!; wait"), Stdout: out})
	grandchild := out.wait(t)
	if err := child.Signal("KILL"); err != nil {
		t.Fatal(err)
	}
	await(t, child.Done())
	if err := child.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("ended with %v", err)
	}
	if runs(t, grandchild) {
		t.Errorf("grandchild %s still runs", grandchild)
	}
}

// When the leader ends by itself, what it leaves in its group is ended too, by a kill if
// it ignores the request.
func TestLeaderLeavesGroupBehind(t *testing.T) {
	s := newSpawner(t, Options{Linger: 50 * time.Millisecond})
	for _, trap := range []string{"", "trap '' TERM; "} {
		out := newFirstLine()
		child := start(t, s, steps.Command{Argv: sh("(" + trap + "while :; do sleep 1000; done) & echo $!; exit 4"), Stdout: out})
		grandchild := out.wait(t)
		await(t, child.Done())
		if err := child.Wait(); err == nil || err.Error() != "exit status 4" {
			t.Errorf("%q: ended with %v", trap, err)
		}
		if runs(t, grandchild) {
			t.Errorf("%q: grandchild %s still runs", trap, grandchild)
		}
	}
}

// runs reports whether a process runs; zombies do not.
func runs(t *testing.T, pid string) bool {
	t.Helper()
	if _, err := exec.LookPath("ps"); err != nil {
		t.Fatal("this test needs ps")
	}
	out, err := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
	return err == nil && len(bytes.TrimSpace(out)) > 0 && !bytes.HasPrefix(bytes.TrimSpace(out), []byte("Z"))
}

func TestNothingStartsAfterTheEnd(t *testing.T) {
	s := newSpawner(t, Options{})
	s.Close()
	if _, err := s.Spawn(context.Background(), steps.Command{Argv: sh("exit 0")}); !errors.Is(err, ErrClosed) {
		t.Errorf("a start after the end: %v", err)
	}
}

func TestSpawnFails(t *testing.T) {
	s := newSpawner(t, Options{})
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		argv []string
		want string
	}{
		"no command":     {context.Background(), nil, "without a command"},
		"empty command":  {context.Background(), []string{""}, "without a command"},
		"not in PATH":    {context.Background(), []string{"no-such-program-here"}, "no such program in PATH"},
		"no such file":   {context.Background(), []string{"./no-such-file"}, "no such file"},
		"a folder":       {context.Background(), []string{dir}, "is a folder"},
		"not executable": {context.Background(), []string{plain}, "not executable"},
		"zero byte":      {context.Background(), []string{"sh", "a\x00b"}, "zero byte"},
		"cancelled":      {cancelled, []string{"sh"}, "context canceled"},
	} {
		_, err := s.Spawn(tt.ctx, steps.Command{Argv: tt.argv, Dir: dir})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	if child := start(t, s, steps.Command{Argv: []string{"sleep", "1000"}}); child.Signal("NOPE") == nil {
		t.Error("an unknown signal is an error")
	}
}

func TestRelativeProgram(t *testing.T) {
	s := newSpawner(t, Options{})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run.sh"), []byte("#!/bin/sh\necho \"$0 in $(pwd)\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := start(t, s, steps.Command{Argv: []string{"./run.sh"}, Dir: dir, Stdout: &out}).Wait(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "in "+dir) {
		t.Errorf("output %q", out.String())
	}
	if _, err := s.Spawn(context.Background(), steps.Command{Argv: []string{"run.sh"}, Dir: dir}); err == nil {
		t.Error("a bare name was found in the folder")
	}
}

// A process outside the group that holds the output does not hold us.
func TestHeldOutput(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid")
	}
	// The daemon ends when the pipe does, so nothing is left of the test.
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	keep, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	s := newSpawner(t, Options{Linger: 50 * time.Millisecond})
	out := newFirstLine()
	child := start(t, s, steps.Command{Argv: sh(`setsid sh -c 'echo up; read line <"$1"' sh "$1" & wait`, path), Stdout: out})
	out.wait(t)
	if err := child.Signal("TERM"); err != nil { // reaches the shell, not the daemon
		t.Fatal(err)
	}
	await(t, child.Done())
	if _, err := keep.WriteString("end\n"); err != nil {
		t.Fatal(err)
	}
}

func TestOnSpawn(t *testing.T) {
	var pids []int
	var argvs []string
	s := newSpawner(t, Options{OnSpawn: func(pid int, start uint64, argv []string) {
		pids = append(pids, pid)
		argvs = append(argvs, strings.Join(argv, " "))
		if want, err := startTime(pid); err == nil && want != start {
			t.Errorf("start time %d, want %d", start, want)
		}
	}})
	child := start(t, s, steps.Command{Argv: []string{"sleep", "1000"}})
	if len(pids) != 1 || pids[0] != child.PID() || argvs[0] != "sleep 1000" {
		t.Errorf("told of %v, %v", pids, argvs)
	}
}
