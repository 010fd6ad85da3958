package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
)

// server is one start of a target: of a single server, or of a deployment's members.
type server struct {
	job
	attempt  int
	target   plan.Target
	spec     TargetSpec
	members  []*member // in the order of their start
	front    *member   // that clients send requests to
	releases []func()  // release the ports and stop watching for pauses
	began    time.Time // when the first member was started
	probe    int       // of the current search, from 1
	answered time.Time // the last answer of the previous run, zero if there is none
	launch   result.Launch
	// paused states how the target was paused at the last query, pausedStart how it was paused before it was ready.
	paused, pausedStart string
}

// snapshot returns a copy of the launch for an event that outlives it.
func (s *server) snapshot() *result.Launch {
	launch := s.launch
	launch.Figures = s.figures()
	if s.spec.alone() {
		launch.States = s.front.about.States
		return &launch
	}
	for _, m := range s.members {
		launch.Members = append(launch.Members, m.about)
	}
	return &launch
}

// open resolves a target and opens its logs.
func (r *runner) open(j job, attempt int) (*server, error) {
	s := &server{job: j, attempt: attempt, target: r.plan.Target(j.Target)}
	var err error
	if s.spec, err = j.lane.Target(j.Target, r.out.Outputs); err != nil {
		return nil, r.config(s, err)
	}
	name := j.ID
	if attempt > 1 {
		name += fmt.Sprintf("-try%d", attempt)
	}
	if err = r.openMembers(s, name); err != nil {
		return nil, err
	}
	s.launch = result.Launch{ID: attemptID(j.ID, attempt), Repeat: j.repeat, Target: j.Target, Attempt: attempt, Log: s.front.about.Log}
	r.emit(s, event.Event{Type: event.LaunchStart, Range: &s.target.Range, Text: "starting " + j.Target})
	return s, nil
}

func (r *runner) config(s *server, err error) error {
	return &ConfigError{Addr: s.Target, Err: err}
}

// emit completes and emits an event about a server.
func (r *runner) emit(s *server, e event.Event) {
	e.Launch, e.Target, e.Repeat, e.Repeats, e.Replaces = s.launch.ID, s.Target, s.repeat, len(r.plan.Repeats), s.replaces
	if e.Addr == "" {
		e.Addr = s.Target
	}
	e.Index, e.Total = r.eta.position()
	e.Elapsed, e.Left = r.eta.estimate()
	r.bus.Emit(e)
}

// bringUp starts a target and waits until it serves.
func (r *runner) bringUp(ctx context.Context, s *server) *fault {
	if err := makeCaches(s.spec); err != nil {
		return newFault(phaseStart, err)
	}
	if err := r.render(ctx, s); err != nil {
		return newFault(phaseStart, err)
	}
	r.beginWithCaches(s)
	s.began = s.lane.Clock.Now()
	for _, wave := range s.spec.Order {
		for _, name := range wave {
			if err := r.start(ctx, s, s.named(name)); err != nil {
				return newFault(phaseStart, err)
			}
		}
		if err := r.awaitReady(ctx, s, wave); err != nil {
			return newFault(phaseReady, err)
		}
	}
	if err := r.sendCanaries(ctx, s); err != nil {
		return newFault(phaseReady, err)
	}
	text := s.Target + " answers"
	switch {
	case s.front.capabilities().Run != nil:
		text = s.Target + " starts with each run"
	case s.front.Spec.URL == "":
		s.launch.Startup = s.lane.Clock.Now().Sub(s.began).Seconds()
		text = fmt.Sprintf("%s is ready after %s", s.Target, short(seconds(s.launch.Startup)))
	}
	r.askPauses(ctx, s) // after start-up was timed, since the query takes time
	s.pausedStart = s.paused
	r.recordGPUMemory(ctx, s)
	r.eta.launched(s.launch.Attempt, s.lane.Clock.Now().Sub(s.began).Seconds())
	described := r.describeAll(ctx, s)
	r.emit(s, event.Event{Type: event.LaunchReady, Started: s.snapshot(), Describe: described, Text: text})
	return nil
}

