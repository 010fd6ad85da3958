package lang_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/lang"
)

// A cell whose base is excluded cannot be compared: the gate leaves it out and says so.
func TestCellsWithoutTheirBaseAreLeftOut(t *testing.T) {
	src := strings.Replace(assertFile[:strings.Index(assertFile, "gate ")], "rate = [4, 8]", `rate = [4, 8]
    side = ["base", "head"]

    exclude {
      when = matrix.side == "base" && matrix.rate == 8
    }`, 1) + `
baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "latency" {
  benchmark = benchmark.b
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p99]
  margin    = "5%"
}
`
	cfg, diags := lang.Load(lang.Options{Paths: []string{write(t, src)}, Registry: testRegistry(t)})
	if len(diags) != 1 || diags.HasErrors() || !strings.HasPrefix(diags[0].Summary, "1 cell ") {
		t.Fatalf("want one warning on one cell, got %v", diags)
	}
	if got := cfg.Gates[0].Cells; !slices.Equal(got, []int{0, 1}) {
		t.Errorf("cells %v, want those at rate 4: 0 and 1", got)
	}
}

// The numbers that a refusal names must be numbers that are not refused.
func TestRefusalsNameNumbersThatWork(t *testing.T) {
	gate := `
baseline "paired" "base" {
  axis  = "rate"
  value = 4
}
`
	base := strings.Replace(assertFile[:strings.Index(assertFile, "gate ")], "rate     = matrix.rate", "rate     = 4", 1) + gate
	for _, tt := range []struct {
		metric   string
		requests string
		ok       bool
	}{
		{"metric.ttft.p99", "999", false}, {"metric.ttft.p99", "1000", true},
		{"metric.ttft.p95", "199", false}, {"metric.ttft.p95", "200", true},
		{"metric.ttft.p50", "19", false}, {"metric.ttft.median", "20", true},
		{"metric.ttft.mean", "9", false}, {"metric.ttft.mean", "10", true},
		{"metric.success.rate", "1", true},
		{"metric.startup.time", "1", false}, // both sides are of one launch
		{"metric.ttft.std", "5000", false}, {"metric.output_throughput.mean", "5000", false},
	} {
		src := strings.Replace(base, "requests = 1000", "requests = "+tt.requests, 1) + `
gate "g" {
  benchmark = benchmark.b
  baseline  = baseline.paired.base
  metrics   = [` + tt.metric + `]
  margin    = "5%"
}
`
		_, diags := lang.Load(lang.Options{Paths: []string{write(t, src)}, Registry: testRegistry(t)})
		if diags.HasErrors() == tt.ok {
			t.Errorf("%s with %s requests: %v", tt.metric, tt.requests, diags)
		}
	}
}

func TestThroughputMayBeGatedWhereTheServerSetsIt(t *testing.T) {
	for _, load := range []string{
		"requests = 1000",
		"arrival = \"closed\"\n    max_concurrency = 8\n    requests = 1000",
		"arrival = \"closed\"\n    max_concurrency = 8\n    duration = \"1m\"",
	} {
		src := strings.Replace(assertFile[:strings.Index(assertFile, "gate ")], "rate     = matrix.rate\n    requests = 1000", load, 1) + `
baseline "paired" "base" {
  axis  = "rate"
  value = 4
}

gate "g" {
  benchmark = benchmark.b
  baseline  = baseline.paired.base
  metrics   = [metric.output_throughput.mean]
  margin    = "5%"
}
`
		if _, diags := lang.Load(lang.Options{Paths: []string{write(t, src)}, Registry: testRegistry(t)}); len(diags) > 0 {
			t.Errorf("%s: %v", load, diags)
		}
	}
}
