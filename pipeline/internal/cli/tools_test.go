package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates/foreign"
)

// metronome is a load generator that nothing but this file knows.
var metronome = foreign.Tool{
	Name: "metronome",
	Shapes: []foreign.Shape{{
		Keys:    []string{"metronome_version beats"},
		Each:    "beats",
		Params:  []foreign.Field{{Path: "speed", Name: "request_rate"}},
		Figures: []foreign.Field{{Path: "counts/good", Name: "completed"}, {Path: "counts/bad", Name: "failed"}},
		Times:   []foreign.Times{{Path: "first", Name: "ttft", Unit: "ms"}},
		Stats:   map[string]string{"average": "mean", "p99": "p99"},
	}},
	Approximates: map[string]string{"ttft": "a metronome hears the first token late"},
}

// TestToolIsOneRowOfOneTable shows that a load generator that is only in the table is offered
// by --tool, and that its files are imported, compared with those of others and gated.
func TestToolIsOneRowOfOneTable(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	beats := func(ttft float64) string {
		return fmt.Sprintf(
			`{"metronome_version": 1, "beats": [{"speed": 4, "counts": {"good": 200, "bad": 0}, "first": {"average": %g, "p99": 80}}]}`, ttft)
	}
	write("vllm.json", `{"completed": 200, "failed": 0, "duration": 50, "request_rate": 4, "mean_ttft_ms": 50}`)
	gate := []string{"gate", "p.pipeline.hcl", "--launch-by", "launch"}
	for launch := range 6 {
		for side, ttft := range map[string]float64{"base": 50, "head": 75} {
			name := fmt.Sprintf("%s%d.json", side, launch)
			write(name, beats(ttft+float64(launch)/10))
			gate = append(gate, "--results", fmt.Sprintf("side=%s,launch=%d:%s", side, launch+1, name))
		}
	}
	write("p.pipeline.hcl", `
benchmark "nightly" {
  matrix {
    side = ["base", "head"]
  }
  driver "results" {}
}
baseline "paired" "base" {
  axis  = "side"
  value = "base"
}
gate "night" {
  benchmark = benchmark.nightly
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.mean]
  margin    = "5%"
}
`)
	if got := toyRunner(t, func(*app) {})(exitUsage, "import", "base0.json"); !strings.Contains(got, "no load generator is known") {
		t.Errorf("without the row: %s", got)
	}
	run := toyRunner(t, func(a *app) { a.tools = append(a.tools, metronome) })
	if got := run(exitOK, "import", "base0.json", "--format", "csv"); !strings.Contains(got, "base0.json,1,metronome,4,200,0,") ||
		!strings.Contains(got, ",0.05,0.08") {
		t.Errorf("imported: %s", got)
	}
	if got := run(exitOK, "compare", "base0.json", "head0.json", "--metric", "ttft.mean"); !strings.Contains(got, "+50.0 %") {
		t.Errorf("compared: %s", got)
	}
	if got := run(exitOK, "compare", "vllm.json", "head0.json"); !strings.Contains(got, "ttft is of two tools: a metronome hears") {
		t.Errorf("compared with another tool: %s", got)
	}
	if got := run(exitRegression, gate...); !strings.Contains(got, "regression") {
		t.Errorf("gated: %s", got)
	}
	if got := run(exitOK, "import", "--help"); !strings.Contains(got, "metronome") {
		t.Errorf("not offered: %s", got)
	}
}
