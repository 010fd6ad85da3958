package engine_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// pullingLauncher has something to do before a start, and its servers say what they are.
type pullingLauncher struct {
	steps.Launcher
	prepare func(context.Context, steps.Process) error
	host    string
}

func (l *pullingLauncher) Capabilities() steps.LauncherCapabilities {
	return steps.LauncherCapabilities{Prepare: l.prepare}
}

func (l *pullingLauncher) Start(ctx context.Context, p steps.Process, log io.Writer) (steps.Server, error) {
	l.host = p.Host
	s, err := l.Launcher.Start(ctx, p, log)
	if err != nil {
		return nil, err
	}
	return describedServer{s}, nil
}

type describedServer struct{ steps.Server }

func (describedServer) Capabilities() steps.ServerCapabilities {
	return steps.ServerCapabilities{Describe: func() map[string]string {
		return map[string]string{"container.image_id": "sha256:1", "container.note": "top-secret"}
	}}
}

// pulling puts such launchers before all targets, with servers that have an image.
func pulling(s *session, pull func(context.Context) error) *pullingLauncher {
	l := &pullingLauncher{prepare: func(ctx context.Context, _ steps.Process) error { return pull(ctx) }}
	resolve := s.o.Target
	s.o.Target = func(addr string, outputs config.Outputs) (engine.TargetSpec, error) {
		spec, err := resolve(addr, outputs)
		spec.Members[0].Spec.Image = "engine:v1"
		l.Launcher = spec.Members[0].Launcher
		spec.Members[0].Launcher = l
		return spec, err
	}
	return l
}

// The time of a pull is no start-up time, and what the launcher says of a server is
// described with what the server says.
func TestPrepare(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		l := pulling(s, func(context.Context) error { time.Sleep(10 * time.Minute); return nil })
		out := s.run(t, t.Context())
		if out.Status != result.StatusComplete {
			t.Errorf("%s (%s)", out.Status, out.Reason)
		}
		for _, launched := range out.Launched {
			for _, a := range launched.Attempts {
				if a.Startup < 5 || a.Startup > 7 {
					t.Errorf("start-up of %v s for a server that takes 5", a.Startup)
				}
			}
		}
		about := out.Describe[head]
		if about["version"] != "1" || about["container.image_id"] != "sha256:1" || about["container.note"] != event.Mask {
			t.Errorf("described as %v", about)
		}
		if l.host != "0.0.0.0" {
			t.Errorf("a server in a network of its own listens on %s", l.host)
		}
		if states := s.events.of(event.LaunchState); len(states) == 0 || states[0].State != steps.StatePreparing {
			t.Errorf("states %+v", states)
		}
	})
}

// What the machine lacks is not the server's fault: nothing is started, and no side is
// blamed.
func TestTheMachineLacksSomething(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	lacking := errors.New("the registry with top-secret does not answer")
	for name, change := range map[string]func(*session){
		"before anything":   func(s *session) { s.o.Preflight = func(context.Context) error { return lacking } },
		"before one server": func(s *session) { pulling(s, func(context.Context) error { return lacking }) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSession(t, p)
				change(s)
				out := s.run(t, t.Context())
				if out.Status != result.StatusFailed || !strings.Contains(out.Reason, "does not answer") || strings.Contains(out.Reason, "top-secret") {
					t.Errorf("%s (%s)", out.Status, out.Reason)
				}
				if len(s.w.launched) != 0 {
					t.Errorf("launched %v", s.w.launched)
				}
				for _, l := range out.Launched {
					for _, a := range l.Attempts {
						if a.Failure != nil {
							t.Errorf("%s is blamed: %+v", l.Target, a.Failure)
						}
					}
				}
			})
		})
	}
}

// A pull that an interrupt cuts short is an interruption.
func TestInterruptedPull(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		pulling(s, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(errors.New("interrupted by test")) })
		out := s.run(t, ctx)
		if out.Status != result.StatusInterrupted || out.Reason != "interrupted by test" {
			t.Errorf("%s (%s)", out.Status, out.Reason)
		}
	})
}

// A start that the launcher refuses for a cause that the engine's rules know has its class.
func TestRefusedStartHasAClass(t *testing.T) {
	p := makePlan(t, []string{base, head}, []float64{2}, 2)
	for refusal, want := range map[string]string{"the device is out of memory": "oom", "not found": "start_failed"} {
		synctest.Test(t, func(t *testing.T) {
			s := newSession(t, p)
			s.w.behave = both(behaviour{refuse: errors.New(refusal)})
			out := s.run(t, t.Context())
			for _, l := range out.Launched {
				for _, a := range l.Attempts {
					if a.Failure == nil || a.Failure.Class != want || a.Failure.Evidence != refusal {
						t.Errorf("%s: %+v", refusal, a.Failure)
					}
				}
			}
		})
	}
}
