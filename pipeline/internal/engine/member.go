package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/process"
)

// member is one process of one start of a target.
type member struct {
	*Member
	alone   bool // it is the only member of the target
	process Process
	log     *store.Log
	output  *output      // writes to the log and parses the output
	running steps.Server // nil until it runs
	began   time.Time    // when it was started
	// paused returns why the member was paused since the last call; nil if its place does not report pauses.
	paused   func(context.Context) (string, error)
	endpoint steps.Endpoint
	about    result.Member // its description in the document
}

// label returns the name of the member in messages: the target's name if it is the only one.
func (m *member) label(target string) string {
	if m.alone {
		return target
	}
	return target + " " + m.Name
}

// openMembers opens the log of every member, in start order.
func (r *runner) openMembers(s *server, log string) error {
	for _, wave := range s.spec.Order {
		for _, name := range wave {
			spec := s.spec.member(name)
			if spec == nil {
				return fmt.Errorf("engine: %s has no member %q", s.Target, name)
			}
			m := &member{Member: spec, alone: s.spec.alone()}
			file := log
			if !m.alone {
				file += "-" + name
			}
			var err error
			if m.log, err = r.o.Store.Log(file); err != nil {
				return errors.Join(err, s.closeLogs())
			}
			m.output = newOutput(m.log, m.Engine, s.lane.Clock.Now)
			if s.spec.Transfer != nil && m.isServer() {
				m.output.tells = s.spec.Transfer.Signals(m.Spec.GPUs)
			}
			m.about = result.Member{Name: name, Role: spec.Role, Log: m.log.Path()}
			s.members = append(s.members, m)
			if name == s.spec.Front {
				s.front = m
			}
		}
	}
	if s.front == nil {
		return errors.Join(fmt.Errorf("engine: %s has no front", s.Target), s.closeLogs())
	}
	return nil
}

func (s *server) closeLogs() error {
	var errs []error
	for _, m := range s.members {
		errs = append(errs, m.log.Close())
	}
	return errors.Join(errs...)
}

// logErr returns the first error of writing a log.
func (s *server) logErr() error {
	for _, m := range s.members {
		if err := m.log.Err(); err != nil {
			return err
		}
	}
	return nil
}

// named returns the started member with a name.
func (s *server) named(name string) *member {
	return s.members[slices.IndexFunc(s.members, func(m *member) bool { return m.Name == name })]
}

// servers returns the members that are measured, in start order.
func (s *server) servers() []*member {
	var out []*member
	for _, m := range s.members {
		if m.isServer() {
			out = append(out, m)
		}
	}
	return out
}

// start starts a member's process or container, or attaches to a server that already runs.
func (r *runner) start(ctx context.Context, s *server, m *member) error {
	m.began = s.lane.Clock.Now()
	if m.Spec.URL != "" {
		m.running = process.NewAttached(strings.TrimRight(m.Spec.URL, "/"))
	} else {
		running, err := m.Launcher.Start(ctx, m.process.Process, m.output)
		if errors.Is(err, steps.ErrUnsupported) {
			return r.config(s, err)
		}
		if err != nil {
			return &memberError{m, err}
		}
		m.running = running
	}
	r.recordApplied(s, m)
	s.followPauses(ctx, m)
	m.endpoint = steps.Endpoint{BaseURL: m.running.BaseURL(), Model: servedName(m.Spec)}
	if m.process.ReadyURL != "" {
		m.endpoint.BaseURL = m.process.ReadyURL
	}
	if key := m.Spec.APIKey; key != "" {
		m.endpoint.Headers = map[string]string{"Authorization": "Bearer " + key}
	}
	return nil
}

func servedName(spec steps.ServerSpec) string {
	if spec.ServedName != "" {
		return spec.ServedName
	}
	return spec.Model
}

