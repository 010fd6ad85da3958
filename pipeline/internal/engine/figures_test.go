package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/servegate/pipeline/pipeline/internal/config"
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
				metricStartup: launch.Startup * max(scale, 1), metricKVTokens: 4096, metricGPUMemory: 70e9,
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
		for _, id := range []string{metricKVTokens, metricGPUMemory} {
			if v, ok := run.Metrics[id]; ok {
				t.Errorf("%s is %v", id, v)
			}
		}
		if run.Metrics[metricStartup] <= 0 {
			t.Errorf("metrics %v", run.Metrics)
		}
	})
}

// The capacity of a deployment is that of all its servers, or not known.
func TestCapacityOfADeployment(t *testing.T) {
	of := func(role string, tokens float64) *member {
		m := &member{Member: &Member{Role: role}}
		if tokens > 0 {
			m.about.Figures = map[string]float64{steps.StartKVTokens: tokens}
		}
		return m
	}
	for _, tt := range []struct {
		members []*member
		want    float64
	}{
		{[]*member{of(steps.RoleProducer, 100), of(steps.RoleConsumer, 50), of(result.RoleRouter, 0)}, 150},
		{[]*member{of(steps.RoleProducer, 100), of(steps.RoleConsumer, 0)}, 0},
	} {
		s := &server{members: tt.members}
		if got := s.kvTokens(); got != tt.want {
			t.Errorf("got %v, want %v", got, tt.want)
		}
	}
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
			g.s.o.Target = func(string, config.Outputs) (TargetSpec, error) {
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

// What a token takes of the KV cache is reported where the servers report their caches' memory.
func TestKVBytesPerToken(t *testing.T) {
	of := func(gpus int, tokens, bytes float64) *member {
		m := &member{Member: &Member{Role: steps.RoleConsumer, Spec: steps.ServerSpec{GPUs: gpus}}}
		m.about.Figures = map[string]float64{steps.StartKVTokens: tokens, steps.StartKVBytes: bytes}
		return m
	}
	for _, tt := range []struct {
		name    string
		members []*member
		want    float64
	}{
		{"alike", []*member{of(1, 1000, 57344e3), of(1, 2000, 114688e3)}, 57344},
		{"one stores its cache in fewer bits", []*member{of(1, 1000, 57344e3), of(1, 1000, 28672e3)}, 28672},
		{"not known how many GPUs, or none", []*member{of(0, 10, 100)}, 10},
		{"memory of one GPU of several", []*member{of(1, 1000, 57344e3), of(2, 2000, 57344e3)}, 0},
		{"memory is not told", []*member{of(1, 1000, 57344e3), of(1, 1000, 0)}, 0},
	} {
		s := &server{members: tt.members}
		if got := s.kvBytesPerToken(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
