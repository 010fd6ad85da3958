package slurm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/servegate/pipeline/steps"
)

// Tasks returns a spawner for programs other than servers, as steps at a place of the job. Their standard
// output contains no messages from Slurm; those go to standard error. Signals reach the program. Each child can
// report its eviction; the cancellation of a step is not an eviction.
func (j *Job) Tasks(name string, at Place) steps.Spawner {
	return taskSpawner{name, j.Launcher(at)}
}

type taskSpawner struct {
	name     string
	launcher *Launcher
}

// Spawn starts srun and returns once the step runs, or has ended again.
func (s taskSpawner) Spawn(ctx context.Context, c steps.Command) (steps.Child, error) {
	p := steps.Process{Name: s.name, Argv: c.Argv, Env: c.Env, Dir: c.Dir}
	server, err := s.launcher.startPatiently(ctx, p, c.Stderr, startedWith{env: c.Env, stdout: c.Stdout})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return task{server}, nil
}

// task is a step as a child.
type task struct{ server *Server }

var _ steps.Child = task{}

// PID returns the process ID of srun.
func (t task) PID() int { return t.server.child.PID() }

// Done returns a channel that is closed when srun, and so the step, has ended.
func (t task) Done() <-chan struct{} { return t.server.child.Done() }

// Wait waits for srun.
func (t task) Wait() error { return t.server.child.Wait() }

// Timeouts for signals to a task.
const (
	endTaskWait  = 2 * time.Second // to end it; an interrupted run has little time
	tellTaskWait = time.Minute     // to send another signal; the controller may be restarting
)

// Signal signals the step. If the step cannot be killed, it ends srun, and the end of the job ends the step.
func (t task) Signal(name string) error {
	if t.server.ended() {
		return nil
	}
	wait := endTaskWait
	switch name {
	case "KILL":
		return t.kill()
	case "TERM", "INT":
		t.server.asked.Store(true)
	default:
		wait = tellTaskWait
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	id, err := t.server.stepID(ctx)
	if err != nil {
		return err
	}
	if id == "" {
		return errors.New("slurm does not list its step any longer")
	}
	return t.server.launcher.job.signalStep(ctx, id, name)
}

func (t task) kill() error {
	s := t.server
	s.asked.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), endTaskWait)
	defer cancel()
	if !s.placeLost() && s.signal(ctx, "KILL") == nil && s.within(ctx, endTaskWait) {
		return nil
	}
	return s.killCommand()
}

// Capabilities implements steps.Child.
func (t task) Capabilities() steps.ChildCapabilities {
	return steps.ChildCapabilities{Evicted: t.evicted}
}

// evicted returns an error if the job or the node was lost.
func (t task) evicted(ctx context.Context) error {
	err := t.server.Evicted(ctx)
	if lost, ok := errors.AsType[*steps.EvictionError](err); ok && lost.Class == steps.EvictionStepCancelled {
		return nil
	}
	return err
}
