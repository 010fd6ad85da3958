package machine

import (
	"fmt"
	"time"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/probe"
)

// maxPoints is the largest number of points in a series.
const maxPoints = 300

// gpuFigures lists the GPU figures that a report may plot over a run.
var gpuFigures = []struct {
	name string
	of   func(probe.GPU) float64
}{
	{"sm_clock_mhz", func(g probe.GPU) float64 { return float64(g.SMClock) }},
	{"power_w", func(g probe.GPU) float64 { return g.Power }},
	{"temperature_c", func(g probe.GPU) float64 { return float64(g.Temperature) }},
	{"memory_bytes", func(g probe.GPU) float64 { return float64(g.MemoryUsed) }},
	{"utilization_percent", func(g probe.GPU) float64 { return float64(g.Utilization) }},
}

// gpuSeries returns the figures of a target's GPUs as series, "gpu0_power_w" and so on. Times are seconds since
// the run's first planned request.
func gpuSeries(seen []probe.Snapshot, used []string, began time.Time) []result.Series {
	step := (len(seen) + maxPoints - 1) / maxPoints
	var out []result.Series
	for _, uuid := range used {
		for _, figure := range gpuFigures {
			series := result.Series{Source: "machine"}
			for i := 0; i < len(seen); i += max(1, step) {
				g, ok := seen[i].GPU(uuid)
				if !ok || figure.of(g) < 0 {
					continue
				}
				series.Name = fmt.Sprintf("gpu%d_%s", g.Index, figure.name)
				series.T = append(series.T, seen[i].At.Sub(began).Seconds())
				series.V = append(series.V, figure.of(g))
			}
			if len(series.T) > 0 {
				out = append(out, series)
			}
		}
	}
	return out
}
