package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
)

// Tunnel forwards the socket of a daemon on another machine by ssh. It restarts ssh after interruptions.
type Tunnel struct {
	spawner steps.Spawner
	command steps.Command
	said    *lastWords
	closing chan struct{}
	closed  chan struct{}

	mu    sync.Mutex
	child steps.Child
}

// Timing of a tunnel.
const (
	tunnelWait  = 30 * time.Second // for ssh to connect
	tunnelPoll  = 50 * time.Millisecond
	tunnelPause = time.Second // before ssh is restarted
	tunnelGrace = 2 * time.Second
)

// defaultSocket is the default socket of daemons.
const defaultSocket = "/var/run/docker.sock"

// OpenTunnel forwards the daemon at ssh://[USER@]HOST[:PORT][/SOCKET] to a local socket, and returns when the
// daemon answers there. ssh uses its own configuration, and must not prompt. env is added to its environment.
func OpenTunnel(ctx context.Context, spawner steps.Spawner, host, socket string, env []steps.EnvVar) (*Tunnel, error) {
	argv, err := sshCommand(host, socket)
	if err != nil {
		return nil, err
	}
	said := &lastWords{}
	t := &Tunnel{
		spawner: spawner, said: said, closing: make(chan struct{}), closed: make(chan struct{}),
		command: steps.Command{Argv: argv, Env: env, Stdout: said, Stderr: said},
	}
	if t.child, err = spawner.Spawn(ctx, t.command); err != nil {
		return nil, fmt.Errorf("starting ssh: %w", err)
	}
	if err := t.await(ctx, socket); err != nil {
		return nil, errors.Join(err, steps.EndChild(t.child, tunnelGrace))
	}
	go t.keep()
	return t, nil
}

// sshCommand returns the ssh command line. It rejects hosts that ssh would parse as options.
func sshCommand(host, socket string) ([]string, error) {
	if problem := (steps.DockerHost{URL: host}).Problem(); problem != "" {
		return nil, errors.New(problem)
	}
	u, err := url.Parse(host)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "ssh" {
		return nil, fmt.Errorf("%q is not an ssh url", host)
	}
	remote := u.Path
	if remote == "" || remote == "/" {
		remote = defaultSocket
	}
	argv := []string{"ssh", "-nNT", "-L", socket + ":" + remote}
	for _, o := range []string{
		"BatchMode=yes", "ExitOnForwardFailure=yes", "StreamLocalBindUnlink=yes", "ServerAliveInterval=15",
		"ServerAliveCountMax=4", "ConnectTimeout=20", "ControlMaster=no", "ControlPath=none",
	} {
		argv = append(argv, "-o", o)
	}
	if name := u.User.Username(); name != "" {
		argv = append(argv, "-l", name)
	}
	if port := u.Port(); port != "" {
		argv = append(argv, "-p", port)
	}
	return append(argv, "--", u.Hostname()), nil
}

// await waits until the daemon answers at the socket.
func (t *Tunnel) await(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, tunnelWait)
	defer cancel()
	d, err := connect("unix://" + socket)
	if err != nil {
		return err
	}
	dialer := net.Dialer{}
	for {
		conn, err := dialer.DialContext(ctx, "unix", socket)
		if err == nil {
			return errors.Join(conn.Close(), d.ping(ctx))
		}
		select {
		case <-t.child.Done():
			return fmt.Errorf("ssh ended (%s): %s", steps.ExitState(t.child), t.said)
		case <-ctx.Done():
			return fmt.Errorf("ssh does not forward the socket: %w: %s", context.Cause(ctx), t.said)
		case <-time.After(tunnelPoll):
		}
	}
}

// keep restarts ssh when it ends.
func (t *Tunnel) keep() {
	defer close(t.closed)
	for {
		select {
		case <-t.current().Done():
		case <-t.closing:
			return
		}
		select {
		case <-time.After(tunnelPause):
		case <-t.closing:
			return
		}
		child, err := t.spawner.Spawn(context.Background(), t.command)
		if err != nil {
			return // the program is ending; requests report that the daemon does not answer
		}
		t.mu.Lock()
		t.child = child
		t.mu.Unlock()
	}
}

func (t *Tunnel) current() steps.Child {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.child
}

// Close ends ssh.
func (t *Tunnel) Close() error {
	close(t.closing)
	<-t.closed
	return steps.EndChild(t.current(), tunnelGrace)
}

// lastWords stores the end of ssh's output.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

// keptWords is the number of bytes stored, enough for ssh's error messages.
const keptWords = 2 << 10

func (w *lastWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	w.text = bytes.Clone(w.text[max(0, len(w.text)-keptWords):])
	return len(p), nil
}

func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text := strings.TrimSpace(string(w.text)); text != "" {
		return text
	}
	return "it produced no output"
}
