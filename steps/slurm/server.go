package slurm

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/servegate/pipeline/steps"
)

// Server is a running step.
type Server struct {
	launcher *Launcher
	process  steps.Process
	hostPort string
	name     string // of the step, by which its number is found
	child    steps.Child
	out      *output

	// asked reports whether we have asked the step to end.
	asked   atomic.Bool
	stop    sync.Once
	stopErr error
}

var _ steps.Server = (*Server)(nil)

// BaseURL is where it will answer: at its node.
func (s *Server) BaseURL() string { return "http://" + s.hostPort }

// Done is closed when srun, and with it the step, has ended.
func (s *Server) Done() <-chan struct{} { return s.child.Done() }

// ExitState says how it ended, "running" while it has not.
func (s *Server) ExitState() string {
	return steps.ExitState(s.child)
}

// Capabilities implements steps.Server.
func (s *Server) Capabilities() steps.ServerCapabilities {
	return steps.ServerCapabilities{Describe: s.Describe, WatchPauses: s.WatchPauses, Evicted: s.Evicted}
}

// Describe says where it runs.
func (s *Server) Describe() map[string]string {
	node := s.launcher.job.nodes[s.launcher.at.Node]
	about := map[string]string{}
	if s.process.Container != nil {
		about["slurm.image"] = s.process.Container.Image
	}
	if !s.launcher.job.opt.Spec.SideBySide { // else each run says which nodes it had
		about["slurm.node"] = node.Name
	}
	return about
}

// Evicted reports whether the job or the node was lost, or the step was cancelled by someone
// else.
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
	for text, class := range map[string]string{"DUE TO NODE FAILURE": ClassNodeLost, "DUE TO PREEMPTION": ClassPreempted,
		"DUE TO TIME LIMIT": ClassTimeLimit} {
		if line := s.out.find(text); line != "" {
			return evicted(class, line)
		}
	}
	if line := s.out.find("CANCELLED AT"); line != "" {
		return evicted(ClassStepCancelled, fmt.Sprintf("the step of %s was cancelled by someone else: %s", s.process.Name, line))
	}
	return nil
}

// nodeLost asks whether the server's node is up.
func (s *Server) nodeLost(ctx context.Context) error {
	job := s.launcher.job
	name := job.nodes[s.launcher.at.Node].Name
	out, err := job.opt.call(ctx, "sinfo", "--noheader", "--Node", "--nodes="+name, "--format=%T")
	if err != nil {
		return nil // a controller that does not answer says nothing about the node
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	if strings.HasPrefix(first, "down") || strings.HasPrefix(first, "fail") || strings.HasSuffix(first, "*") {
		return evicted(ClassNodeLost, fmt.Sprintf("node %s of Slurm job %s is %s", name, job.id, first))
	}
	return s.nodeSilent(ctx, name)
}

// nodeSilent runs a step that does nothing: the controller notices that a node is gone only
// after minutes.
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
		return nil // what the controller refuses has not asked the node
	}
	why := err.Error()
	if limited.Err() != nil {
		why = fmt.Sprintf("a step there does not start within %s", job.opt.LookWait)
	}
	return evicted(ClassNodeLost, fmt.Sprintf("node %s of Slurm job %s does not answer: %s", node, job.id, why))
}

// Stop asks the step to end, waits for the grace, kills, and waits until Slurm does not
// list it any longer. When ctx ends first, the kill comes at once: ctx shortens the grace
// and leaves nothing behind. Later calls wait for the first and return its result.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		if err := s.end(ctx); err != nil {
			s.stopErr = fmt.Errorf("%s: %w", s.process.Name, err)
		}
	})
	return s.stopErr
}

func (s *Server) end(ctx context.Context) error {
	if s.placeLost() {
		return s.killCommand() // nobody there answers, and the end of the job ends the rest
	}
	if !s.ended() {
		s.asked.Store(true)
		s.askToEnd(ctx)
	}
	// The wait for the kill is short when time is: the end of the job ends what is left.
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

// awaitUnlisted gives Slurm a moment to forget a step whose srun has ended by itself, which
// it does after all processes of the step. A controller that was restarted meanwhile can
// list it to the end of the job.
func (s *Server) awaitUnlisted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, unlistedWait)
	defer cancel()
	if err := s.awaitGone(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// unlistedWait bounds the wait for the list.
const unlistedWait = 3 * time.Second

// hurriedWait bounds the wait for a kill when the program was asked to end.
const hurriedWait = 3 * time.Second

// placeLost says that the job or the node is known to be gone.
func (s *Server) placeLost() bool {
	job := s.launcher.job
	_, dead := job.dead.Load(s.launcher.at.Node)
	return dead || job.over.Load()
}

// killCommand ends srun, which is not the step.
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

// askToEnd sends the stop signal to the step, not to srun, which does not pass it on
// reliably, and waits for the grace.
func (s *Server) askToEnd(ctx context.Context) {
	signal, grace := s.process.Stopping()
	if s.signal(ctx, signal) == nil {
		s.within(ctx, grace)
	}
}

// signal signals the step, or srun where there is no step (yet).
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

// signalStep signals a step. What scancel complains of is not reported: nodes of the job on which
// the step does not run refuse the signal, and it says so of a step that got it.
func (j *Job) signalStep(ctx context.Context, id, name string) error {
	_, err := j.opt.call(ctx, "scancel", "--signal="+name, id)
	if alreadyEnded(err) {
		return nil
	}
	return err
}

// kill ends what the signal did not. A controller that does not answer keeps nobody from
// ending srun, whose step the end of the job then ends.
func (s *Server) kill(ctx context.Context) error {
	killErr := s.signal(ctx, "KILL")
	// The other half of the time is for asking what became of a step that does not end.
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

// awaitGone waits until the step is not listed any longer. One that stays is killed once
// more.
func (s *Server) awaitGone(ctx context.Context) error {
	opt := &s.launcher.job.opt
	id := "" // as it was seen last
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
		_, _ = opt.call(ctx, "scancel", "--signal=KILL", id) // it may be gone by now
	}
}

// stepID finds the step's number, "" if there is none (any longer). Numbers follow the
// order in which steps arrive and not that of their commands, so only the name is sure.
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
