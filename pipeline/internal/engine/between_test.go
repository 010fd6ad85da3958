package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
)

// slowReset is an engine whose servers take a while to clear their caches.
type slowReset struct {
	fakeEngine
	takes time.Duration
}

func (e slowReset) Reset(context.Context, steps.Endpoint) error {
	time.Sleep(e.takes)
	return nil
}

// Nothing waits between runs, but for what the server takes to clear its caches, and each run has what
// went by: from the last answer before it in the launch to its own first request.
func TestNothingWaitsBetweenRuns(t *testing.T) {
	for _, takes := range []time.Duration{0, 300 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			p := makePlan(t, []string{base, head}, []float64{1, 2, 4}, 2)
			s := newSession(t, p)
			s.o.Target = func(addr string, o config.Outputs) (engine.TargetSpec, error) {
				spec, err := s.w.target(addr, o)
				spec.Members[0].Engine = slowReset{fakeEngine{s.w}, takes}
				return spec, err
			}
			s.o.Load = func(ctx context.Context, o load.Options) (load.Result, error) {
				first := time.Now()
				got, err := s.w.load(ctx, o)
				got.First, got.Last = first, time.Now()
				return got, err
			}
			for _, l := range s.run(t, t.Context()).Launched {
				for i, run := range l.Runs {
					want := takes.Seconds()
					if i == 0 {
						want = 0 // its server was started, not left waiting
					}
					if run.Run.Between != want {
						t.Errorf("%s, run %d: %g s went by, want %g", l.ID, i+1, run.Run.Between, want)
					}
				}
			}
		})
	}
}
