package process

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/servegate/pipeline/steps"
)

// server is a running process.
type server struct {
	process steps.Process
	spawner steps.Spawner
	env     []steps.EnvVar // that it was started with
	child   steps.Child
	opt     Options

	groups   *groups
	unfollow context.CancelFunc

	stop    sync.Once
	stopErr error
}

// PID of the process, for events and people.
func (s *server) PID() int { return s.child.PID() }

// BaseURL is where it will answer.
func (s *server) BaseURL() string { return "http://" + hostPort(s.process) }

// Done is closed when the process and its group have ended.
func (s *server) Done() <-chan struct{} { return s.child.Done() }

// ExitState says how it ended, "running" while it has not.
func (s *server) ExitState() string { return steps.ExitState(s.child) }

// Capabilities implements steps.Server.
func (s *server) Capabilities() steps.ServerCapabilities {
	return steps.ServerCapabilities{WatchPauses: s.watchPauses, Starved: s.starved, Exec: s.exec}
}

// exec gives the program the environment and the folder of the server.
func (s *server) exec(ctx context.Context, argv []string) (stdout, stderr string, err error) {
	return steps.Output(ctx, s.spawner, steps.Command{Argv: argv, Env: s.env, Dir: s.process.Dir})
}

// Stop asks the group to end, waits for the grace, kills, and waits until the group is
// gone and the port is free. When ctx ends first, the kill comes at once: ctx shortens
// the grace and never leaves a process behind. Later calls wait for the first and return
// its result.
func (s *server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		s.unfollow()
		s.stopErr = s.end(ctx)
	})
	return s.stopErr
}

func (s *server) end(ctx context.Context) error {
	if !s.ended() {
		s.askToEnd(ctx)
	}
	if !s.ended() {
		if err := s.child.Signal("KILL"); err != nil {
			return fmt.Errorf("%s: %w", s.process.Name, err)
		}
		if !s.await(context.Background(), s.opt.KillWait) {
			return fmt.Errorf("%s: process %d is still there %s after the kill; it hangs in the kernel, look at its GPU and disk", s.process.Name,
				s.child.PID(), s.opt.KillWait)
		}
	}
	return s.awaitPort(ctx)
}

// askToEnd sends the stop signal and waits for the grace. An error of the signal leads
// to the kill, which reports it if it matters.
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

// awaitPort returns when the port can be bound again. A port that stays taken belongs to
// a process that left the group.
func (s *server) awaitPort(ctx context.Context) error {
	wait := s.opt.PortWait
	if s.process.Apart {
		_, wait = s.process.Stopping()
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	free := func() bool { return !errors.Is(probe(s.process.Host, s.process.Port), syscall.EADDRINUSE) }
	if !steps.Poll(ctx, s.opt.Poll, free) {
		return fmt.Errorf("%s: it is gone, but %s is still in use: a process that it started has left its group", s.process.Name,
			hostPort(s.process))
	}
	return nil
}
