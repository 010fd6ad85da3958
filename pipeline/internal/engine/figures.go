package engine

import (
	"context"
	"maps"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// The metrics of a launch.
const (
	metricStartup   = "startup.time"
	metricKVTokens  = "kv_cache.tokens"
	metricGPUMemory = "gpu_memory.used"
)

// recordGPUMemory notes how much of its GPUs' memory a launch that is ready has allocated.
func (r *runner) recordGPUMemory(ctx context.Context, s *server) {
	if s.front.Spec.URL != "" { // it was there before us
		return
	}
	used, ok := r.o.Machine.Memory(ctx, s.Target)
	if s.seat != nil {
		used -= s.seat.among.held(s.ID)
	}
	if ok {
		s.launch.Figures = map[string]float64{steps.StartGPUBytes: used}
	}
}

// figures of a launch: what the machine shows of it and, of a single server, what its log
// says of its start.
func (s *server) figures() map[string]float64 {
	if !s.spec.alone() {
		return s.launch.Figures
	}
	all := maps.Clone(s.front.about.Figures)
	if all == nil {
		return s.launch.Figures
	}
	maps.Copy(all, s.launch.Figures)
	return all
}

// watchLaunch adds the metrics of the launch to its run.
func (r *runner) watchLaunch(_ context.Context, s *server, w *watch) Watcher {
	return Watcher{Tell: func(run *result.Run) { s.ofLaunch(run, w.scale) }}
}

// ofLaunch adds the metrics of the launch to one of its runs. Those of a launch that we did
// not make are not known. Times are in the run's own time.
func (s *server) ofLaunch(run *result.Run, scale float64) {
	if run.Metrics == nil {
		return
	}
	if s.launch.Startup > 0 && !s.launch.Filling {
		run.Metrics[metricStartup] = s.launch.Startup * scale
	}
	if tokens := s.kvTokens(); tokens > 0 {
		run.Metrics[metricKVTokens] = tokens
	}
	if used := s.launch.Figures[steps.StartGPUBytes]; used > 0 {
		run.Metrics[metricGPUMemory] = used
	}
}

// kvTokens is the capacity of all servers, 0 if one of them does not report its own: the
// others' would be compared with all of another launch.
func (s *server) kvTokens() float64 {
	sum := 0.0
	for _, m := range s.servers() {
		tokens := m.about.Figures[steps.StartKVTokens]
		if tokens <= 0 {
			return 0
		}
		sum += tokens
	}
	return sum
}
