package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// answering is a server that always gives the same answer.
type answering struct {
	fakeEngine
	state string
	err   error
}

func (a answering) Ready(context.Context, steps.Endpoint, steps.Readiness) (string, bool, error) {
	return a.state, false, a.err
}

// TestAttachedServerIsNotWaitedFor: who says that a server runs is answered quickly, and in the
// server's own words, that it does not serve. One that is not there says nothing of a change, and is waited for once.
func TestAttachedServerIsNotWaitedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		err   error
		set   time.Duration
		most  time.Duration // for all launches together
		class string        // "" for a failure of the infrastructure
	}{
		"refuses": {&steps.RefusedError{Err: errors.New("GET /v1/models: status 404: no route, key top-secret")}, 0,
			20 * time.Second, "refused"},
		"does not answer": {errors.New("connection refused"), 0, 65 * time.Second, ""},
		"file's own time": {errors.New("connection refused"), 2 * time.Second, 5 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSession(t, makePlan(t, []string{base, head}, []float64{2}, 4))
				s.o.Target = func(addr string, _ config.Outputs) (engine.TargetSpec, error) {
					return single(engine.Member{
						Name: addr, Role: result.RoleServer, Engine: answering{fakeEngine{s.w}, steps.StateListening, tt.err},
						Launcher: fakeLauncher{s.w, addr},
						Spec:     steps.ServerSpec{Addr: addr, URL: "http://127.0.0.1:1", Ready: steps.Readiness{Timeout: tt.set}},
					}), nil
				}
				began := time.Now()
				out := s.run(t, t.Context())
				if took := time.Since(began); took > tt.most {
					t.Errorf("took %v, want at most %v", took, tt.most)
				}
				said := out.Reason
				failure := out.Launched[0].Attempts[0].Failure
				if (failure == nil) != (tt.class == "") || out.Status != result.StatusFailed {
					t.Fatalf("status %s, failure %+v", out.Status, failure)
				}
				if failure != nil {
					said = failure.Evidence
					if failure.Class != tt.class {
						t.Errorf("class %s, want %s", failure.Class, tt.class)
					}
				}
				if words := tt.err.Error(); !strings.Contains(said, strings.ReplaceAll(words, "top-secret", "(redacted)")) {
					t.Errorf("%q does not say %q", said, words)
				}
			})
		})
	}
}

// TestRefusingServerIsNotWaitedFor: a started server that lists its models and refuses the canary does not use up its
// start timeout. One that refuses earlier may have a proxy in front of it that started first.
func TestRefusingServerIsNotWaitedFor(t *testing.T) {
	refuses := &steps.RefusedError{Err: errors.New("canary request: the answer is not a completion")}
	for name, tt := range map[string]struct {
		state       string
		err         error
		least, most time.Duration // of all launches together
		class       string
	}{
		"a stream that nobody asked for": {steps.StateModels, refuses, 15 * time.Second, 2 * time.Minute, "refused"},
		"a proxy without its server":     {steps.StateHealthy, refuses, 10 * time.Minute, time.Hour, "not_ready"},
		"a server that loads":            {steps.StateModels, errors.New("status 503"), 10 * time.Minute, time.Hour, "not_ready"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSession(t, makePlan(t, []string{base, head}, []float64{2}, 4))
			s.o.Target = func(addr string, _ config.Outputs) (engine.TargetSpec, error) {
				return single(engine.Member{
					Name: addr, Role: result.RoleServer, Engine: answering{fakeEngine{s.w}, tt.state, tt.err}, Launcher: fakeLauncher{s.w, addr},
					Spec: steps.ServerSpec{Addr: addr, Ready: steps.Readiness{Timeout: 5 * time.Minute}},
				}), nil
			}
			began := time.Now()
			a := s.run(t, t.Context()).Launched[0].Attempts[0]
			if a.Failure == nil || a.Failure.Class != tt.class {
				t.Fatalf("%s: %+v", name, a.Failure)
			}
			if took := time.Since(began); took < tt.least || took > tt.most {
				t.Errorf("%s: took %v, want %v to %v", name, took, tt.least, tt.most)
			}
		})
	}
}

