package plan

import (
	"math"
	"strings"
	"testing"
)

// costPlan has two targets that are launched four times each, with two runs of 90 s in a
// launch.
func costPlan() *Plan {
	p := &Plan{TimeScale: 1, Targets: []Target{{Addr: "base", GPUs: 2}, {Addr: "head", GPUs: 2}}}
	b := Benchmark{Addr: "benchmark.b"}
	for _, t := range p.Targets {
		b.Cells = append(b.Cells, Cell{Hash: t.Addr + "1", Target: t.Addr, Seconds: 90}, Cell{Hash: t.Addr + "2", Target: t.Addr, Seconds: 90})
	}
	p.Benchmarks = []Benchmark{b}
	for i := range 4 {
		r := Repeat{Index: i + 1}
		for _, t := range p.Targets {
			r.Launches = append(r.Launches, Launch{Target: t.Addr, Runs: []Run{{Cell: t.Addr + "1"}, {Cell: t.Addr + "2"}}})
		}
		p.Repeats = append(p.Repeats, r)
	}
	return p
}

func TestEstimateCountsGPUHours(t *testing.T) {
	for name, tt := range map[string]struct {
		change      func(*Plan)
		seconds     float64
		hours, part float64
		basis       string
	}{
		"assumed launches":        {func(*Plan) {}, 8 * 240, 8 * 2 * 240 / 3600., 0.25, "assumed 60 s a launch"},
		"known launches":          {func(p *Plan) { p.Targets[0].StartSeconds, p.Targets[1].StartSeconds = 270, 270 }, 8 * 450, 2.0, 0.6, "launches of 270 s as in stored sessions"},
		"launches that differ":    {func(p *Plan) { p.Targets[0].StartSeconds, p.Targets[1].StartSeconds = 100, 120 }, 4 * (280 + 300), 4 * 2 * 580 / 3600., 220 / 580., "launches of 100 to 120 s as in stored sessions"},
		"one side known":          {func(p *Plan) { p.Targets[0].StartSeconds = 100 }, 4 * (280 + 240), 4 * 2 * 520 / 3600., 160 / 520., "others assumed at 60 s"},
		"simulated, nothing held": {func(p *Plan) { p.Simulated = "virtual" }, 8 * 181, 0, 0, "simulated launches"},
		"GPUs that nobody stated": {func(p *Plan) { p.Targets[0].GPUs, p.Targets[1].GPUs = 0, 0 }, 8 * 240, 0, 0, "assumed 60 s a launch"},
	} {
		p := costPlan()
		tt.change(p)
		e := estimate(p)
		if e.Seconds != tt.seconds || math.Abs(e.GPUHours-tt.hours) > 1e-9 || tt.hours > 0 && math.Abs(e.StartHours/e.GPUHours-tt.part) > 1e-9 || !strings.Contains(e.Basis, tt.basis) {
			t.Errorf("%s: %+v, want %g s, %g GPU-hours, %g of them to start, %q", name, e, tt.seconds, tt.hours, tt.part, tt.basis)
		}
	}
}

func TestGPUHours(t *testing.T) {
	for hours, want := range map[float64]string{27.3: "27 GPU-hours", 2.84: "2.8 GPU-hours", 0.851: "0.85 GPU-hours", 0.0123: "0.012 GPU-hours"} {
		if got := gpuHours(hours); got != want {
			t.Errorf("%g is %q, want %q", hours, got, want)
		}
	}
}
