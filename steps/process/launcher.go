package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/cgroup"
)

// Options configure a launcher. Zero values mean the defaults.
type Options struct {
	// KillWait is how long a killed group may take to vanish; 10 s.
	KillWait time.Duration
	// PortWait is how long the port may stay in use after the group has ended; 5 s.
	PortWait time.Duration
	// Poll is the interval between checks of the port; 50 ms.
	Poll time.Duration
	// System locates control groups.
	System cgroup.System
	// Folder makes an empty folder for the files of one start and returns its absolute path. Processes without
	// files do not need it.
	Folder func(name string) (string, error)
}

// Launcher starts servers as processes.
type Launcher struct {
	spawner steps.Spawner
	opt     Options
}

var _ steps.Launcher = (*Launcher)(nil)

// New returns a launcher.
func New(spawner steps.Spawner, opt Options) *Launcher {
	opt.KillWait = cmp.Or(opt.KillWait, 10*time.Second)
	opt.PortWait = cmp.Or(opt.PortWait, 5*time.Second)
	opt.Poll = cmp.Or(opt.Poll, 50*time.Millisecond)
	return &Launcher{spawner: spawner, opt: opt}
}

// Capabilities implements steps.Launcher. There are none.
func (l *Launcher) Capabilities() steps.LauncherCapabilities { return steps.LauncherCapabilities{} }

// ErrPortInUse reports that another process listens on the server's port. Nothing is started, because that
// process would answer in the server's place.
var ErrPortInUse = errors.New("the port is in use by another program")

// Start starts p and writes both its outputs to log. It fails if another process listens on the port.
func (l *Launcher) Start(ctx context.Context, p steps.Process, log io.Writer) (steps.Server, error) {
	if p.Port <= 0 || p.Port > 65535 {
		return nil, fmt.Errorf("%s: port %d is not a port; take one with Ports", p.Name, p.Port)
	}
	if err := Probe(hostPort(p)); err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("%s: %w: %s; stop that program or set another port", p.Name, ErrPortInUse, hostPort(p))
		}
		return nil, fmt.Errorf("%s: cannot listen on %s: %w", p.Name, hostPort(p), err)
	}
	if log == nil {
		log = io.Discard
	}
	log = &serialWriter{w: log}
	_, p, err := steps.WriteFiles(p, l.opt.Folder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	child, err := l.spawner.Spawn(ctx, steps.Command{Argv: p.Argv, Env: p.Env, Dir: p.Dir, Stdout: log, Stderr: log})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	s := &server{process: p, spawner: l.spawner, env: p.Env, child: child, opt: l.opt, groups: &groups{system: l.opt.System, pid: child.PID()}}
	s.groups.look()
	following, cancel := context.WithCancel(context.Background())
	s.unfollow = cancel
	go s.groups.follow(following, child.Done())
	return s, nil
}

func hostPort(p steps.Process) string { return net.JoinHostPort(p.Host, strconv.Itoa(p.Port)) }

// serialWriter lets standard output and standard error share one writer.
type serialWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *serialWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
