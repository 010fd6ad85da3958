package lang_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang"
)

// TestGatesForEach: a block with for_each is a gate for each element, with values of its own
// in every argument, in where and in its limit.
func TestGatesForEach(t *testing.T) {
	src := strings.NewReplacer("METRIC", "metric.ttft.p50", "MARGIN", `"5%"`).Replace(marginFile) + `
gate "latency" {
  for_each  = { pr = { margin = "10%", metrics = [metric.ttft.p50] }, nightly = { margin = "2%", metrics = [metric.ttft.p50, metric.itl.p50] } }
  benchmark = benchmark.b
  baseline  = baseline.paired.p
  metrics   = each.value.metrics
  margin    = each.value.margin
  where     = each.key == "pr" || matrix.side == "head"
}
gate "limit" {
  for_each  = { strict = "1ms", lax = "10s" }
  benchmark = benchmark.b
  assert {
    condition     = self.ttft.p50 < duration(each.value)
    error_message = "slower than ${each.value}"
  }
}
report "file" "pr" {
  gates = [gate.latency["pr"], gate.g]
}
`
	cfg := load(t, src)
	var addrs []string
	for _, g := range cfg.Gates {
		addrs = append(addrs, g.Addr)
	}
	want := []string{"gate.g", `gate.latency["nightly"]`, `gate.latency["pr"]`, `gate.limit["lax"]`, `gate.limit["strict"]`}
	if !slices.Equal(addrs, want) {
		t.Fatalf("gates %v, want %v", addrs, want)
	}
	nightly, pr := cfg.Gates[1], cfg.Gates[2]
	if nightly.Margin != 0.02 || pr.Margin != 0.1 || len(nightly.Metrics) != 2 || len(pr.Metrics) != 1 || len(nightly.Cells) != 1 ||
		len(pr.Cells) != 2 {
		t.Errorf("nightly %+v, pull request %+v", nightly, pr)
	}
	for i, holds := range map[int]bool{3: true, 4: false} {
		in := config.AssertInput{Metrics: map[string]float64{"ttft.p50": 0.1}, Requests: 10}
		_, message, err := cfg.EvalAssert(cfg.Gates[i].Addr, cfg.Benchmarks[0].Cells[0].Values, in)
		if err != nil || holds != (message == "") || !holds && message != "slower than 1ms" {
			t.Errorf("%s: %q, %v", addrs[i], message, err)
		}
	}
	if got := cfg.Reports[0].Gates; !slices.Equal(got, []string{`gate.latency["pr"]`, "gate.g"}) {
		t.Errorf("the report is about %v", got)
	}
	for pattern, want := range map[string]int{"latency": 2, "gate.latency": 2, `latency["pr"]`: 1, `gate.latency["pr"]`: 1, "l*": 4,
		"g": 1, `*["pr"]`: 1} {
		cfg := load(t, src)
		if err := cfg.SelectGates([]string{pattern}); err != nil || len(cfg.Gates) != want {
			t.Errorf("--gate %s chooses %d gates, want %d: %v", pattern, len(cfg.Gates), want, err)
		}
	}
}

// An element that does not exist, and each in a gate without for_each, are errors.
func TestGatesForEachRefuses(t *testing.T) {
	plain := strings.NewReplacer("METRIC", "metric.ttft.p50", "MARGIN", `"5%"`).Replace(marginFile)
	for name, tt := range map[string]struct{ src, want string }{
		"no such key": {plain + "gate \"x\" {\n  for_each  = toset([\"a\"])\n  benchmark = benchmark.b\n  assert {\n    condition     = " +
			"self.errors == 0\n    error_message = \"no\"\n  }\n}\nreport \"file\" \"r\" {\n  gates = [gate.x[\"b\"]]\n}\n", "b"},
		"a list":  {strings.Replace(plain, `gate "g" {`, "gate \"g\" {\n  for_each = [1]", 1), "for_each is a list"},
		"no each": {strings.Replace(plain, `margin    = "5%"`, "margin    = each.value", 1), "each exists only in a block with for_each"},
	} {
		_, diags := lang.Load(lang.Options{Paths: []string{write(t, tt.src)}, Registry: testRegistry(t)})
		if !diags.HasErrors() || !strings.Contains(diags.Error(), tt.want) {
			t.Errorf("%s: %v", name, diags)
		}
	}
}
