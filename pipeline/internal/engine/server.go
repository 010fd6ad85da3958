package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/process"
)

// server is one start of a target.
type server struct {
	job
	attempt  int
	target   plan.Target
	spec     TargetSpec
	log      *store.Log
	running  steps.Server // nil until it runs
	release  func()       // gives its port back
	began    time.Time    // when it was started
	endpoint steps.Endpoint
	launch   result.Launch
}

// snapshot is the launch as it is now, for an event that outlives it.
func (s *server) snapshot() *result.Launch {
	launch := s.launch
	return &launch
}

// fault is why a server cannot be measured, or not any longer: an outcome.
type fault struct {
	phase string // of result.Failure
	class string // where the log does not tell
	err   error
}

// The phases of result.Failure that launches have.
const (
	phaseStart = "start"
	phaseReady = "ready"
	phaseRun   = "run"
)

func phaseText(phase string) string {
	switch phase {
	case phaseStart:
		return "the server could not be started"
	case phaseReady:
		return "the server did not become ready"
	default:
		return "the server failed during a run"
	}
}

var (
	errDied      = errors.New("the process has ended")
	errNotReady  = errors.New("not ready in time")
	errHung      = errors.New("the run did not end in time")
	errUnhealthy = errors.New("the server lives but does not serve any longer")
)

// startFailed is the class of a start that failed for a cause that nothing names.
const startFailed = "start_failed"

// classOf names a cause that the log says nothing about.
func classOf(err error) string {
	switch {
	case errors.Is(err, errDied):
		return "exited"
	case errors.Is(err, errNotReady):
		return "not_ready"
	case errors.Is(err, errHung):
		return "hung"
	case errors.Is(err, errUnhealthy):
		return "unhealthy"
	case errors.Is(err, steps.ErrWrongModel):
		return "wrong_model"
	case errors.Is(err, process.ErrPortInUse):
		return "port_in_use"
	default:
		return startFailed
	}
}

// machineError is what keeps a server from being started and is not its fault: the run
// must end.
type machineError struct{ err error }

func (e *machineError) Error() string { return e.err.Error() }
func (e *machineError) Unwrap() error { return e.err }

func newFault(phase string, err error) *fault {
	return &fault{phase: phase, class: classOf(err), err: err}
}

// open resolves a target and opens its log.
func (r *runner) open(j job, attempt int) (*server, error) {
	s := &server{job: j, attempt: attempt}
	for _, t := range r.plan.Targets {
		if t.Addr == j.Target {
			s.target = t
		}
	}
	var err error
	if s.spec, err = r.o.Target(j.Target, r.outputs); err != nil {
		return nil, r.config(s, err)
	}
	name := j.ID
	if attempt > 1 {
		name += fmt.Sprintf("-try%d", attempt)
	}
	if s.log, err = r.o.Store.Log(name); err != nil {
		return nil, err
	}
	s.launch = result.Launch{ID: attemptID(j.ID, attempt), Repeat: j.repeat, Target: j.Target, Attempt: attempt, Log: s.log.Path()}
	r.emit(s, event.Event{Type: event.LaunchStart, Range: &s.target.Range, Text: "starting " + j.Target})
	return s, nil
}

func (r *runner) config(s *server, err error) error {
	return &ConfigError{Addr: s.Target, Range: s.target.Range, Err: err}
}

// emit completes an event about a server.
func (r *runner) emit(s *server, e event.Event) {
	e.Launch, e.Target, e.Repeat, e.Repeats = s.launch.ID, s.Target, s.repeat, len(r.plan.Repeats)
	if e.Addr == "" {
		e.Addr = s.Target
	}
	e.Index, e.Total = r.eta.position()
	e.Elapsed, e.Left = r.eta.estimate()
	r.bus.Emit(e)
}

// bringUp starts a server and waits until it serves.
func (r *runner) bringUp(ctx context.Context, s *server) *fault {
	if err := r.start(ctx, s); err != nil {
		return newFault(phaseStart, err)
	}
	s.endpoint = steps.Endpoint{BaseURL: s.running.BaseURL(), Model: servedName(s.spec.Spec)}
	if key := s.spec.Spec.APIKey; key != "" {
		s.endpoint.Headers = map[string]string{"Authorization": "Bearer " + key}
	}
	if err := r.awaitReady(ctx, s); err != nil {
		return newFault(phaseReady, err)
	}
	text := s.Target + " answers"
	if s.spec.Spec.URL == "" {
		s.launch.Startup = r.o.Now().Sub(s.began).Seconds()
		text = fmt.Sprintf("%s is ready after %s", s.Target, short(seconds(s.launch.Startup)))
	}
	r.eta.launched()
	described := r.describe(ctx, s)
	r.emit(s, event.Event{Type: event.LaunchReady, Started: s.snapshot(), Describe: described, Text: text})
	return nil
}

