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

// answering is a server that runs already and always says the same.
type answering struct {
	fakeEngine
	err error
}

func (a answering) Ready(context.Context, steps.Endpoint, steps.Readiness) (string, bool, error) {
	return steps.StateListening, false, a.err
}

// TestAttachedServerIsNotWaitedFor: who says that a server runs is answered quickly, and in the
// server's own words, that it does not serve.
func TestAttachedServerIsNotWaitedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		err   error
		set   time.Duration
		most  time.Duration // for all launches together
		class string
	}{
		"refuses": {&steps.RefusedError{Err: errors.New("GET /v1/models: status 404: no route, key top-secret")}, 0,
			20 * time.Second, "refused"},
		"does not answer": {errors.New("connection refused"), 0, 5 * time.Minute, "not_ready"},
		"file's own time": {errors.New("connection refused"), 2 * time.Second, 20 * time.Second, "not_ready"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSession(t, makePlan(t, []string{base, head}, []float64{2}, 4))
				s.o.Target = func(addr string, _ config.Outputs) (engine.TargetSpec, error) {
					return single(engine.Member{
						Name: addr, Role: result.RoleServer, Engine: answering{fakeEngine{s.w}, tt.err}, Launcher: fakeLauncher{s.w, addr},
						Spec: steps.ServerSpec{Addr: addr, URL: "http://127.0.0.1:1", Ready: steps.Readiness{Timeout: tt.set}},
					}), nil
				}
				began := time.Now()
				out := s.run(t, t.Context())
				if took := time.Since(began); took > tt.most {
					t.Errorf("took %v, want at most %v", took, tt.most)
				}
				failure := out.Launched[0].Attempts[0].Failure
				if out.Status != result.StatusFailed || failure == nil || failure.Class != tt.class {
					t.Fatalf("status %s, failure %+v", out.Status, failure)
				}
				if words := tt.err.Error(); !strings.Contains(failure.Evidence, strings.ReplaceAll(words, "top-secret", "(redacted)")) {
					t.Errorf("%q does not say %q", failure.Evidence, words)
				}
			})
		})
	}
}