// awaitReady waits until all members of a wave are ready. It returns as soon as one of them cannot become ready or any
// member of the target ends, since the others would wait in vain.
func (r *runner) awaitReady(ctx context.Context, s *server, wave []string) error {
	ctx, cancel := s.while(ctx)
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	await := func(name string) {
		if err := r.awaitMember(ctx, s, s.named(name)); err != nil {
			fail(err) // the first error causes the others
		}
	}
	if !r.o.InTurn {
		each(wave, await)
		return context.Cause(ctx)
	}
	for i := 0; i < len(wave) && ctx.Err() == nil; i++ {
		await(wave[i])
	}
	return context.Cause(ctx)
}

const (
	// patientLooks limits the consecutive refusals of a server.
	patientLooks = 3
	// startPatience limits the time in which a server that is started here refuses requests although it lists its models, or has a
	// certificate or protocol that this machine does not know: a proxy in front of it can have a stand-in for its certificate
	// at first. Otherwise it may refuse until its timeout before it lists its models, since the proxy can start first.
	startPatience = 15 * time.Second
)

// refusals counts the consecutive refusals of a server.
type refusals struct {
	n     int
	since time.Time // of the first one of those in a row whose time is limited, zero without
}

// final adds the result of a poll and reports whether waiting longer is in vain.
func (f *refusals) final(spec steps.ServerSpec, state string, err error, now time.Time) bool {
	of, ok := errors.AsType[*steps.RefusedError](err)
	if !ok {
		*f = refusals{}
		return false
	}
	f.n++
	switch {
	case state != steps.StateModels && !of.Ours:
		f.since = time.Time{}
	case f.since.IsZero():
		f.since = now
	}
	return f.n >= patientLooks && (spec.URL != "" || !f.since.IsZero() && now.Sub(f.since) >= startPatience)
}

// blame returns the error of a member that did not become ready. It is this machine's fault if the last poll shows that it
// cannot speak with the server, and otherwise the member's.
func blame(m *member, target string, poll, theirs error) error {
	if of, ok := errors.AsType[*steps.RefusedError](poll); ok && of.Ours {
		return &machineError{fmt.Errorf("%s: %w", m.label(target), poll)}
	}
	return &memberError{m, theirs}
}

// wasReady reports whether a target has become ready in this run. A server that runs already and never did is not there:
// nothing here would start it, and its absence says nothing of a change.
func (r *runner) wasReady(target string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(slices.Concat(r.out.Launched, r.out.open), func(l Launched) bool {
		return l.Target == target && len(l.Runs) > 0 && slices.ContainsFunc(l.Attempts, func(a result.Launch) bool {
			return a.Failure == nil || a.Failure.Phase == phaseRun
		})
	})
}

// silence returns the time after which a member that is not ready has its last answer shown. It is short for a server that
// already runs, because such a server has nothing to load.
func silence(spec steps.ServerSpec) time.Duration {
	if spec.URL != "" {
		return 5 * time.Second
	}
	return time.Minute
}

// firstPause is the pause between the first polls of a server that starts: some engines are ready in a tenth of a second.
const firstPause = 50 * time.Millisecond

// pollPause returns the pause before the next poll of a server. A fiftieth of the time since its launch resolves start-up
// times to 2 %. A server that runs already has no start-up time, so it is polled at its interval.
func pollPause(spec steps.ServerSpec, waited time.Duration) time.Duration {
	longest := spec.Readiness().Interval
	if spec.URL != "" {
		return longest
	}
	return min(longest, max(firstPause, waited/50))
}

