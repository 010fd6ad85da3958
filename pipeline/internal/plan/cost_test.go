package plan

import (
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/reports/result"
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

func TestEstimateCountsWhatMachinesAreHeldFor(t *testing.T) {
	starts := func(base, head float64) func(*Plan) {
		return func(p *Plan) { p.Targets[0].StartSeconds, p.Targets[1].StartSeconds = base, head }
	}
	for name, tt := range map[string]struct {
		change               func(*Plan)
		seconds              float64
		gpus, machines, part float64
		unknown              int
		basis                string
	}{
		"unknown starts": {starts(0, 0), 8 * 180, 8 * 2 * 180 / 3600., 8 * 180 / 3600., 0, 8, "no stored session or calibration"},
		"known starts":   {starts(270, 270), 8 * 450, 2.0, 1.0, 0.6, 0, "starts of 270 s as stored before"},
		"starts that differ": {starts(100, 120), 4 * (280 + 300), 4 * 2 * 580 / 3600., 4 * 580 / 3600., 220 / 580., 0,
			"starts of 100 to 120 s as stored before"},
		"one side known": {starts(100, 0), 4 * (280 + 180), 4 * 2 * 460 / 3600., 4 * 460 / 3600., 100 / 460., 4,
			"nothing is stored of those of 1 other target"},
		"simulated processes": {func(p *Plan) { starts(0.3, 0.3)(p); p.Simulated = SimulateProcess }, 8 * 180.3, 0, 0, 0, 0,
			"starts of 0.3 s as in their model"},
		"in virtual time": {func(p *Plan) { starts(90, 90)(p); p.Simulated = SimulateVirtual }, 8 * 270, 8 * 2 * 270 / 3600.,
			8 * 270 / 3600., 1 / 3., 0, "starts of 90 s as in their model"},
		"GPUs nobody stated": {func(p *Plan) { starts(60, 60)(p); p.Targets[0].GPUs, p.Targets[1].GPUs = 0, 0 }, 8 * 240, 0, 8 * 240 / 3600.,
			0.25, 0, "starts of 60 s"},
		"servers on two nodes": {func(p *Plan) { starts(60, 60)(p); p.Targets[0].Machines, p.Targets[1].Machines = 2, 2 }, 8 * 240,
			8 * 2 * 240 / 3600., 2 * 8 * 240 / 3600., 0.25, 0, "starts of 60 s"},
		"nothing launched": {func(p *Plan) { p.Targets[0].Attached, p.Targets[1].Attached = true, true }, 8 * 180, 0, 0, 0, 0,
			"nothing is launched"},
	} {
		p := costPlan()
		tt.change(p)
		e := estimate(p)
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if !near(e.Seconds, tt.seconds) || !near(e.GPUHours, tt.gpus) || !near(e.MachineHours, tt.machines) || !near(e.StartShare, tt.part) ||
			e.UnknownStarts != tt.unknown || !strings.Contains(e.Basis, tt.basis) {
			t.Errorf("%s: %+v, want %+v", name, e, tt)
		}
	}
}

// The bill of a plan names what is known, and what is not.
func TestBillOfAPlan(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Plan)
		want   string
	}{
		"no price": {func(p *Plan) { p.Targets[0].StartSeconds, p.Targets[1].StartSeconds = 270, 270 },
			"2.0 GPU-hours; 60 % of it until servers are ready and warm"},
		"unknown starts": {func(*Plan) {}, "0.80 GPU-hours, without the start of 8 launches"},
		"with looks": {func(p *Plan) {
			p.Targets[0].StartSeconds, p.Targets[1].StartSeconds = 270, 270
			p.Price, p.Looks = &result.Price{GPUHour: 2.5, Currency: "USD"}, []int{2, 4}
		}, "2.0 GPU-hours at most, 1.0 if all is decided after 2 repeats; 60 % of it until servers are ready and warm; 5.00 USD at most, 2.50 " +
			"USD then"},
		"with warm-ups": {func(p *Plan) {
			p.Targets[0].StartSeconds, p.Targets[1].StartSeconds = 270, 270
			for i := range p.Benchmarks[0].Cells { // 45 of its 90 s
				w := &p.Benchmarks[0].Cells[i].Workload
				w.Warmup, w.Load.Rate = 90, 2
			}
		}, "2.0 GPU-hours; 80 % of it until servers are ready and warm"},
		"without GPUs": {func(p *Plan) {
			p.Targets = []Target{{Addr: "base", StartSeconds: 270}, {Addr: "head", StartSeconds: 270}}
			p.Price = &result.Price{MachineHour: 0.8, Currency: "EUR"}
		}, "1.0 machine-hours; 60 % of it until servers are ready and warm; 0.80 EUR"},
	} {
		p := costPlan()
		tt.change(p)
		p.Estimate = estimate(p)
		if got := p.billText(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	for simulated, want := range map[string]string{"": "nothing is charged", SimulateProcess: ""} {
		p := costPlan()
		p.Targets = []Target{{Addr: "base"}, {Addr: "head"}}
		p.Price, p.Simulated = &result.Price{GPUHour: 2.5, Currency: "USD"}, simulated
		p.Estimate = estimate(p)
		if text := p.unpriced(); !strings.Contains(text, want) || (text == "") != (want == "") {
			t.Errorf("a price of GPU-hours without GPUs, simulated %q: the warning is %q", simulated, text)
		}
	}
}

// The pair of a profile is stated beside what the plan takes by itself.
func TestProfileInThePlan(t *testing.T) {
	const want = "2 more launches where a gate regresses, about 12 min; 0.40 GPU-hours; 1.00 USD"
	for name, tt := range map[string]struct {
		change func(*Plan, *config.Config)
		want   string
	}{
		"known starts":             {func(*Plan, *config.Config) {}, want},
		"the longest":              {func(p *Plan, _ *config.Config) { p.Benchmarks[0].Cells[0].Seconds = 30 }, want},
		"the longest is the first": {func(p *Plan, _ *config.Config) { p.Benchmarks[0].Cells[1].Seconds = 30 }, want},
		"no price": {func(p *Plan, _ *config.Config) { p.Price = nil },
			"2 more launches where a gate regresses, about 12 min; 0.40 GPU-hours"},
		"faster than in the file": {func(p *Plan, _ *config.Config) { p.TimeScale = 3 },
			"2 more launches where a gate regresses, about 10 min; 0.33 GPU-hours; 0.83 USD"},
		"unknown starts": {func(p *Plan, _ *config.Config) { p.Targets[0].StartSeconds, p.Estimate.UnknownStarts = 0, 4 },
			"2 more launches where a gate regresses, about 8 min, without the start of servers; 0.25 GPU-hours; 0.62 USD"},
		"processes": {func(p *Plan, _ *config.Config) { p.Simulated = SimulateProcess },
			"2 more launches where a gate regresses, about 12 min"},
		"no profile": {func(_ *Plan, cfg *config.Config) { cfg.Settings.Profile = nil }, ""},
		"nothing of ours": {func(p *Plan, _ *config.Config) {
			p.Targets[0].Attached, p.Targets[1].Attached = true, true
		}, ""},
		"a stored baseline": {func(p *Plan, _ *config.Config) { p.Gates[0].Comparisons = []Comparison{{Head: "head1"}} }, ""},
	} {
		p, cfg := costPlan(), &config.Config{}
		cfg.Settings.Profile = &config.Profile{}
		p.Targets[0].StartSeconds, p.Targets[1].StartSeconds = 270, 270
		p.Price = &result.Price{GPUHour: 2.5, Currency: "USD"}
		p.Gates = []Gate{{Comparisons: []Comparison{{Base: "base1", Head: "head1"}, {Base: "base2", Head: "head2"}}}}
		tt.change(p, cfg)
		p.Profile = (&builder{cfg: cfg}).profile(p)
		if got := p.profileText(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
