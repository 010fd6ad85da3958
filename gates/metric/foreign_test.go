package metric_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
)

// TestForeign: figures of other load generators are metrics with a tool, found by their id and
// by the name that the language gives them, and none takes an id of the registry.
func TestForeign(t *testing.T) {
	own := metric.All()
	for _, g := range metric.Foreign() {
		if g.Tool == "" || g.Quantity == "" || !strings.HasSuffix(g.Name, "_"+g.Quantity) || len(g.Metrics) == 0 {
			t.Errorf("%+v is incomplete", g)
		}
		if !slices.Contains(metric.Tools(), g.Tool) {
			t.Errorf("%s is of %s, which is no tool", g.Name, g.Tool)
		}
		for _, m := range g.Metrics {
			if got, ok := metric.Lookup(m.ID); !ok || !reflect.DeepEqual(got, m) || m.Tool != g.Tool {
				t.Errorf("Lookup(%q) = %+v, %v", m.ID, got, ok)
			}
			if m.Unit == "" || m.Direction == "" || m.Scale == "" || m.MinRequests < 1 || m.Definition == "" || m.Label == "" {
				t.Errorf("%s is incomplete: %+v", m.ID, m)
			}
			if slices.ContainsFunc(own, func(o metric.Metric) bool { return o.ID == m.ID }) {
				t.Errorf("%s is one of the registry", m.ID)
			}
			if strings.Contains(m.Group, "throughput") != (m.Direction == metric.HigherIsBetter) && !strings.Contains(m.Group, "concurrency") {
				t.Errorf("%s is better %s", m.ID, m.Direction)
			}
		}
	}
	for id, want := range map[string]string{
		"guidellm.ttft.p99": "guidellm_ttft.p99", "inference_perf.ntpot.median": "inference_perf_ntpot.p50", "hf_itl.mean": "hf_itl.mean",
		"sglang.e2el.p90": "sglang_e2el.p90",
	} {
		if m, ok := metric.Lookup(id); !ok || m.ID != want {
			t.Errorf("Lookup(%q) = %q, %v, want %q", id, m.ID, ok, want)
		}
	}
	for _, id := range []string{"guidellm.ttft", "guidellm.nothing.p99", "unknown_ttft.p99", "guidellm_ttft.p42"} {
		if m, ok := metric.Lookup(id); ok {
			t.Errorf("Lookup(%q) = %+v", id, m)
		}
	}
	if got := metric.Suggest("guidellm_tftt.p99"); got != "guidellm_ttft.p99" {
		t.Errorf("Suggest says %q", got)
	}
}
