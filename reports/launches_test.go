package reports_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// What a launch holds and what a router adds are in the environment of a report, as medians
// of the good runs; start-up times are in the time of the runs.
func TestEnvironmentOfLaunches(t *testing.T) {
	run := func(status result.RunStatus, added float64) result.Run {
		return result.Run{
			Repeat: 1, Status: status, Metrics: map[string]float64{"kv_cache.tokens": 40960, "gpu_memory.used": 70 << 30, "startup.time": 15,
				"startup.weights": 4.25, "startup.graphs": 6.5},
			Server: map[string]float64{"router/" + result.AddedPerChunk + result.AddedP50: added, "router/" + result.AddedPerChunk +
				result.AddedP99: 3 * added},
		}
	}
	doc := &result.Document{
		Schema: result.Schema, Simulated: "process", TimeScale: 10, Targets: []result.Target{{Addr: "deployment.pd", Engine: "vllm"}},
		Launches: []result.Launch{{ID: "r1", Repeat: 1, Target: "deployment.pd", Startup: 1.5}},
		Benchmarks: []result.Benchmark{{Addr: "benchmark.b", Cells: []result.Cell{{
			Hash: "c", Target: "deployment.pd", Runs: []result.Run{run(result.RunOK, 20e-6), run(result.RunOK, 40e-6), run(result.RunOK, 30e-6),
				run(result.RunVoid, 1)},
		}}}},
	}
	var b bytes.Buffer
	if err := reports.Text(&b, doc, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"40,960", "70.0 GiB", "30.0 µs", "90.0 µs", "15.0 s", "Start-up by phase", "4.25 s", "6.50 s"} {
		if !strings.Contains(strings.ReplaceAll(b.String(), "\u00a0", " "), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
