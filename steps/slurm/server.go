package slurm

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/servegate/pipeline/steps"
)

// Server is a running step.
type Server struct {
	launcher *Launcher
	process  steps.Process
	hostPort string
	name     string // of the step, used to find its number
	child    steps.Child
	out      *output

	// asked means that we have asked the step to end.
	asked atomic.Bool
	stop  steps.StopOnce
}

var _ steps.Server = (*Server)(nil)

// BaseURL returns the address at its node where the server will answer.
func (s *Server) BaseURL() string { return "http://" + s.hostPort }

// Done returns a channel that is closed when srun, and so the step, has ended.
func (s *Server) Done() <-chan struct{} { return s.child.Done() }

// ExitState describes how it ended, "running" if it has not.
func (s *Server) ExitState() string {
	return steps.ExitState(s.child)
}

// Capabilities implements steps.Server.
func (s *Server) Capabilities() steps.ServerCapabilities {
	return steps.ServerCapabilities{Describe: s.Describe, WatchPauses: s.WatchPauses, Evicted: s.Evicted}
}

// Describe returns the image and the node of the server.
func (s *Server) Describe() map[string]string {
	node := s.launcher.job.nodes[s.launcher.at.Node]
	about := map[string]string{}
	if s.process.Container != nil {
		about["slurm.image"] = s.process.Container.Image
	}
	if !s.launcher.job.opt.Spec.SideBySide { // otherwise each run records its nodes
		about["slurm.node"] = node.Name
	}
	return about
}

// Evicted returns an error if the job or node was lost, or another user or program cancelled the step.
func (s *Server) Evicted(ctx context.Context) error {
	job := s.launcher.job
	now, err := job.settled(ctx)
	if err == nil {
		if err := job.lost(now); err != nil {
			job.over.Store(true)
			return err
		}
	}
	if err := s.nodeLost(ctx); err != nil {
		job.dead.Store(s.launcher.at.Node, true)
		return err
	}
	if s.asked.Load() || !s.ended() {
		return nil
	}
	for _, end := range []struct {
		text  string
		class steps.EvictionClass
	}{
		{"DUE TO NODE FAILURE", steps.EvictionNodeLost},
		{"DUE TO PREEMPTION", steps.EvictionPreempted},
		{"DUE TO TIME LIMIT", steps.EvictionTimeLimit},
	} {
		if line := s.out.find(end.text); line != "" {
			return evicted(end.class, line)
		}
	}
	if line := s.out.find("CANCELLED AT"); line != "" {
		return evictedf(steps.EvictionStepCancelled, "the step of %s was cancelled by someone else: %s", s.process.Name, line)
	}
	return nil
}

// nodeLost returns an error if the server's node is down.
func (s *Server) nodeLost(ctx context.Context) error {
	job := s.launcher.job
	name := job.nodes[s.launcher.at.Node].Name
	out, err := job.opt.call(ctx, "sinfo", "--noheader", "--Node", "--nodes="+name, "--format=%T")
	if err != nil {
		return nil // an unresponsive controller tells nothing about the node
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	if strings.HasPrefix(first, "down") || strings.HasPrefix(first, "fail") || strings.HasSuffix(first, "*") {
		return evictedf(steps.EvictionNodeLost, "node %s of Slurm job %s is %s", name, job.id, first)
	}
	return s.nodeSilent(ctx, name)
}

// nodeSilent runs a step that does nothing, because the controller notices a lost node only after minutes.
func (s *Server) nodeSilent(ctx context.Context, node string) error {
	job := s.launcher.job
	argv, err := command{job: job.id, node: node, name: "look", process: steps.Process{Argv: []string{"true"}}}.argv()
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, job.opt.LookWait)
	defer cancel()
	if _, err = job.opt.call(limited, argv...); err == nil || ctx.Err() != nil || alreadyEnded(err) ||
		strings.Contains(err.Error(), "Unable to create step") {
		return nil // a refusal by the controller did not reach the node
	}
	why := err.Error()
	if limited.Err() != nil {
		why = fmt.Sprintf("a step there does not start within %s", job.opt.LookWait)
	}
	return evictedf(steps.EvictionNodeLost, "node %s of Slurm job %s does not answer: %s", node, job.id, why)
}

// Stop sends the stop signal, waits for the grace period, kills, and waits until Slurm no longer lists the
// step. If ctx ends first, Stop kills at once and still waits, so no step is left behind. Later calls wait for
// the first and return its result.
func (s *Server) Stop(ctx context.Context) error {
	return s.stop.Do(s.process.Name, func() error { return s.end(ctx) })
}

