package process

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/servegate/pipeline/steps"
)

// server is a running process.
type server struct {
	process steps.Process
	spawner steps.Spawner
	env     []steps.EnvVar // environment at the start
	child   steps.Child
	opt     Options

	groups   *groups
	unfollow context.CancelFunc

	stop steps.StopOnce
}

// PID returns the process ID, for events and messages.
func (s *server) PID() int { return s.child.PID() }

// BaseURL returns the address at which the server will answer.
func (s *server) BaseURL() string { return "http://" + hostPort(s.process) }

// Done returns a channel that is closed when the process and its group have ended.
func (s *server) Done() <-chan struct{} { return s.child.Done() }

// ExitState describes how the process ended, "running" if it has not.
func (s *server) ExitState() string { return steps.ExitState(s.child) }

// Capabilities implements steps.Server.
func (s *server) Capabilities() steps.ServerCapabilities {
	return steps.ServerCapabilities{WatchPauses: s.watchPauses, Starved: s.starved, Exec: s.exec}
}

// exec runs a program with the server's environment and working directory.
func (s *server) exec(ctx context.Context, argv []string) (stdout, stderr string, err error) {
	return steps.Output(ctx, s.spawner, steps.Command{Argv: argv, Env: s.env, Dir: s.process.Dir})
}

// Stop sends the stop signal, waits for the grace period, kills, and waits until the group has ended and the
// port is free. If ctx ends first, Stop kills at once and still waits, so no process is left behind. Later
// calls wait for the first and return its result.
func (s *server) Stop(ctx context.Context) error {
	return s.stop.Do(s.process.Name, func() error {
		s.unfollow()
		return s.end(ctx)
	})
}

func (s *server) end(ctx context.Context) error {
	if !s.ended() {
		s.askToEnd(ctx)
	}
	if !s.ended() {
		if err := s.child.Signal("KILL"); err != nil {
			return err
		}
		if !s.await(context.Background(), s.opt.KillWait) {
			return fmt.Errorf("process %d is still there %s after the kill; it hangs in the kernel, look at its GPU and disk", s.child.PID(),
				s.opt.KillWait)
		}
	}
	return s.awaitPort(ctx)
}

// askToEnd sends the stop signal and waits for the grace period. If the signal fails, the following kill
// reports the error.
func (s *server) askToEnd(ctx context.Context) {
	signal, grace := s.process.Stopping()
	if s.child.Signal(signal) == nil {
		s.await(ctx, grace)
	}
}

func (s *server) ended() bool { return steps.Ended(s.child.Done()) }

// await reports whether the process ended within d and before ctx.
func (s *server) await(ctx context.Context, d time.Duration) bool {
	return steps.EndedWithin(ctx, s.child.Done(), d)
}

// awaitPort waits until the port can be bound again. If it stays in use, a process has left the group and holds
// it.
func (s *server) awaitPort(ctx context.Context) error {
	wait := s.opt.PortWait
	if s.process.Apart {
		_, wait = s.process.Stopping()
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	free := func() bool { return !errors.Is(Probe(hostPort(s.process)), syscall.EADDRINUSE) }
	if !steps.Poll(ctx, s.opt.Poll, free) {
		return fmt.Errorf("it is gone, but %s is still in use: a process that it started has left its group", hostPort(s.process))
	}
	return nil
}
