package docker

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker/dockertest"
)

// fakeSSH forwards the socket that its arguments name to a daemon, as ssh does.
type fakeSSH struct {
	daemon string // its socket
	says   string // instead of forwarding

	mu      sync.Mutex
	started []*forwarding
}

type forwarding struct {
	argv []string
	ln   net.Listener
	done chan struct{}
	once sync.Once
	err  error
}

func (f *fakeSSH) Spawn(_ context.Context, c steps.Command) (steps.Child, error) {
	child := &forwarding{argv: c.Argv, done: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started = append(f.started, child)
	if f.says != "" {
		_, _ = io.WriteString(c.Stderr, f.says)
		child.end(errors.New("exit status 255"))
		return child, nil
	}
	local, _, _ := strings.Cut(c.Argv[3], ":")
	_ = os.Remove(local) // StreamLocalBindUnlink
	var err error
	if child.ln, err = net.Listen("unix", local); err != nil {
		return nil, err
	}
	go child.forward(f.daemon)
	return child, nil
}

func (c *forwarding) forward(to string) {
	for {
		in, err := c.ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = in.Close() }()
			out, err := net.Dial("unix", to)
			if err != nil {
				return
			}
			defer func() { _ = out.Close() }()
			go func() { _, _ = io.Copy(out, in) }()
			_, _ = io.Copy(in, out)
		}()
	}
}

func (c *forwarding) end(err error) {
	c.once.Do(func() {
		c.err = err
		if c.ln != nil {
			_ = c.ln.Close()
		}
		close(c.done)
	})
}

func (*forwarding) PID() int                              { return 1 }
func (*forwarding) Capabilities() steps.ChildCapabilities { return steps.ChildCapabilities{} }
func (c *forwarding) Done() <-chan struct{}               { return c.done }
func (c *forwarding) Wait() error                         { <-c.done; return c.err }
func (c *forwarding) Signal(string) error                 { c.end(nil); return nil }

func (f *fakeSSH) runs() []*forwarding {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*forwarding(nil), f.started...)
}

func TestTunnel(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "local.sock")
	ssh := &fakeSSH{daemon: strings.TrimPrefix(dockertest.New(t).Host, "unix://")}
	tunnel, err := OpenTunnel(t.Context(), ssh, "ssh://me@gpu2:2222/run/d.sock", socket, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ssh", "-nNT", "-L", socket + ":/run/d.sock", "-o", "BatchMode=yes", "-o", "ExitOnForwardFailure=yes",
		"-o", "StreamLocalBindUnlink=yes", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4",
		"-o", "ConnectTimeout=20", "-o", "ControlMaster=no", "-o", "ControlPath=none", "-l", "me", "-p", "2222", "--", "gpu2",
	}
	if diff := cmp.Diff(want, ssh.runs()[0].argv); diff != "" {
		t.Error(diff)
	}
	answers := func() bool {
		d, err := connect("unix://" + socket)
		return err == nil && d.ping(t.Context()) == nil
	}
	if !answers() {
		t.Error("the daemon does not answer through the tunnel")
	}
	// One that breaks off is started again.
	ssh.runs()[0].end(errors.New("broken pipe"))
	for late := time.Now().Add(time.Minute); len(ssh.runs()) < 2 || !answers(); {
		if time.Now().After(late) {
			t.Fatal("ssh is not started again")
		}
	}
	if err := tunnel.Close(); err != nil {
		t.Error(err)
	}
	for _, r := range ssh.runs() {
		if !steps.Ended(r.Done()) {
			t.Error("ssh is left")
		}
	}
	if answers() {
		t.Error("the socket still answers")
	}
}

func TestTunnelRefused(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "local.sock")
	for name, tt := range map[string]struct {
		host, says, want string
	}{
		"no entry":  {"ssh://gpu2", "Permission denied (publickey).\r\n", "ssh ended (exit status 255): Permission denied (publickey)."},
		"silent":    {"ssh://gpu2", " ", "ssh ended (exit status 255): it produced no output"},
		"an option": {"ssh://-oProxyCommand=evil", "", "write ssh://USER@HOST"},
		"not ssh":   {"tcp://gpu2:1", "", "is not an ssh url"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := OpenTunnel(t.Context(), &fakeSSH{says: tt.says}, tt.host, socket, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}
