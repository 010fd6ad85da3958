package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// Every run of a launch has the metrics of the launch, in the run's own time.
func TestMetricsOfTheLaunch(t *testing.T) {
	for _, scale := range []float64{0, 5} {
		synctest.Test(t, func(t *testing.T) {
			s := watchedSession(t, scale, never)
			s.o.Machine = &fakeMachine{memory: 70e9}
			out := s.run(t, t.Context())
			run, launch := onlyRun(t, out), out.Launched[0].Attempts[0]
			for id, want := range map[string]float64{
				"startup.time": launch.Startup * max(scale, 1), "kv_cache.tokens": 4096, "gpu_memory.used": 70e9,
			} {
				if got := run.Metrics[id]; got != want || want == 0 {
					t.Errorf("scale %v: %s is %v, want %v", scale, id, got, want)
				}
			}
			if launch.Figures[steps.StartGPUBytes] != 70e9 || launch.Figures[steps.StartKVTokens] != 4096 {
				t.Errorf("figures %v", launch.Figures)
			}
		})
	}
}

// A server that reports no figures has no metrics of them.
func TestMetricsThatNobodyTells(t *testing.T) {
	p := makePlan(t, []string{base}, []float64{4}, 1)
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, p)
		run := onlyRun(t, s.run(t, t.Context()))
		for _, id := range []string{"kv_cache.tokens", "gpu_memory.used"} {
			if v, ok := run.Metrics[id]; ok {
				t.Errorf("%s is %v", id, v)
			}
		}
		if run.Metrics["startup.time"] <= 0 {
			t.Errorf("metrics %v", run.Metrics)
		}
	})
}

// fakeRelay adds what its fields say.
type fakeRelay struct {
	steps.Engine
	added map[string]float64
	err   error
}

func (f fakeRelay) Capabilities() steps.EngineCapabilities {
	added := func(context.Context) (map[string]float64, error) { return f.added, f.err }
	return steps.EngineCapabilities{
		MeasureOverhead: func(context.Context, steps.Endpoint) (func(context.Context) (map[string]float64, error), error) {
			return added, nil
		},
	}
}

// What the router of a deployment adds is in every run; a router that does not say it
// is warned of.
func TestAddedByTheRouter(t *testing.T) {
	for _, tt := range []struct {
		relay fakeRelay
		want  float64
		warn  bool
	}{
		{fakeRelay{added: map[string]float64{result.AddedPerChunk + result.AddedP99: 40e-6}}, 40e-6, false},
		{fakeRelay{err: errors.New("status 404")}, 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := groupSession(t, nil)
			g.s.o.Target = func(string, config.Outputs) (engine.TargetSpec, error) {
				spec := g.target()
				router := &spec.Members[3]
				tt.relay.Engine = router.Engine
				router.Engine = tt.relay
				return spec, nil
			}
			out := g.s.run(t, t.Context())
			run := onlyRun(t, out)
			if got := run.Server["router/"+result.AddedPerChunk+result.AddedP99]; got != tt.want {
				t.Errorf("added %v, want %v: %v", got, tt.want, run.Server)
			}
			warned := slices.ContainsFunc(out.Warnings, func(w string) bool { return strings.Contains(w, "router: its metrics cannot be read") })
			if warned != tt.warn {
				t.Errorf("warnings %v", out.Warnings)
			}
		})
	}
}