// render reserves the ports of a launch, renders its processes, and prepares what they need.
func (r *runner) render(ctx context.Context, s *server) error {
	if s.spec.Render == nil { // it already runs
		return nil
	}
	ports, err := r.takePorts(s)
	if err != nil {
		return err
	}
	processes, err := s.spec.Render(s.launch.ID, ports)
	if err != nil {
		return r.config(s, err)
	}
	for _, m := range s.members {
		m.process = processes[m.Name]
	}
	return r.prepare(ctx, s)
}

// takePorts reserves the ports that the processes need. It first holds those that the file sets, so that they are not
// chosen for others.
func (r *runner) takePorts(s *server) (map[kv.Port]int, error) {
	ports := map[kv.Port]int{}
	for _, need := range s.spec.Ports {
		if need.Fixed != 0 {
			ports[need.Port] = need.Fixed
			s.releases = append(s.releases, s.lane.Ports.Hold(need.Fixed, need.Count))
		}
	}
	for _, need := range s.spec.Ports {
		if need.Fixed != 0 {
			continue
		}
		port, release, err := s.lane.Ports.TakeRow(localhost, need.Count, need.Spacing)
		if err != nil {
			return nil, err
		}
		ports[need.Port] = port
		s.releases = append(s.releases, release)
	}
	return ports, nil
}

// release releases the ports and stops watching for pauses.
func (s *server) release() {
	for _, release := range s.releases {
		release()
	}
}

// prepare gets what the members need, outside their start-up time. A failure, such as a registry that is down, is not
// the server's fault.
func (r *runner) prepare(ctx context.Context, s *server) error {
	told := false
	for _, m := range s.members {
		prepare := m.prepare()
		if prepare == nil {
			continue
		}
		if !told {
			told = true
			r.emit(s, event.Event{Type: event.LaunchState, State: steps.StatePreparing, Text: s.Target + ": " + steps.StatePreparing})
		}
		if err := prepare(ctx, m.process.Process); err != nil {
			return &machineError{err}
		}
	}
	return nil
}

// sendCanaries sends requests through the front until every pair of servers has been used. So no handshake falls into a
// run, and a failing one is detected before it.
func (r *runner) sendCanaries(ctx context.Context, s *server) error {
	if s.spec.Canaries == 0 {
		return nil
	}
	ctx, cancel := s.while(ctx)
	defer cancel()
	ctx, stop := context.WithTimeoutCause(ctx, s.front.Spec.Readiness().Timeout, errNotReady)
	defer stop()
	r.reached(s, s.front, statePairs)
	for n := range s.spec.Canaries {
		err := s.canary(ctx, n)
		switch {
		case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errNotReady):
			return context.Cause(ctx)
		case err != nil:
			return &memberError{s.front, fmt.Errorf("%w (%d of %d): %w", errCanary, n+1, s.spec.Canaries, err)}
		}
	}
	return nil
}

// canaryTries is how often a request between a pair may fail before the pair counts as broken. More attempts would make
// a broken handshake look like a slow start.
const canaryTries = 3

// canary sends one request through the front, again if it fails.
func (s *server) canary(ctx context.Context, n int) error {
	pause := s.front.Spec.Readiness().Interval
	for try := 1; ; try++ {
		err := s.spec.Canary(ctx, s.front.endpoint, n)
		if err == nil || try == canaryTries || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// statePairs is the state of a deployment whose servers are ready and connect to each other.
const statePairs = "pairs"

// while returns a context that ends when a started member ends.
func (s *server) while(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	for _, m := range s.members {
		if m.running == nil {
			continue
		}
		go func() {
			select {
			case <-m.running.Done():
				cancel(&memberError{m, errDied})
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

// within returns the context of while with the benchmark's timeout for a run; late is the cause of the timeout.
func (s *server) within(ctx context.Context, bm plan.Benchmark, late error) (context.Context, context.CancelFunc) {
	ctx, cancel := s.while(ctx)
	if bm.Timeout <= 0 {
		return ctx, cancel
	}
	ctx, stop := context.WithTimeoutCause(ctx, seconds(bm.Timeout), late)
	return ctx, func() { stop(); cancel() }
}

// describeAll asks every member for a description. The descriptions of a deployment's members are merged for the
// target, prefixed with their names.
func (r *runner) describeAll(ctx context.Context, s *server) map[string]string {
	all := map[string]string{}
	for _, m := range s.members {
		r.describe(ctx, s, m)
		for k, v := range m.about.Describe {
			if !m.alone {
				k = m.Name + "/" + k
			}
			all[k] = v
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}