func servedName(spec steps.ServerSpec) string {
	if spec.ServedName != "" {
		return spec.ServedName
	}
	return spec.Model
}

// start renders and starts a process or container, or attaches to a server that answers
// already.
func (r *runner) start(ctx context.Context, s *server) error {
	spec := s.spec.Spec
	if spec.URL != "" {
		s.running = process.NewAttached(strings.TrimRight(spec.URL, "/"))
		return nil
	}
	port := spec.Port
	if port == 0 {
		var err error
		if port, s.release, err = r.o.Ports.Take(localhost); err != nil {
			return err
		}
	}
	p, err := s.spec.Engine.Render(spec, spec.ListenHost(), port)
	if err != nil {
		return r.config(s, err)
	}
	if s.spec.Prepare != nil {
		if p, err = s.spec.Prepare(p, s.launch.ID); err != nil {
			return r.config(s, err)
		}
	}
	if err := r.prepare(ctx, s, p); err != nil {
		return err
	}
	s.began = r.o.Now()
	running, err := s.spec.Launcher.Start(ctx, p, s.log)
	if errors.Is(err, steps.ErrUnsupported) {
		return r.config(s, err)
	}
	if err != nil {
		return err
	}
	s.running = running
	return nil
}

// prepare gets what a server needs, which is no part of its start-up. What cannot be got,
// such as an image of a registry that is down, says nothing about the server.
func (r *runner) prepare(ctx context.Context, s *server, p steps.Process) error {
	launcher, ok := s.spec.Launcher.(steps.Preparer)
	if !ok {
		return nil
	}
	r.emit(s, event.Event{Type: event.LaunchState, State: steps.StatePreparing, Text: s.Target + ": " + steps.StatePreparing})
	if err := launcher.Prepare(ctx, p); err != nil {
		return &machineError{err}
	}
	return nil
}

// awaitReady polls until the server serves, ends, or has no time left.
func (r *runner) awaitReady(ctx context.Context, s *server) error {
	ready := s.spec.Spec.Ready.WithDefaults()
	ctx, cancel := context.WithTimeoutCause(ctx, ready.Timeout, errNotReady)
	defer cancel()
	ctx, cancel = while(ctx, s.running)
	defer cancel()
	tick := time.NewTicker(ready.Interval)
	defer tick.Stop()
	state, why := "", error(nil)
	for {
		now, ok, err := r.poll(ctx, s, ready)
		// A look that the end of the time cut off says nothing about the server: the one
		// before it does.
		if ok || why == nil || ctx.Err() == nil {
			why = err
			if now != state && now != "" {
				state = now
				r.emit(s, event.Event{Type: event.LaunchState, State: state, Text: s.Target + ": " + state})
			}
		}
		if ok {
			return nil
		}
		if errors.Is(err, steps.ErrWrongModel) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			cause := context.Cause(ctx)
			if errors.Is(cause, errNotReady) {
				return fmt.Errorf("%w (%s; last state %q: %w)", errNotReady, ready.Timeout, state, orNothing(why))
			}
			return cause
		}
	}
}

func orNothing(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// poll is one look at a server, bounded so that a connection that hangs costs one look.
func (r *runner) poll(ctx context.Context, s *server, ready steps.Readiness) (string, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	return s.spec.Engine.Ready(ctx, s.endpoint, ready)
}

// while returns a context that ends with errDied when the server does.
func while(ctx context.Context, running steps.Server) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-running.Done():
			cancel(errDied)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// describe asks the launcher and the server what it is. That it does not tell is no
// failure.
func (r *runner) describe(ctx context.Context, s *server) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	said, err := s.spec.Engine.Describe(ctx, s.endpoint)
	if err != nil {
		r.warn(fmt.Sprintf("%s does not describe itself: %v", s.Target, err))
	}
	masked := make(map[string]string, len(said))
	for k, v := range said {
		masked[k] = r.o.Redact.String(v)
	}
	if started, ok := s.running.(steps.Describer); ok {
		for k, v := range started.Describe() {
			masked[k] = r.o.Redact.String(v)
		}
	}
	if len(masked) == 0 {
		return nil
	}
	r.out.Describe[s.Target] = masked
	return masked
}

