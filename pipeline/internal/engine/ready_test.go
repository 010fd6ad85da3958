package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/steps"
)

// loadingEngine refuses its first looks with a status and leaves the others hanging until
// their time is over.
type loadingEngine struct {
	steps.Engine
	refused int
	looks   *int
}

func (loadingEngine) Capabilities() steps.EngineCapabilities { return steps.EngineCapabilities{} }

func (e loadingEngine) Ready(ctx context.Context, _ steps.Endpoint, _ steps.Readiness) (string, bool, error) {
	*e.looks++
	if *e.looks <= e.refused {
		return steps.StateStarting, false, errors.New("status 404")
	}
	<-ctx.Done()
	return steps.StateListening, false, errors.New("cut off")
}

// A server that takes long says with its last answer what it waits for, at first after a minute and then half as often
// each time.
func TestLongStartsAreExplained(t *testing.T) {
	p := makePlan(t, []string{base}, []float64{2}, 1)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.w.behave = func(string, int) behaviour { return behaviour{startup: 4 * time.Minute} }
		resolve := s.o.Target
		s.o.Target = func(addr string, outputs config.Outputs) (engine.TargetSpec, error) {
			spec, err := resolve(addr, outputs)
			spec.Members[0].Spec.Ready.Timeout = 5 * time.Minute
			return spec, err
		}
		s.run(t, t.Context())
		var said []string
		for _, e := range s.events.of(event.LaunchState) {
			said = append(said, e.State)
		}
		want := []string{steps.StateListening, "not ready after 1m1s: 503", "not ready after 2m2s: 503", steps.StateReady}
		if !slices.Equal(said, want) {
			t.Errorf("told %q, want %q", said, want)
		}
		if states := s.events.of(event.LaunchReady)[0].Started.States; len(states) != 2 {
			t.Errorf("states of the launch: %v", states)
		}
	})
}

// The time of a start is known to 2 %, a short one to a twentieth of a second.
func TestStartsAreTimed(t *testing.T) {
	p := makePlan(t, []string{base}, []float64{2}, 1)
	for _, startup := range []time.Duration{120 * time.Millisecond, 3 * time.Second, 17 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := newSession(t, p)
			s.w.behave = func(string, int) behaviour { return behaviour{startup: startup} }
			got := s.run(t, t.Context()).Launched[0].Attempts[0].Startup
			if late := got - startup.Seconds(); late < 0 || late > max(0.05, 0.021*startup.Seconds()) {
				t.Errorf("a start of %s took %.3f s", startup, got)
			}
		})
	}
}

// A server that never becomes ready is reported with its own last answer, not with the
// look that the end of the time cut off, unless it never gave another.
func TestNotReadyTellsTheLastAnswer(t *testing.T) {
	for _, tc := range []struct {
		name    string
		refused int
		want    string
	}{
		{"answered", 3, `last state "starting": status 404`},
		{"never answered", 0, `last state "listening": cut off`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := makePlan(t, []string{base}, []float64{2}, 1)
			synctest.Test(t, func(t *testing.T) {
				s := newSession(t, p)
				looks := 0
				resolve := s.o.Target
				s.o.Target = func(addr string, outputs config.Outputs) (engine.TargetSpec, error) {
					spec, err := resolve(addr, outputs)
					// Shorter than the limit of one look.
					spec.Members[0].Spec.Ready.Timeout = 30 * time.Second
					spec.Members[0].Engine = loadingEngine{spec.Members[0].Engine, tc.refused, &looks}
					return spec, err
				}
				s.run(t, t.Context())
				failed := s.events.of(event.LaunchFail)
				if len(failed) == 0 || !strings.Contains(failed[0].Failure.Evidence, tc.want) {
					t.Errorf("told %+v, want %s", failed, tc.want)
				}
			})
		})
	}
}
