package process_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/cgroup"
	"github.com/servegate/pipeline/steps/process"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeSpawner starts fake children.
type fakeSpawner struct {
	err     error
	deaf    bool // the children ignore everything but KILL
	undead  bool // and that too
	command steps.Command
	child   *fakeChild
}

func (f *fakeSpawner) Spawn(_ context.Context, c steps.Command) (steps.Child, error) {
	if f.err != nil {
		return nil, f.err
	}
	f.command = c
	f.child = &fakeChild{done: make(chan struct{}), deaf: f.deaf, undead: f.undead}
	return f.child, nil
}

type fakeChild struct {
	deaf, undead bool
	done         chan struct{}

	mu      sync.Mutex
	signals []string
	err     error
}

func (c *fakeChild) PID() int                            { return 42 }
func (*fakeChild) Capabilities() steps.ChildCapabilities { return steps.ChildCapabilities{} }
func (c *fakeChild) Done() <-chan struct{}               { return c.done }
func (c *fakeChild) Wait() error                         { <-c.done; return c.err }

func (c *fakeChild) Signal(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.signals = append(c.signals, name)
	if !c.undead && (!c.deaf || name == "KILL") {
		c.end(errors.New("signal: " + name))
	}
	return nil
}

func (c *fakeChild) end(err error) {
	select {
	case <-c.done:
	default:
		c.err = err
		close(c.done)
	}
}

