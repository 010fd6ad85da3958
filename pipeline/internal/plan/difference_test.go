package plan_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

func TestDifferencesNameWhatChanged(t *testing.T) {
	base := func() *plan.Plan {
		return &plan.Plan{
			Schema: plan.Schema, Alpha: 0.05,
			Targets: []plan.Target{{Addr: "server.vllm.a", Argv: []string{"vllm", "serve"}, Settings: "1"}, {Addr: "server.vllm.b"}},
			Benchmarks: []plan.Benchmark{{Addr: "benchmark.x", RepeatMax: 4, Cells: []plan.Cell{
				{Hash: "h", Values: []result.AxisValue{{Name: "side", Value: "a"}, {Name: "rate", Value: "4"}}},
			}}},
			Gates: []plan.Gate{{Addr: "gate.g"}},
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*plan.Plan)
		want   string
	}{
		{"nothing", func(*plan.Plan) {}, ""},
		{"what may differ", func(p *plan.Plan) { p.Fingerprint, p.Warnings = "f", []string{"w"} }, ""},
		{"arguments", func(p *plan.Plan) { p.Targets[0].Argv = []string{"vllm", "x"} },
			`targets server.vllm.a argv: ["vllm","serve"] then, ["vllm","x"] now`},
		{"settings", func(p *plan.Plan) { p.Targets[0].Settings = "2" }, "targets server.vllm.a: its environment, container or other settings"},
		{"a gate less", func(p *plan.Plan) { p.Gates = nil }, `gates`},
		{"another gate", func(p *plan.Plan) { p.Gates[0].Addr = "gate.h" }, "gates gate.g is gone; gates gate.h is new"},
		{"repeats", func(p *plan.Plan) { p.Benchmarks[0].RepeatMax = 5 }, "benchmarks benchmark.x repeat_max: 4 then, 5 now"},
		{"a cell", func(p *plan.Plan) { p.Benchmarks[0].Cells[0].Values[1].Value = "8" },
			"benchmarks benchmark.x cells side=a, rate=4 is gone; benchmarks benchmark.x cells side=a, rate=8 is new"},
		{"alpha", func(p *plan.Plan) { p.Alpha = 0.1 }, "alpha: 0.05 then, 0.1 now"},
	} {
		now := base()
		tt.change(now)
		if got := strings.Join(plan.Differences(base(), now), "; "); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
