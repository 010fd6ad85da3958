package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/process"
)

// Launcher starts servers as steps at one place of a job.
type Launcher struct {
	job *Job
	at  Place
}

var _ steps.Launcher = (*Launcher)(nil)

// Capabilities implements steps.Launcher.
func (l *Launcher) Capabilities() steps.LauncherCapabilities {
	return steps.LauncherCapabilities{Prepare: l.Prepare}
}

// Prepare checks that the job is still there with enough time for a launch.
func (l *Launcher) Prepare(ctx context.Context, _ steps.Process) error { return l.job.Check(ctx) }

// Start starts p as a step. Its output and srun's messages go to log. Start returns once the step runs, or has
// ended again. It fails if another process answers at the port of the node.
func (l *Launcher) Start(ctx context.Context, p steps.Process, log io.Writer) (steps.Server, error) {
	s, err := l.start(ctx, p, log)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	return s, nil
}

func (l *Launcher) start(ctx context.Context, p steps.Process, log io.Writer) (*Server, error) {
	if p.Port <= 0 || p.Port > 65535 {
		return nil, fmt.Errorf("port %d is not a port; take one with process.Ports", p.Port)
	}
	address, err := l.job.Address(l.at.Node)
	if err != nil {
		return nil, err
	}
	hostPort := net.JoinHostPort(address, strconv.Itoa(p.Port))
	if listening(ctx, hostPort) {
		return nil, fmt.Errorf("%w: %s; stop that program or set another port", process.ErrPortInUse, hostPort)
	}
	folder, p, err := l.writeFiles(p)
	if err != nil {
		return nil, err
	}
	return l.startPatiently(ctx, p, log, startedWith{hostPort: hostPort, folder: folder, env: p.Env})
}

// startPatiently retries while Slurm may start the step later.
func (l *Launcher) startPatiently(ctx context.Context, p steps.Process, log io.Writer, with startedWith) (*Server, error) {
	limit := time.Now().Add(l.job.opt.StartWait)
	for {
		s, err := l.startStep(ctx, p, log, with)
		refused, ok := errors.AsType[*refusedError](err)
		if !ok || !refused.transient() || time.Now().After(limit) {
			return s, err
		}
		if err := steps.Sleep(ctx, l.job.opt.Poll); err != nil {
			return nil, err
		}
	}
}

// startedWith holds what the attempts of a start share.
type startedWith struct {
	hostPort, folder string
	env              []steps.EnvVar
	stdout           io.Writer // nil means the log
}

// startStep makes one attempt.
func (l *Launcher) startStep(ctx context.Context, p steps.Process, log io.Writer, with startedWith) (*Server, error) {
	opt := &l.job.opt
	name := stepName(p.Name, l.job.steps.Add(1), Mark{opt.RunID, opt.Owner})
	argv, err := command{
		job: l.job.id, node: l.job.nodes[l.at.Node].Name, name: name, gpusPerNode: opt.Spec.GPUsPerNode,
		runtime: opt.Spec.Runtime, unset: opt.Unset, at: l.at, process: p, files: with.folder,
	}.argv()
	if err != nil {
		return nil, err
	}
	out := newOutput(log)
	stdout := with.stdout
	if stdout == nil {
		stdout = out
	}
	child, err := opt.Spawner.Spawn(ctx, steps.Command{Argv: argv, Env: slices.Concat(opt.Env, with.env), Stdout: stdout, Stderr: out})
	if err != nil {
		return nil, err
	}
	s := &Server{launcher: l, process: p, hostPort: with.hostPort, name: name, child: child, out: out}
	if err := s.awaitStep(ctx); err != nil {
		// Until srun has ended, the step may still be created.
		ended, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel()
		return nil, errors.Join(err, s.Stop(ended))
	}
	return s, nil
}

// awaitStep waits until the step runs, or has run.
func (s *Server) awaitStep(ctx context.Context) error {
	opt := &s.launcher.job.opt
	limit := time.Now().Add(opt.StartWait)
	for {
		id, err := s.stepID(ctx)
		switch {
		case id != "":
			return nil
		case s.ended():
			return s.refused()
		case err != nil:
			return err
		case time.Now().After(limit):
			return fmt.Errorf("the step did not start within %s: %s", opt.StartWait, s.out.last())
		}
		select {
		case <-time.After(opt.Poll):
		case <-s.child.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// refused returns why srun ended without a step. If the step ran and ended, it returns nil, because the engine
// interprets the server's own output.
func (s *Server) refused() error {
	for _, text := range []string{"Unable to create step", "Unable to allocate resources", "Unable to confirm allocation",
		"Invalid job id specified", "Job/step already completing or completed"} {
		if line := s.out.find(text); line != "" {
			if err := s.Evicted(context.Background()); err != nil {
				return err
			}
			return &refusedError{line}
		}
	}
	return nil
}

// refusedError means that Slurm did not start a step, with srun's message.
type refusedError struct{ said string }

func (e *refusedError) Error() string { return "slurm does not start the step: " + e.said }

// transient reports whether the step may start later: a restarted controller waits for its nodes to report.
func (e *refusedError) transient() bool {
	return says(e.said, "Required node not available", "Memory required by task is not available", "Requested nodes are busy",
		"Unable to contact slurm controller", "Socket timed out")
}

// dialWait is the timeout for checking whether a port is in use.
const dialWait = 2 * time.Second

// listening reports whether an address accepts connections.
func listening(ctx context.Context, hostPort string) bool {
	dialer := net.Dialer{Timeout: dialWait}
	conn, err := dialer.DialContext(ctx, "tcp", hostPort)
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was written
	return true
}

// writeFiles writes a process's files into a new folder. It returns the folder, and the process that names
// the files.
func (l *Launcher) writeFiles(p steps.Process) (string, steps.Process, error) {
	dir, placed, err := steps.WriteFiles(p, l.job.opt.Folder)
	if err == nil && p.Container != nil && strings.ContainsAny(dir, ",: ") {
		err = fmt.Errorf("the folder %q cannot be mounted into a container: set another with --out", dir)
	}
	return dir, placed, err
}
