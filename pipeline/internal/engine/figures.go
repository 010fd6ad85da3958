package engine

import (
	"context"
	"maps"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// These are the metrics of a launch.
const (
	metricStartup   = "startup.time"
	metricKVTokens  = "kv_cache.tokens"
	metricGPUMemory = "gpu_memory.used"
)

// phases are the metrics of the phases of a start, by the figures of the log.
var phases = map[string]string{
	steps.StartLoad: "startup.weights", steps.StartCompile: "startup.compile", steps.StartGraphs: "startup.graphs",
	steps.StartProfile: "startup.profile",
}

// recordGPUMemory records how much GPU memory a ready launch has allocated.
func (r *runner) recordGPUMemory(ctx context.Context, s *server) {
	if s.front.Spec.URL != "" { // it ran before us
		return
	}
	used, ok := r.o.Machine.Memory(ctx, s.Target)
	if s.participant != nil {
		used -= s.participant.among.heldByOthers(s.ID)
	}
	if ok {
		s.launch.Figures = map[string]float64{steps.StartGPUBytes: used}
	}
}

// figures returns the figures of a launch: those of the machine and, for a single server, those of its start log.
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

// ofLaunch adds the metrics of the launch to one of its runs. They are unknown if the server ran before us. Times are
// in the run's own time.
func (s *server) ofLaunch(run *result.Run, scale float64) {
	if run.Metrics == nil {
		return
	}
	if s.launch.Startup > 0 && !s.launch.Filling {
		run.Metrics[metricStartup] = s.launch.Startup * scale
		for figure, metric := range phases {
			if seconds := s.longest(figure); seconds > 0 {
				run.Metrics[metric] = seconds
			}
		}
	}
	if tokens := s.kvTokens(); tokens > 0 {
		run.Metrics[metricKVTokens] = tokens
	}
	if used := s.launch.Figures[steps.StartGPUBytes]; used > 0 {
		run.Metrics[metricGPUMemory] = used
	}
}

// longest returns the largest value of a figure of any server, 0 if none reports it. Servers report the model's time.
func (s *server) longest(figure string) float64 {
	most := 0.0
	for _, m := range s.servers() {
		most = max(most, m.about.Figures[figure])
	}
	return most
}

// kvTokens returns the KV cache capacity of all servers, 0 if one does not report its capacity. A partial sum would be
// compared with a full one.
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
