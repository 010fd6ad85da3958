package lang_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/lang"
)

const marginFile = `
server "vllm" "sut" {
  for_each   = { base = "a", head = "b" }
  executable = each.value
  model      = "m"
}
dataset "random" "d" {
  input_len  = 8
  output_len = 4
}
benchmark "b" {
  matrix {
    side = ["base", "head"]
  }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.d
  load {
    rate     = 5
    requests = 1000
  }
  repeat {
    min = 6
    max = 6
  }
}
baseline "paired" "p" {
  axis  = "side"
  value = "base"
}
gate "g" {
  benchmark = benchmark.b
  baseline  = baseline.paired.p
  metrics   = [METRIC]
  margin    = MARGIN
}
`

// A margin is a percentage where there are ratios, and a time where a value can be zero.
func TestMargins(t *testing.T) {
	for _, tt := range []struct {
		metrics, margin string
		want            float64
		text, problem   string
	}{
		{"metric.ttft.p50", `"5%"`, 0.05, "5 %", ""},
		{"metric.ttft.p50", `0.05`, 0.05, "5 %", ""},
		{"metric.queue.p99", `"50ms"`, 0.05, "50 ms", ""},
		{"metric.queue.p99", `"2s"`, 2, "2000 ms", ""},
		{"metric.queue.p99", `"5%"`, 0, "", "a percentage of it is undefined"},
		{"metric.queue.p99", `0.05`, 0, "", "a percentage of it is undefined"},
		{"metric.queue.p99", `"0s"`, 0, "", "margin must be above zero"},
		{"metric.ttft.p50", `"50ms"`, 0, "", "compared by ratio"},
		{"metric.queue.p99, metric.ttft.p50", `"50ms"`, 0, "", "compared by ratio"},
		{"metric.ttft.p50", `"5 %% "`, 0, "", "margin"},
	} {
		src := strings.NewReplacer("METRIC", tt.metrics, "MARGIN", tt.margin).Replace(marginFile)
		if tt.problem != "" {
			_, diags := lang.Load(lang.Options{Paths: []string{write(t, src)}, Registry: testRegistry(t)})
			if got := diags.Error(); !diags.HasErrors() || !strings.Contains(got, tt.problem) {
				t.Errorf("%s with %s: %q, want %q", tt.metrics, tt.margin, got, tt.problem)
			}
			continue
		}
		g := load(t, src).Gates[0]
		if float64(g.Margin) != tt.want || g.Margin.Text(g.Metrics[0]) != tt.text {
			t.Errorf("%s with %s: %g, %s; want %g, %s", tt.metrics, tt.margin, g.Margin, g.Margin.Text(g.Metrics[0]), tt.want, tt.text)
		}
	}
}
