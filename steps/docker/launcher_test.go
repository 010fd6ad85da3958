package docker

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker/dockertest"
	"github.com/servegate/pipeline/steps/process"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStopByRequest(t *testing.T) {
	f := dockertest.New(t)
	f.Output = "one\ntwo\n"
	l := launcherOf(t, f, Options{})
	var log bytes.Buffer
	p := dockertest.Process(t)
	p.StopSignal = "INT"
	s, err := l.Start(context.Background(), p, &log)
	if err != nil {
		t.Fatal(err)
	}
	if s.ExitState() != "running" || s.BaseURL() != "http://"+l.hostPort(p.Port) {
		t.Errorf("%s is %s", s.BaseURL(), s.ExitState())
	}
	for range 2 {
		if err := s.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.Seen("/kill"); len(got) != 1 || !strings.HasSuffix(got[0], "signal=SIGINT") {
		t.Errorf("signals %q", got)
	}
	if !f.Removed || s.ExitState() != "exit status 0" || log.String() != f.Output {
		t.Errorf("removed %v, ended with %s, log %q", f.Removed, s.ExitState(), log.String())
	}
	want := map[string]string{"container.image": "engine:v1", "container.image_id": dockertest.ImageID,
		"container.image_digest": "engine@sha256:22"}
	for k, v := range s.(*Server).Describe() {
		if want[k] != v {
			t.Errorf("%s is %q, want %q", k, v, want[k])
		}
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
		f := dockertest.New(t)
		f.Deaf, f.ExitCode = true, 137
		p := dockertest.Process(t)
		p.StopGrace = tt.grace
		s, err := launcherOf(t, f, Options{}).Start(context.Background(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		if tt.cancel {
			cancel()
		}
		if err := s.Stop(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		if got := f.Seen("/kill"); len(got) != 2 || !strings.HasSuffix(got[1], "signal=SIGKILL") {
			t.Errorf("%s: signals %q", name, got)
		}
		if s.ExitState() != "exit status 137 (signal: killed)" || !f.Removed {
			t.Errorf("%s: ended with %s, removed %v", name, s.ExitState(), f.Removed)
		}
	}
}

// A container that ends by itself says how, and is removed by Stop.
func TestEndsByItself(t *testing.T) {
	f := dockertest.New(t)
	f.ExitCode, f.OOM = 137, true
	s, err := launcherOf(t, f, Options{}).Start(context.Background(), dockertest.Process(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.(*Server).Starved(t.Context()), "a process was killed by the memory limit of its container (8.0 GiB)"; got != want {
		t.Errorf("while it runs: %q, want %q", got, want)
	}
	f.End()
	<-s.Done()
	if want := "exit status 137 (signal: killed), out of memory: killed by the kernel"; s.ExitState() != want {
		t.Errorf("ended with %s", s.ExitState())
	}
	if err := s.Stop(context.Background()); err != nil || len(f.Seen("/kill")) != 0 || !f.Removed {
		t.Errorf("%v, signals %q, removed %v", err, f.Seen("/kill"), f.Removed)
	}
}

// A kill that does nothing is an error, and the removal is tried all the same.
func TestStopFails(t *testing.T) {
	f := dockertest.New(t)
	f.Undead = true
	f.Fail["DELETE"] = "device busy"
	p := dockertest.Process(t)
	p.StopGrace = time.Millisecond
	s, err := launcherOf(t, f, Options{KillWait: time.Millisecond}).Start(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Stop(context.Background())
	if err == nil || !strings.Contains(err.Error(), "container c1 is still there") || !strings.Contains(err.Error(), "device busy") {
		t.Errorf("stop: %v", err)
	}
	if s.ExitState() != "unknown: it could not be stopped" {
		t.Errorf("ended with %s", s.ExitState())
	}
}

// A daemon that stops answering ends the server, so that nobody waits for ever.
func TestDaemonIsLost(t *testing.T) {
	f := dockertest.New(t)
	s, err := launcherOf(t, f, Options{Lost: time.Millisecond}).Start(context.Background(), dockertest.Process(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Mu.Lock()
	f.Fail["POST /containers/c1/wait"], f.Fail["GET"], f.Fail["DELETE"] = "gone", "gone", "gone"
	f.Mu.Unlock()
	f.End()
	// The wait in progress is answered; what follows it is not.
	<-s.Done()
	if !strings.HasPrefix(s.ExitState(), "unknown: ") {
		t.Errorf("ended with %s", s.ExitState())
	}
	if err := s.Stop(context.Background()); err == nil {
		t.Error("a container that cannot be removed is no error")
	}
}

// A log that breaks off is taken up where it was.
func TestLogIsTakenUpAgain(t *testing.T) {
	f := dockertest.New(t)
	f.Output, f.BrokenAfter = "0123456789", 4
	var log bytes.Buffer
	s, err := launcherOf(t, f, Options{}).Start(context.Background(), dockertest.Process(t), &log)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if log.String() != f.Output {
		t.Errorf("log %q", log.String())
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestLogCannotBeWritten(t *testing.T) {
	f := dockertest.New(t)
	f.Output = "x"
	s, err := launcherOf(t, f, Options{}).Start(context.Background(), dockertest.Process(t), fullDisk{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(context.Background()); err == nil || !strings.Contains(err.Error(), "writing the log: no space left on device") {
		t.Errorf("stop: %v", err)
	}
	if !f.Removed {
		t.Error("the container is still there")
	}
}

// Whatever goes wrong in Start, nothing is left.
func TestStartFails(t *testing.T) {
	for name, tt := range map[string]struct {
		fail, message string
		change        func(*steps.Process)
		want          string
		is            error
		removes       bool
	}{
		"create": {fail: "POST /containers/create", message: "invalid", want: "invalid", removes: true},
		"start": {fail: "POST /containers/c1/start", message: "could not select device driver",
			want: "install the NVIDIA container toolkit", removes: true},
		"port taken": {fail: "POST /containers/c1/start", message: "Bind for 127.0.0.1:1 failed: port is already allocated",
			is: process.ErrPortInUse, removes: true},
		"no daemon":  {fail: "GET /_ping", message: "down", want: "set DOCKER_HOST"},
		"no image":   {change: func(p *steps.Process) { p.Container = nil }, want: "it has no image"},
		"loopback":   {change: func(p *steps.Process) { p.Host = "127.0.0.1" }, want: "render it for ServerSpec.ListenHost"},
		"no port":    {change: func(p *steps.Process) { p.Port = 0 }, want: "port 0 is not a port"},
		"no program": {change: func(p *steps.Process) { p.Argv = nil }, want: "no command line"},
		"refused":    {change: func(p *steps.Process) { p.Container.Privileged = true }, is: ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			f := dockertest.New(t)
			if tt.fail != "" {
				f.Fail[tt.fail] = tt.message
			}
			p := dockertest.Process(t)
			if tt.change != nil {
				tt.change(&p)
			}
			_, err := launcherOf(t, f, Options{}).Start(context.Background(), p, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), p.Name+": ") {
				t.Errorf("got %v", err)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v is not %v", err, tt.is)
			}
			if f.Removed != tt.removes {
				t.Errorf("removed %v", f.Removed)
			}
		})
	}
}

func TestStartOnTakenPort(t *testing.T) {
	f := dockertest.New(t)
	p := dockertest.Process(t)
	l := launcherOf(t, f, Options{})
	listener, err := net.Listen("tcp", l.hostPort(p.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if _, err := l.Start(context.Background(), p, nil); !errors.Is(err, process.ErrPortInUse) || len(f.Creates) != 0 {
		t.Errorf("got %v", err)
	}
}

func TestStartIsCancelled(t *testing.T) {
	f := dockertest.New(t)
	l := launcherOf(t, f, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	l.random = func() string { cancel(); return "1" } // between the image and the create request
	if _, err := l.Start(ctx, dockertest.Process(t), nil); !errors.Is(err, context.Canceled) || !f.Removed {
		t.Errorf("got %v, removed %v", err, f.Removed)
	}
}

func TestHosts(t *testing.T) {
	for host, want := range map[string]string{
		"":                          "127.0.0.1 http://docker",
		"unix:///run/x.sock":        "127.0.0.1 http://docker",
		"tcp://127.0.0.1:2375":      "127.0.0.1 http://127.0.0.1:2375",
		"tcp://192.0.2.7:2375":      "192.0.2.7 http://192.0.2.7:2375",
		"ssh://me@gpu":              "forward the socket",
		"npipe://x":                 "must begin with",
		"tcp://h.invalid.:2375":     "docker host",
		"tcp://127.0.0.1:1?certs=x": "certificate cannot be checked",
	} {
		var got string
		if d, err := connect(host); err != nil {
			got = err.Error()
		} else {
			got = d.address + " " + d.base
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", host, got, want)
		}
	}
}

func TestHostFromEnv(t *testing.T) {
	for want, env := range map[string]map[string]string{
		DefaultHost:      {},
		"unix:///x.sock": {"DOCKER_HOST": "unix:///x.sock", "DOCKER_TLS_VERIFY": "1"},
		"tcp://h:2376?certs=" + "%2Fhome%2Fme%2F.docker": {"DOCKER_HOST": "tcp://h:2376", "DOCKER_TLS_VERIFY": "1", "HOME": "/home/me"},
		"tcp://h:2376?certs=%2Fc":                        {"DOCKER_HOST": "tcp://h:2376", "DOCKER_CERT_PATH": "/c"},
		"tcp://h:2375":                                   {"DOCKER_HOST": "tcp://h:2375"},
	} {
		if got := HostFromEnv(func(name string) string { return env[name] }); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestNewNeedsRun(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("containers without a run could not be found again")
	}
}

func TestPreflight(t *testing.T) {
	f := dockertest.New(t)
	l := launcherOf(t, f, Options{})
	bad := &steps.ContainerSpec{Mounts: []steps.Mount{{Source: "/", Target: "/x"}}}
	if err := l.Preflight(context.Background(), bad); !errors.Is(err, ErrRefused) {
		t.Errorf("got %v", err)
	}
	gone, err := New(Options{RunID: "r", Host: "unix://" + filepath.Join(t.TempDir(), "none.sock")})
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Preflight(context.Background()); err == nil || !strings.Contains(err.Error(), "does not answer: dial ") {
		t.Errorf("got %v", err)
	}
}

// A daemon on another machine is reached by TCP and TLS, and so are its servers.
func TestRemote(t *testing.T) {
	for name, listen := range map[string]func(*httptest.Server){"tcp": (*httptest.Server).Start, "tls": (*httptest.Server).StartTLS} {
		t.Run(name, func(t *testing.T) {
			f := dockertest.New(t)
			f.Output = "one\ntwo\n"
			server := httptest.NewUnstartedServer(f)
			listen(server)
			t.Cleanup(server.Close)
			f.Host = "tcp://" + server.Listener.Addr().String()
			if name == "tls" {
				f.Host += "?certs=" + certificates(t, server)
			}
			l := launcherOf(t, f, Options{})
			l.daemon.local = false
			var log bytes.Buffer
			p := dockertest.Process(t)
			s, err := l.Start(context.Background(), p, &log)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Stop(context.Background()); err != nil || log.String() != f.Output {
				t.Errorf("%v, log %q", err, log.String())
			}
			listener, err := net.Listen("tcp", l.hostPort(p.Port))
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			if _, err := l.Start(context.Background(), p, nil); !errors.Is(err, process.ErrPortInUse) {
				t.Errorf("the port is taken over there: %v", err)
			}
		})
	}
}

// certificates writes what a client needs to trust a server.
func certificates(t *testing.T, server *httptest.Server) string {
	t.Helper()
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// launcherOf returns the launcher of a daemon, with short waits.
func launcherOf(t *testing.T, f *dockertest.Daemon, opt Options) *Launcher {
	t.Helper()
	opt.Host = f.Host
	if opt.RunID == "" {
		opt.RunID = "r1"
	}
	opt.Poll = time.Millisecond
	l, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	l.random = func() string { return "0a1b2c3d" }
	return l
}
