package config_test

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
)

// TestRangeOf: every block that can be named in an error of a run is found, and nothing else.
func TestRangeOf(t *testing.T) {
	at := func(line int) hcl.Range { return hcl.Range{Filename: "a.pipeline.hcl", Start: hcl.Pos{Line: line}} }
	cfg := &config.Config{
		Steps:       []*config.Step{{Addr: "step.exec.build", Range: at(1)}},
		Servers:     []*config.Server{{Addr: "server.vllm.sut", Range: at(2)}},
		Deployments: []*config.Deployment{{Addr: "deployment.pd", Range: at(3)}},
		Benchmarks:  []*config.Benchmark{{Addr: "benchmark.b", Range: at(4)}},
		Gates:       []*config.Gate{{Addr: "gate.g", Range: at(5)}},
	}
	for addr, line := range map[string]int{
		"step.exec.build": 1, "server.vllm.sut": 2, "deployment.pd": 3, "benchmark.b": 4, "gate.g": 5, "server.vllm.gone": 0,
	} {
		got := cfg.RangeOf(addr)
		if (got == nil) != (line == 0) || got != nil && got.Start.Line != line {
			t.Errorf("%s is at %v, want line %d", addr, got, line)
		}
	}
}