// TestForeignProtocolIsNoRegression: a certificate that this machine does not trust ends the run as a failure of the
// infrastructure, also where the head has it.
func TestForeignProtocolIsNoRegression(t *testing.T) {
	for _, spec := range []steps.ServerSpec{
		{URL: "https://127.0.0.1:1"}, {}, {Ready: steps.Readiness{Timeout: 4 * time.Second}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSession(t, makePlan(t, []string{base, head}, []float64{2}, 4))
			untrusted := &steps.RefusedError{Err: errors.New("tls: failed to verify certificate"), Ours: true}
			s.o.Target = func(addr string, _ config.Outputs) (engine.TargetSpec, error) {
				m := engine.Member{Name: addr, Role: result.RoleServer, Engine: fakeEngine{s.w}, Launcher: fakeLauncher{s.w, addr}}
				m.Spec = steps.ServerSpec{Addr: addr}
				if addr == head {
					m.Spec.URL, m.Spec.Ready = spec.URL, spec.Ready
					m.Engine = answering{fakeEngine{s.w}, steps.StateListening, untrusted}
				}
				return single(m), nil
			}
			out := s.run(t, t.Context())
			if out.Status != result.StatusFailed || !strings.Contains(out.Reason, "verify certificate") {
				t.Errorf("%+v: status %s, %s", spec, out.Status, out.Reason)
			}
			for _, l := range out.Launched {
				for _, a := range l.Attempts {
					if a.Failure != nil {
						t.Errorf("%+v: %+v", spec, a.Failure)
					}
				}
			}
		})
	}
}

// settling is a server whose proxy has a stand-in for its certificate at first.
type settling struct {
	fakeEngine
	until time.Time
}

func (e settling) Ready(ctx context.Context, ep steps.Endpoint, r steps.Readiness) (string, bool, error) {
	if time.Now().Before(e.until) {
		return steps.StateStarting, false, &steps.RefusedError{Err: errors.New("tls: failed to verify certificate"), Ours: true}
	}
	return e.fakeEngine.Ready(ctx, ep, r)
}

// TestStandInCertificate: a server that is started here may have another certificate in its first seconds.
func TestStandInCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, makePlan(t, []string{base, head}, []float64{2}, 2))
		s.o.Target = func(addr string, _ config.Outputs) (engine.TargetSpec, error) {
			return single(engine.Member{
				Name: addr, Role: result.RoleServer, Engine: settling{fakeEngine{s.w}, time.Now().Add(5 * time.Second)},
				Launcher: fakeLauncher{s.w, addr}, Spec: steps.ServerSpec{Addr: addr},
			}), nil
		}
		if out := s.run(t, t.Context()); out.Status != result.StatusComplete {
			t.Errorf("status %s, %s", out.Status, out.Reason)
		}
	})
}

// leaving is a server that is ready at its first looks, and answers nothing later.
type leaving struct {
	fakeEngine
	looks *int
}

func (e leaving) Ready(context.Context, steps.Endpoint, steps.Readiness) (string, bool, error) {
	if *e.looks--; *e.looks < 0 {
		return steps.StateStarting, false, errors.New("connection refused")
	}
	return steps.StateModels, true, nil
}

// TestAttachedServerThatLeaves: a server that was ready and then is not is a failure of that server, since the head may
// have ended it.
func TestAttachedServerThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, makePlan(t, []string{base, head}, []float64{2}, 4))
		looks := 2 // before the run of the first repeat, and after it
		s.o.Target = func(addr string, _ config.Outputs) (engine.TargetSpec, error) {
			m := engine.Member{Name: addr, Role: result.RoleServer, Engine: fakeEngine{s.w}, Launcher: fakeLauncher{s.w, addr}}
			m.Spec = steps.ServerSpec{Addr: addr}
			if addr == head {
				m.Spec.URL, m.Spec.Ready = "http://127.0.0.1:1", steps.Readiness{Timeout: 10 * time.Second}
				m.Engine = leaving{fakeEngine{s.w}, &looks}
			}
			return single(m), nil
		}
		out := s.run(t, t.Context())
		failed := 0
		for _, l := range out.Launched {
			for _, a := range l.Attempts {
				if a.Failure == nil {
					continue
				}
				if failed++; l.Target != head || a.Failure.Class == "not_ready" && l.Repeat == 1 {
					t.Errorf("%s in repeat %d: %+v", l.Target, l.Repeat, a.Failure)
				}
			}
		}
		if failed < 2 {
			t.Errorf("%d failures, %s: %s", failed, out.Status, out.Reason)
		}
	})
}
