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
	alone   bool // it is the whole target
	process Process
	log     *store.Log
	output  *output      // what it writes, on its way to the log
	running steps.Server // nil until it runs
	began   time.Time    // when it was started
	// paused returns how the member was paused since the last call; nil if its place cannot tell.
	paused   func(context.Context) (string, error)
	endpoint steps.Endpoint
	about    result.Member // what the document says of it
}

// label names the member for people: the target itself where it is all of it.
func (m *member) label(target string) string {
	if m.alone {
		return target
	}
	return target + " " + m.Name
}

// openMembers opens the log of every member, in the order of their start.
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

// logErr is the first error of writing a log.
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

// servers are the members that are measured, in the order of their start.
func (s *server) servers() []*member {
	var out []*member
	for _, m := range s.members {
		if m.isServer() {
			out = append(out, m)
		}
	}
	return out
}

// start starts a member's process or container, or attaches to a server that answers
// already.
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

// awaitReady waits until all members of a wave are ready. It returns as soon as one of
// them cannot become so, or any member of the target ends: the others would wait for it
// in vain.
func (r *runner) awaitReady(ctx context.Context, s *server, wave []string) error {
	ctx, cancel := s.while(ctx)
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	each(wave, func(name string) {
		if err := r.awaitMember(ctx, s, s.named(name)); err != nil {
			fail(err) // the first counts: what the others say then follows from it
		}
	})
	return context.Cause(ctx)
}

// patientLooks is how often in a row a server that runs already may refuse to answer. A
// server that is started here is another matter: what is in front of it can come up first.
const patientLooks = 3

// again counts the looks in a row that a server has refused.
func again(before int, err error) int {
	if _, ok := errors.AsType[*steps.RefusedError](err); ok {
		return before + 1
	}
	return 0
}

// awaitMember polls until a member serves, the context ends, or no time is left.
func (r *runner) awaitMember(ctx context.Context, s *server, m *member) error {
	ready := m.Spec.Readiness()
	ctx, cancel := context.WithTimeoutCause(ctx, ready.Timeout, errNotReady)
	defer cancel()
	tick := time.NewTicker(ready.Interval)
	defer tick.Stop()
	state, why, refused := "", error(nil), 0
	for {
		now, ok, err := r.poll(ctx, m, ready)
		// A look that the end of the time cut off says nothing about the server: the one
		// before it does.
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
		if refused = again(refused, err); m.Spec.URL != "" && refused == patientLooks {
			return &memberError{m, fmt.Errorf("%w: %w", errRefused, err)}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			cause := context.Cause(ctx)
			if errors.Is(cause, errNotReady) {
				return &memberError{m, fmt.Errorf("%w (%s; last state %q: %w)", errNotReady, ready.Timeout, state, cmp.Or(why, errors.New("no error")))}
			}
			return cause
		}
	}
}

// reached notes a state of a starting member and emits its event.
func (r *runner) reached(s *server, m *member, state string) {
	m.about.States = append(m.about.States, result.State{Name: state, At: s.lane.Clock.Now().Sub(s.began).Seconds()})
	shown := state
	if !m.alone {
		shown = m.Name + " " + state
	}
	r.emit(s, event.Event{Type: event.LaunchState, State: shown, Text: m.label(s.Target) + ": " + state})
}

// poll is one look at a member, bounded so that a connection that hangs costs one look.
func (r *runner) poll(ctx context.Context, m *member, ready steps.Readiness) (string, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	return m.Engine.Ready(ctx, m.endpoint, ready)
}

// describe asks the launcher and the member what it is. That it does not say is no
// failure.
func (r *runner) describe(ctx context.Context, s *server, m *member) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	said, err := m.Engine.Describe(ctx, m.endpoint)
	if err != nil {
		r.warn(fmt.Sprintf("%s does not describe itself: %v", m.label(s.Target), err))
	}
	if declared, own := m.Spec.EngineVersion(), said["version"]; !sameRelease(declared, own) &&
		r.first(r.warned, "version of "+m.label(s.Target)) {
		r.warn(fmt.Sprintf("%s says that it is version %s, and the file declares %s: arguments were checked against that one; correct version",
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

// capabilities returns what the process of a member can be asked, nothing until it runs.
func (m *member) capabilities() steps.ServerCapabilities {
	if m.running == nil {
		return steps.ServerCapabilities{}
	}
	return m.running.Capabilities()
}

// sameRelease reports whether two versions of an engine are of one release, as far as both
// are known.
func sameRelease(declared, own string) bool {
	return !steps.IsRelease(declared) || !steps.IsRelease(own) || steps.CompareReleases(declared, own) == 0
}