func processOf(t *testing.T, l *process.Launcher) steps.Process {
	t.Helper()
	port, release, err := new(process.Ports).TakeRow("127.0.0.1", 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return steps.Process{Name: "server.vllm.sut", Argv: []string{"vllm"}, Host: "127.0.0.1", Port: port, StopGrace: time.Hour}
}

// addressOf is where a process listens.
func addressOf(p steps.Process) string { return net.JoinHostPort(p.Host, strconv.Itoa(p.Port)) }

func TestStopByRequest(t *testing.T) {
	sp := &fakeSpawner{}
	l := process.New(sp, process.Options{})
	p := processOf(t, l)
	p.StopSignal = "INT"
	var log bytes.Buffer
	server, err := l.Start(context.Background(), p, &log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sp.command.Stdout.Write([]byte("line\n")); err != nil || log.String() != "line\n" {
		t.Errorf("log %q, %v", log.String(), err)
	}
	if !strings.HasPrefix(server.BaseURL(), "http://127.0.0.1:") || server.ExitState() != "running" {
		t.Errorf("%s is %s", server.BaseURL(), server.ExitState())
	}
	for range 2 {
		if err := server.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(sp.child.signals, " "); got != "INT" {
		t.Errorf("signals %s", got)
	}
	if server.ExitState() != "signal: INT" {
		t.Errorf("ended with %s", server.ExitState())
	}
}

func TestStopByKill(t *testing.T) {
	for name, tt := range map[string]struct {
		grace  time.Duration
		cancel bool
	}{
		"grace over":  {grace: time.Millisecond},
		"ctx is over": {grace: time.Hour, cancel: true},
	} {
		sp := &fakeSpawner{deaf: true}
		l := process.New(sp, process.Options{})
		p := processOf(t, l)
		p.StopGrace = tt.grace
		server, err := l.Start(context.Background(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		if tt.cancel {
			cancel()
		}
		if err := server.Stop(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		if got := strings.Join(sp.child.signals, " "); got != "TERM KILL" {
			t.Errorf("%s: signals %s", name, got)
		}
	}
}

func TestStopOfWhatHasEnded(t *testing.T) {
	sp := &fakeSpawner{}
	l := process.New(sp, process.Options{})
	server, err := l.Start(context.Background(), processOf(t, l), nil)
	if err != nil {
		t.Fatal(err)
	}
	sp.child.end(errors.New("exit status 1"))
	<-server.Done()
	if err := server.Stop(context.Background()); err != nil || len(sp.child.signals) != 0 {
		t.Errorf("%v, signals %v", err, sp.child.signals)
	}
	if server.ExitState() != "exit status 1" {
		t.Errorf("ended with %s", server.ExitState())
	}
}

func TestStopFails(t *testing.T) {
	sp := &fakeSpawner{undead: true}
	l := process.New(sp, process.Options{KillWait: time.Millisecond})
	p := processOf(t, l)
	p.StopGrace = time.Millisecond
	server, err := l.Start(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(context.Background()); err == nil || !strings.Contains(err.Error(), "process 42 is still there") {
		t.Errorf("stop: %v", err)
	}
}

func TestPortStaysTaken(t *testing.T) {
	sp := &fakeSpawner{}
	l := process.New(sp, process.Options{PortWait: 20 * time.Millisecond, Poll: time.Millisecond})
	p := processOf(t, l)
	server, err := l.Start(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	daemon, err := net.Listen("tcp", addressOf(p))
	if err != nil {
		t.Fatal(err)
	}
	defer daemon.Close()
	if err := server.Stop(context.Background()); err == nil || !strings.Contains(err.Error(), "is still in use") {
		t.Errorf("stop: %v", err)
	}
}

// A server that is not in the group of what starts it has its grace to let go of the port.
func TestServerApart(t *testing.T) {
	sp := &fakeSpawner{}
	l := process.New(sp, process.Options{PortWait: time.Nanosecond, Poll: time.Millisecond})
	p := processOf(t, l)
	p.Apart = true
	server, err := l.Start(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	still, err := net.Listen("tcp", addressOf(p))
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	defer func() { <-closed }()
	go func() {
		defer close(closed)
		<-sp.child.Done() // which is nsys's end, not the server's
		still.Close()
	}()
	if err := server.Stop(context.Background()); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestStartFails(t *testing.T) {
	sp := &fakeSpawner{err: errors.New("no such program")}
	l := process.New(sp, process.Options{})
	p := processOf(t, l)
	if _, err := l.Start(context.Background(), p, nil); err == nil || err.Error() != "server.vllm.sut: no such program" {
		t.Errorf("spawner fails: %v", err)
	}
	sp.err = nil
	other, err := net.Listen("tcp", addressOf(p))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := l.Start(context.Background(), p, nil); !errors.Is(err, process.ErrPortInUse) || sp.child != nil {
		t.Errorf("port in use: %v", err)
	}
	p.Port = 0
	if _, err := l.Start(context.Background(), p, nil); err == nil || sp.child != nil {
		t.Errorf("no port: %v", err)
	}
}

func TestAttached(t *testing.T) {
	a := process.NewAttached("http://h:1")
	if err := a.Stop(context.Background()); err != nil || a.BaseURL() != "http://h:1" || a.ExitState() != "running" {
		t.Errorf("%v, %s, %s", err, a.BaseURL(), a.ExitState())
	}
	select {
	case <-a.Done():
		t.Error("it has not ended")
	default:
	}
}

// TestStarved: a server knows what the kernel has killed in its control group, also in one that it moved into
// after its start.
func TestStarved(t *testing.T) {
	dir := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(dir, path)
		// Whole at once, as the kernel's files are.
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path+".new", []byte(text), 0o644),
			os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	write("proc/42/cgroup", "0::/session\n")
	write("groups/session/memory.events", "oom 0\noom_kill 0\n")
	write("groups/limited/memory.events", "oom 3\noom_kill 3\n")
	write("groups/limited/memory.max", "2147483648\n")
	synctest.Test(t, func(t *testing.T) {
		spawner := &fakeSpawner{}
		l := process.New(spawner, process.Options{System: cgroup.System{Proc: filepath.Join(dir, "proc"), Groups: filepath.Join(dir, "groups")}})
		s, err := l.Start(t.Context(), processOf(t, l), nil)
		if err != nil {
			t.Fatal(err)
		}
		starved := s.Capabilities().Starved
		if got := starved(t.Context()); got != "" {
			t.Errorf("at the start: %s", got)
		}
		write("proc/42/cgroup", "0::/limited\n")
		time.Sleep(time.Minute)
		synctest.Wait()
		write("groups/limited/memory.events", "oom 4\noom_kill 4\n")
		if got, want := starved(t.Context()),
			"a process was killed by the memory limit of its cgroup (/limited, memory.max 2.0 GiB)"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