func (s *Server) end(ctx context.Context) error {
	if s.placeLost() {
		return s.killCommand() // the node does not answer, and the end of the job ends the step
	}
	if !s.ended() {
		s.asked.Store(true)
		s.askToEnd(ctx)
	}
	// With little time left, wait only briefly: the end of the job ends the step.
	wait := s.launcher.job.opt.KillWait
	if ctx.Err() != nil {
		wait = min(wait, hurriedWait)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	if s.ended() {
		return s.awaitUnlisted(last)
	}
	if err := s.kill(last); err != nil {
		return err
	}
	return s.awaitGone(last)
}

// awaitUnlisted waits a moment until Slurm drops a step from its list, after srun has ended by itself. Slurm
// drops it once all its processes have ended. A controller that restarted meanwhile may list it until the job
// ends.
func (s *Server) awaitUnlisted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, unlistedWait)
	defer cancel()
	if err := s.awaitGone(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// unlistedWait is the longest wait for that.
const unlistedWait = 3 * time.Second

// hurriedWait is the longest wait for a kill when the program itself must end.
const hurriedWait = 3 * time.Second

// placeLost reports whether the job or the node is known to be lost.
func (s *Server) placeLost() bool {
	job := s.launcher.job
	_, dead := job.dead.Load(s.launcher.at.Node)
	return dead || job.over.Load()
}

// killCommand ends srun, but not necessarily the step.
func (s *Server) killCommand() error {
	s.asked.Store(true)
	if s.ended() {
		return nil
	}
	if err := s.child.Signal("KILL"); err != nil {
		return err
	}
	<-s.child.Done()
	return nil
}

// askToEnd sends the stop signal and waits for the grace period. It signals the step, because srun does not
// forward signals reliably.
func (s *Server) askToEnd(ctx context.Context) {
	signal, grace := s.process.Stopping()
	if s.signal(ctx, signal) == nil {
		s.within(ctx, grace)
	}
}

// signal signals the step, or srun if there is no step.
func (s *Server) signal(ctx context.Context, name string) error {
	id, err := s.stepID(ctx)
	if err != nil {
		return err
	}
	if id == "" {
		return s.child.Signal(name)
	}
	return s.launcher.job.signalStep(ctx, id, name)
}

// signalStep signals a step. It ignores scancel's complaint that the step has ended, which scancel also makes
// about nodes of the job on which the step does not run.
func (j *Job) signalStep(ctx context.Context, id, name string) error {
	_, err := j.opt.call(ctx, "scancel", "--signal="+name, id)
	if alreadyEnded(err) {
		return nil
	}
	return err
}

// kill kills the step, and srun if that fails. If the controller does not answer, the end of the job ends the
// step.
func (s *Server) kill(ctx context.Context) error {
	killErr := s.signal(ctx, "KILL")
	// The other half of the time is for checking whether the step has ended.
	if killErr == nil && s.within(ctx, s.launcher.job.opt.KillWait/2) {
		return nil
	}
	if err := s.killCommand(); err != nil {
		return err
	}
	if killErr != nil {
		return fmt.Errorf("the step could not be killed and may still run: %w", killErr)
	}
	return nil
}

// awaitGone waits until the step is no longer listed, and repeats the kill while it is.
func (s *Server) awaitGone(ctx context.Context) error {
	opt := &s.launcher.job.opt
	id := "" // as last seen
	for {
		found, err := s.stepID(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			return fmt.Errorf("whether the step is gone is not known: %w", err)
		case err != nil && id == "":
			return fmt.Errorf("whether the step is gone is not known, since no time is left to ask: %w; squeue --steps --jobs=%s shows it",
				err, s.launcher.job.id)
		case err == nil && found == "":
			return nil
		case err == nil:
			id = found
		}
		if steps.Sleep(ctx, opt.Poll) != nil {
			return fmt.Errorf("step %s is still there after the kill; its node hangs or does not answer: scontrol show step %s", id, id)
		}
		_, _ = opt.call(ctx, "scancel", "--signal=KILL", id) // it may have ended by now
	}
}

// stepID returns the step's number, "" if there is no step. It searches by name, because steps are numbered in
// order of arrival, not of their commands.
func (s *Server) stepID(ctx context.Context) (string, error) {
	out, err := s.launcher.job.opt.call(ctx, "squeue", "--noheader", "--steps", "--jobs="+s.launcher.job.id, "--format=%i|%j")
	if err != nil {
		if alreadyEnded(err) {
			return "", nil
		}
		return "", err
	}
	for line := range strings.Lines(out) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), "|"); name == s.name {
			return id, nil
		}
	}
	return "", nil
}

func (s *Server) ended() bool { return steps.Ended(s.child.Done()) }

// within reports whether the step ended within d and before ctx.
func (s *Server) within(ctx context.Context, d time.Duration) bool {
	return steps.EndedWithin(ctx, s.child.Done(), d)
}