// end stops a server that has done its work.
func (r *runner) end(ctx context.Context, s *server) error {
	err := r.stop(ctx, s)
	r.keep(s)
	text := s.Target + " is stopped"
	if s.spec.Spec.URL != "" {
		text = s.Target + " is left as it is"
	}
	r.emit(s, event.Event{Type: event.LaunchStop, Started: s.snapshot(), Text: text})
	return errors.Join(err, r.bus.Err())
}

// abandon stops a server because the whole run must end, for a cause that matters more
// than what goes wrong with the stop.
func (r *runner) abandon(ctx context.Context, s *server, cause error) error {
	if err := r.end(ctx, s); err != nil {
		r.warn(err.Error())
	}
	return cause
}

// fail stops a server that does not serve (any longer) and says why. The error is not nil
// if the cause is not the server's: the run must end then.
func (r *runner) fail(ctx context.Context, s *server, f *fault) (*result.Failure, error) {
	if config, ok := errors.AsType[*ConfigError](f.err); ok {
		return nil, r.abandon(ctx, s, config)
	}
	if ctx.Err() != nil {
		return nil, r.abandon(ctx, s, context.Cause(ctx))
	}
	if machine, ok := errors.AsType[*machineError](f.err); ok {
		return nil, r.abandon(ctx, s, machine)
	}
	exit := ""
	if s.running != nil {
		select {
		case <-s.running.Done():
			exit = s.running.ExitState()
		default: // what ends it now is our own signal
		}
	}
	err := r.stop(ctx, s)
	s.launch.Failure = r.failure(s, f, exit)
	r.keep(s)
	r.emit(s, event.Event{
		Type: event.LaunchFail, Started: s.snapshot(), Failure: s.launch.Failure, Range: &s.target.Range,
		Text: fmt.Sprintf("%s: %s (%s): %s", s.Target, phaseText(f.phase), s.launch.Failure.Class, s.launch.Failure.Evidence),
	})
	return s.launch.Failure, errors.Join(err, r.bus.Err())
}

// failure finds the cause in the log, which must be closed, or in what a launcher said, or
// takes what we saw.
func (r *runner) failure(s *server, f *fault, exit string) *result.Failure {
	tail := s.log.Tail()
	class, evidence := s.spec.Engine.Classify(tail)
	if unknown(class) && f.class == startFailed {
		// A daemon without a driver for GPUs says so before there is a log.
		class, evidence = s.spec.Engine.Classify([]string{f.err.Error()})
	}
	if unknown(class) {
		class, evidence = f.class, f.err.Error()
	}
	return &result.Failure{
		Phase: f.phase, Class: class, Evidence: r.o.Redact.String(evidence), Exit: exit,
		LogTail: tail, Range: s.target.Range,
	}
}

func unknown(class string) bool { return class == "" || class == "unknown" }

// keep adds the attempt to the launch it belongs to.
func (r *runner) keep(s *server) {
	current := &r.out.Launched[len(r.out.Launched)-1]
	current.Attempts = append(current.Attempts, s.launch)
}

// stop ends the server and closes its log. An error means that something is left running
// or that the log is not whole: nothing can be trusted after that.
func (r *runner) stop(ctx context.Context, s *server) error {
	var errs []error
	if s.running != nil {
		ctx, cancel := stopContext(ctx, s.spec.Spec.StopGrace)
		if err := s.running.Stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s could not be stopped: %w", s.Target, err))
		}
		cancel()
	}
	if s.release != nil {
		s.release()
	}
	return errors.Join(append(errs, s.log.Close())...)
}

// stopContext bounds a stop: by the server's grace, and by a few seconds once we are told
// to end ourselves, be it before or during the stop. A launcher kills when it ends.
func stopContext(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	if grace <= 0 {
		grace = steps.DefaultStopGrace
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+stopMargin)
	var timer *time.Timer
	hurried := make(chan struct{})
	told := context.AfterFunc(ctx, func() {
		timer = time.AfterFunc(hurry, cancel)
		close(hurried)
	})
	return stopping, func() {
		if !told() {
			<-hurried
			timer.Stop()
		}
		cancel()
	}
}
