package engine_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/counted"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/reports/result"
)

// TestToyWatcher: a watcher is one value. It is called around each run, and its run is void, with its cause, and measured
// again with its pair.
func TestToyWatcher(t *testing.T) {
	const toy = result.VoidCause("toy")
	p := makePlan(t, []string{base, head}, []float64{2}, 1)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		s.w.behave = func(string, int) behaviour {
			return behaviour{paused: func(int) (string, error) { return "", nil }} // its load generator says when it begins
		}
		var calls []string
		s.o.Watchers = []engine.Watch{func(_ context.Context, servers []engine.Attended) engine.Watcher {
			call := func(what string) { calls = append(calls, what+" "+servers[0].Addr) }
			call("watch")
			return engine.Watcher{
				Before: func(context.Context) { call("before") },
				During: func(ctx context.Context, _ time.Duration) { <-ctx.Done(); call("during") },
				After:  func(context.Context, time.Duration) { call("after") },
				Void: func() (result.VoidCause, string) {
					return toy, map[bool]string{true: "a toy fell"}[len(calls) <= 8 && servers[0].Addr == head]
				},
				Tell:  func(run *result.Run) { run.Server = map[string]float64{"toys": 3} },
				Count: func(t *counted.Tally) { t.Add(metric.CounterJoules, 80) },
			}
		}}
		out := s.run(t, t.Context())
		if got := statuses(p, out, head); !slices.Equal(got, []string{"1 void", "1001 ok"}) {
			t.Errorf("head: %v", got)
		}
		void := out.Launched[slices.IndexFunc(out.Launched, func(l engine.Launched) bool { return l.Target == head })].Runs[0].Run
		if void.VoidCause != toy || void.Reason != "a toy fell" || void.Server["toys"] != 3 || void.Metrics["energy.per_output_token"] != 10 {
			t.Errorf("%+v", void)
		}
		if diff := cmp.Diff([]string{"watch " + base, "before " + base, "during " + base, "after " + base}, calls[:4]); diff != "" {
			t.Error(diff)
		}
	})
}