// awaitMember polls until a member serves, the context ends, or its timeout passes.
func (r *runner) awaitMember(ctx context.Context, s *server, m *member) error {
	ready := m.Spec.Readiness()
	ctx, cancel := context.WithTimeoutCause(ctx, ready.Timeout, errNotReady)
	defer cancel()
	state, why, refused := "", error(nil), refusals{}
	tell := silence(m.Spec)
	for {
		now, ok, err := r.poll(ctx, m, ready)
		// A poll that the timeout cut off shows nothing about the server, so the previous result is kept.
		if ok || why == nil || ctx.Err() == nil {
			why = err
			if now != state && now != "" {
				state = now
				r.reached(s, m, state)
			}
		}
		if ok {
			m.about.Startup = s.lane.Clock.Now().Sub(m.began).Seconds()
			m.about.Figures = m.output.figures()
			return nil
		}
		if errors.Is(err, steps.ErrWrongModel) {
			return &memberError{m, err}
		}
		waited := s.lane.Clock.Now().Sub(m.began)
		if waited >= tell && ctx.Err() == nil {
			tell = 2 * waited
			r.show(s, m, fmt.Sprintf("not ready after %s: %v", waited.Round(time.Second), cmp.Or(why, errNoAnswer)))
		}
		if refused.final(m.Spec, now, err, s.lane.Clock.Now()) {
			return blame(m, s.Target, err, fmt.Errorf("%w: %w", errRefused, err))
		}
		if steps.Sleep(ctx, pollPause(m.Spec, waited)) != nil {
			cause := context.Cause(ctx)
			if errors.Is(cause, errNotReady) {
				late := fmt.Errorf("%w (%s; last state %q: %w)", errNotReady, ready.Timeout, state, cmp.Or(why, errNoAnswer))
				if m.Spec.URL != "" && !r.wasReady(s.Target) {
					return &machineError{fmt.Errorf("%s: %w: start it before the run, or correct its url", m.label(s.Target), late)}
				}
				return blame(m, s.Target, why, late)
			}
			return cause
		}
	}
}

// reached records a state of a starting member and emits its event.
func (r *runner) reached(s *server, m *member, state string) {
	m.about.States = append(m.about.States, result.State{Name: state, At: s.lane.Clock.Now().Sub(s.began).Seconds()})
	r.show(s, m, state)
}

// show emits the event of a state of a starting member.
func (r *runner) show(s *server, m *member, state string) {
	shown := state
	if !m.alone {
		shown = m.Name + " " + state
	}
	r.emit(s, event.Event{Type: event.LaunchState, State: shown, Text: m.label(s.Target) + ": " + state})
}

// poll checks once whether a member is ready. Its timeout bounds the cost of a connection that hangs.
func (r *runner) poll(ctx context.Context, m *member, ready steps.Readiness) (string, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	return m.Engine.Ready(ctx, m.endpoint, ready)
}

// describe asks the launcher and the member for a description. A missing description is not a failure.
func (r *runner) describe(ctx context.Context, s *server, m *member) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	said, err := m.Engine.Describe(ctx, m.endpoint)
	if err != nil {
		r.warn(fmt.Sprintf("%s does not describe itself: %v", m.label(s.Target), err))
	}
	if declared, own := m.Spec.EngineVersion(), said["version"]; !sameRelease(declared, own) &&
		r.first(r.warned, "version of "+m.label(s.Target)) {
		r.warn(fmt.Sprintf("%s reports version %s, and the file declares %s, against which its arguments were checked; correct version",
			m.label(s.Target), r.o.Redact.String(own), declared))
	}
	masked := make(map[string]string, len(said))
	for k, v := range said {
		masked[k] = r.o.Redact.String(v)
	}
	if describe := m.capabilities().Describe; describe != nil {
		for k, v := range describe() {
			masked[k] = r.o.Redact.String(v)
		}
	}
	if len(masked) > 0 {
		m.about.Describe = masked
	}
}

// capabilities returns the capabilities of a member's process, none until it runs.
func (m *member) capabilities() steps.ServerCapabilities {
	if m.running == nil {
		return steps.ServerCapabilities{}
	}
	return m.running.Capabilities()
}

// sameRelease reports whether two versions of an engine belong to one release. It returns true if one of them is
// unknown.
func sameRelease(declared, own string) bool {
	return !steps.IsRelease(declared) || !steps.IsRelease(own) || steps.CompareReleases(declared, own) == 0
}
