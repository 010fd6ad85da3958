package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
)

// watched is a fake engine whose servers report what they do: 100 tokens a second, always.
type watched struct {
	fakeEngine
	scrapes *int
	fail    func(n int) error // of the n-th scrape, from 1
}

// errHangs makes a scrape take as long as it may.
var errHangs = errors.New("hangs")

func (e watched) Capabilities() steps.EngineCapabilities {
	return steps.EngineCapabilities{Observer: e}
}

func (e watched) Observe(ctx context.Context, ep steps.Endpoint) (steps.Observation, error) {
	*e.scrapes++
	if err := e.fail(*e.scrapes); err != nil {
		if errors.Is(err, errHangs) { // takes as long as it is given
			<-ctx.Done()
		}
		return steps.Observation{}, err
	}
	s := e.w.at(ep.BaseURL)
	tokens := 100 * time.Since(s.ready).Seconds()
	return steps.Observation{
		At: time.Now(), Gauges: map[string]float64{steps.SeriesRunning: 3},
		Counters: map[string]float64{metric.CounterGenerationTokens: tokens, "reset": -tokens, metric.CounterPrefixQueries: tokens,
			metric.CounterPrefixHits: tokens / 2},
	}, nil
}

func (watched) LogPoint(line string) (map[string]float64, bool) {
	var n float64
	_, err := fmt.Sscanf(line, "running %g", &n)
	return map[string]float64{steps.SeriesRunning: n}, err == nil
}

func (watched) StartFacts(log []string) map[string]float64 {
	for _, line := range log {
		var n float64
		if _, err := fmt.Sscanf(line, "capacity %g", &n); err == nil {
			return map[string]float64{steps.StartKVTokens: n}
		}
	}
	return nil
}

// watchedSession is a session with one target whose engine is watched. Its load lasts 10 s
// after a warm-up of 5.
func watchedSession(t *testing.T, timeScale float64, fail func(n int) error) *session {
	t.Helper()
	p := makePlan(t, []string{base}, []float64{4}, 1)
	p.TimeScale = timeScale
	if timeScale > 1 {
		p.Simulated = "process"
	}
	s, scrapes := newSession(t, p), 0
	s.w.behave = func(string, int) behaviour { return behaviour{log: "capacity 4096"} }
	s.o.Target = func(addr string, outputs config.Outputs) (engine.TargetSpec, error) {
		spec, err := s.w.target(addr, outputs)
		spec.Members[0].Engine = watched{fakeEngine{s.w}, &scrapes, fail}
		return spec, err
	}
	s.o.Load = func(ctx context.Context, o load.Options) (load.Result, error) {
		time.Sleep(5 * time.Second)
		o.Begin(ctx)
		start := time.Now()
		got, err := s.w.load(ctx, o)
		got.Start = start
		return got, err
	}
	return s
}

func onlyRun(t *testing.T, out *engine.Outcome) result.Run {
	t.Helper()
	if len(out.Launched) != 1 || len(out.Launched[0].Runs) != 1 {
		t.Fatalf("launched %+v", out.Launched)
	}
	return out.Launched[0].Runs[0].Run
}

func never(int) error { return nil }

func TestObserved(t *testing.T) {
	for _, tt := range []struct {
		scale      float64
		points     int
		throughput float64 // in the run's own time
	}{{0, 11, 100}, {5, 50, 20}, {1000, 100, 0.1}} {
		synctest.Test(t, func(t *testing.T) {
			s := watchedSession(t, tt.scale, never)
			out := s.run(t, t.Context())
			run := onlyRun(t, out)
			// The ten seconds of the run and nothing of the warm-up.
			if got := run.Server[metric.CounterGenerationTokens]; math.Abs(got-1000) > 1e-6 {
				t.Errorf("%v tokens in the run, want 1000", got)
			}
			if _, ok := run.Server["reset"]; ok {
				t.Error("a counter that fell is there")
			}
			found := map[string]result.Series{}
			for _, x := range run.Series {
				found[x.Source+" "+x.Name] = x
			}
			running := found["metrics running"]
			if n := len(running.T); n < tt.points-2 || n > tt.points+2 || running.T[0] != 0 || running.V[0] != 3 {
				t.Errorf("scale %v: %d points from %v: %v", tt.scale, n, running.T[0], running.V)
			}
			if last := running.T[len(running.T)-1]; math.Abs(last-10*max(tt.scale, 1)) > 1e-6 {
				t.Errorf("scale %v: the last point is at %v", tt.scale, last)
			}
			if x := found["metrics generation_throughput"]; len(x.V) == 0 || math.Abs(x.V[0]-tt.throughput) > 1e-6 {
				t.Errorf("scale %v: throughput %v, want %v", tt.scale, x.V, tt.throughput)
			}
			if x := found["metrics hit_rate"]; len(x.V) == 0 || x.V[0] != 0.5 {
				t.Errorf("hit rate %v", x.V)
			}
			if x := found["client ttft"]; len(x.V) != 4 || x.V[0] != 0.02 {
				t.Errorf("TTFT %v", x.V)
			}
			launch := out.Launched[0].Attempts[0]
			if launch.Figures[steps.StartKVTokens] != 4096 {
				t.Errorf("figures %v", launch.Figures)
			}
			if n := len(launch.States); n != 2 || launch.States[0].Name != steps.StateListening ||
				launch.States[1].Name != steps.StateReady || launch.States[1].At < 5 || launch.States[1].At > 5.1 {
				t.Errorf("states %v", launch.States)
			}
			// Half of the tokens hit a cache that should be empty.
			if len(out.Warnings) == 0 || !slices.ContainsFunc(out.Warnings, func(w string) bool {
				return strings.Contains(w, "the prefix cache hit rate is 50 %, where the workload implies at most 0 %")
			}) {
				t.Errorf("warnings %v", out.Warnings)
			}
		})
	}
}

// A server whose metrics fail is measured all the same: one warning, no counters, and no
// time beyond that of the scrapes.
func TestObservedFails(t *testing.T) {
	down := errors.New("GET /metrics: status 500")
	for name, tt := range map[string]struct {
		fail     func(n int) error
		warns    bool
		counters bool
	}{
		"always":             {func(int) error { return down }, true, false},
		"hangs":              {func(int) error { return errHangs }, true, false},
		"once in the middle": {func(n int) error { return map[bool]error{true: down}[n == 4] }, false, true},
		"at the end":         {func(n int) error { return map[bool]error{true: down}[n > 5] }, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := watchedSession(t, 0, tt.fail)
			began := time.Now()
			out := s.run(t, t.Context())
			run := onlyRun(t, out)
			if run.Status != result.RunOK || run.Metrics["ttft.p50"] == 0 {
				t.Errorf("%s: run %s %s", name, run.Status, run.Reason)
			}
			warned := slices.ContainsFunc(out.Warnings, func(w string) bool { return strings.Contains(w, "its metrics cannot be read") })
			if warned != tt.warns || (run.Server[metric.CounterGenerationTokens] > 0) != tt.counters {
				t.Errorf("%s: warnings %v, counters %v", name, out.Warnings, run.Server)
			}
			if took := time.Since(began); took > 26*time.Second {
				t.Errorf("%s: the session took %v", name, took)
			}
		})
	}
}
