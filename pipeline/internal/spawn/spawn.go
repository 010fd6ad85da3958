//go:build unix

package spawn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/servegate/pipeline/steps"
)

// MarkVar is set in the environment of every child to "PID:START" of this program, so that a later instance can
// find what a killed one left behind. On Linux, resource limits carry the same mark.
const MarkVar = "PIPELINE_SPAWNED_BY"

// Options configure a Spawner.
type Options struct {
	// Environ is the environment to inherit from: os.Environ() in the program.
	Environ []string
	// Policy selects the inherited variables.
	Policy Policy
	// OnSpawn, if not nil, is called for each child before Spawn returns, with its process ID, start time
	// (clock ticks since boot; 0 if unknown) and argv. It must not call the Spawner.
	OnSpawn func(pid int, startTime uint64, argv []string)
	// Linger is how long the rest of a group may take to end by itself after its leader, and how long other
	// processes may hold its output open; 2 s unless set. In that time engine workers release RDMA
	// registrations, which a kill would leak.
	Linger time.Duration
}

// Spawner starts processes. It is safe for concurrent use.
type Spawner struct {
	opt  Options
	mark string
	// starts is served by one goroutine on one locked thread. Linux sends the parent death signal when the
	// forking *thread* ends, so a thread of the Go runtime's pool must not fork.
	starts chan startRequest
	quit   chan struct{}
	once   sync.Once

	mu     sync.Mutex
	closed bool
}

var _ steps.Spawner = (*Spawner)(nil)

// New returns a Spawner. Close it after the last child has ended.
func New(opt Options) *Spawner {
	if opt.Linger <= 0 {
		opt.Linger = 2 * time.Second
	}
	s := &Spawner{
		opt:    opt,
		mark:   ownMark(),
		starts: make(chan startRequest),
		quit:   make(chan struct{}),
	}
	go s.serve()
	return s
}

type startRequest struct {
	cmd  *exec.Cmd
	done chan error
}

func (s *Spawner) serve() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		select {
		case r := <-s.starts:
			r.done <- whileMarked(r.cmd.Start)
		case <-s.quit:
			return
		}
	}
}

// ErrClosed is returned by Spawn after Close.
var ErrClosed = errors.New("the program is ending and starts no more processes")

// Spawn starts a command in its own process group. ctx applies to the start only. It looks up the command in
// the PATH of the child; a relative path with a slash is resolved against the command's folder.
func (s *Spawner) Spawn(ctx context.Context, c steps.Command) (steps.Child, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, errors.New("cannot start a process without a command")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], context.Cause(ctx))
	}
	cmd, err := s.command(c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], ErrClosed)
	}
	r := startRequest{cmd: cmd, done: make(chan error, 1)}
	select {
	case s.starts <- r:
	case <-s.quit:
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], ErrClosed)
	}
	if err := <-r.done; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	ch := &child{cmd: cmd, pid: cmd.Process.Pid, linger: s.opt.Linger, done: make(chan struct{})}
	ch.start, _ = startTime(ch.pid)
	if s.opt.OnSpawn != nil {
		s.opt.OnSpawn(ch.pid, ch.start, c.Argv)
	}
	go func() {
		ch.reap()
		close(ch.done)
	}()
	return ch, nil
}

func (s *Spawner) command(c steps.Command) (*exec.Cmd, error) {
	for _, word := range c.Argv {
		if strings.ContainsRune(word, 0) {
			return nil, fmt.Errorf("start %s: an argument contains a zero byte", c.Argv[0])
		}
	}
	env := s.opt.Policy.Environment(s.opt.Environ, append(slices.Clip(c.Env), steps.EnvVar{Name: MarkVar, Value: s.mark}))
	path, err := lookPath(c.Argv[0], c.Dir, env)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	return &exec.Cmd{
		Path: path, Args: c.Argv, Env: env, Dir: c.Dir,
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr,
		SysProcAttr: attributes(),
		// A process that left the group may hold our pipes open; do not wait for it.
		WaitDelay: s.opt.Linger,
	}, nil
}

// Close prevents further starts and ends the starting thread. It ends no child.
func (s *Spawner) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.once.Do(func() { close(s.quit) })
}

// ownMark identifies this process among all since the last boot.
func ownMark() string {
	pid := os.Getpid()
	start, _ := startTime(pid)
	return strconv.Itoa(pid) + ":" + strconv.FormatUint(start, 10)
}

// signals maps names to the signals that can be sent to a child.
var signals = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL,
	"HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
}
