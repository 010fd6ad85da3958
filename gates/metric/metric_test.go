package metric_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
)

func TestEveryMetricIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range metric.All() {
		if seen[m.ID] {
			t.Errorf("%s is listed twice", m.ID)
		}
		seen[m.ID] = true
		if m.ID != m.Group+"."+m.Stat || m.Label == "" || m.Definition == "" || m.Source == "" {
			t.Errorf("%s is incomplete: %+v", m.ID, m)
		}
		if m.Unit == "" || m.Direction == "" || m.Scale == "" || m.Level == "" || m.MinRequests < 1 {
			t.Errorf("%s is incomplete: %+v", m.ID, m)
		}
		if got, ok := metric.Lookup(m.ID); !ok || !reflect.DeepEqual(got, m) {
			t.Errorf("Lookup(%q) = %+v, %v", m.ID, got, ok)
		}
	}
}

func TestGroupsHoldAllMetricsInOrder(t *testing.T) {
	var ids []string
	for _, g := range metric.Groups() {
		for _, m := range g.Metrics {
			if m.Group != g.Name {
				t.Errorf("%s is in group %s", m.ID, g.Name)
			}
			ids = append(ids, m.ID)
		}
	}
	for i, m := range metric.All() {
		if ids[i] != m.ID {
			t.Fatalf("metric %d is %s in Groups and %s in All", i, ids[i], m.ID)
		}
	}
}

func TestReturnedSlicesAreTheCallers(t *testing.T) {
	metric.Groups()[0].Metrics[0].ID = "broken"
	metric.All()[0].ID = "broken"
	if _, ok := metric.Lookup("ttft.mean"); !ok || metric.All()[0].ID != "ttft.mean" {
		t.Error("writing to a returned slice changed the registry")
	}
}

func TestMinRequestsOfPercentiles(t *testing.T) {
	for _, m := range metric.All() {
		if m.Quantile <= 0.5 {
			continue
		}
		if want := int(math.Round(10 / (1 - m.Quantile))); m.MinRequests != want {
			t.Errorf("%s may be gated with %d requests, k(1-q) >= 10 asks for %d", m.ID, m.MinRequests, want)
		}
	}
}

func TestDirectionScaleAndUse(t *testing.T) {
	tests := []struct {
		id            string
		direction     metric.Direction
		scale         metric.Scale
		fixedByRate   bool
		informational bool
		level         metric.Level
	}{
		{"ttft.p99", metric.LowerIsBetter, metric.Log, false, false, metric.RunLevel},
		{"ttft.std", metric.LowerIsBetter, metric.Log, false, true, metric.RunLevel},
		{"queue.mean", metric.LowerIsBetter, metric.Difference, false, false, metric.RunLevel},
		{"output_throughput.mean", metric.HigherIsBetter, metric.Log, true, false, metric.RunLevel},
		{"success.rate", metric.HigherIsBetter, metric.Proportion, false, false, metric.RunLevel},
		{"concurrency.peak", metric.LowerIsBetter, metric.Difference, false, true, metric.RunLevel},
		{"startup.time", metric.LowerIsBetter, metric.Log, false, false, metric.LaunchLevel},
		{"kv_cache.tokens", metric.HigherIsBetter, metric.Log, false, false, metric.LaunchLevel},
		{"gpu_memory.used", metric.LowerIsBetter, metric.Log, false, false, metric.LaunchLevel},
	}
	for _, tt := range tests {
		m, ok := metric.Lookup(tt.id)
		if !ok {
			t.Errorf("%s is missing", tt.id)
			continue
		}
		if m.Direction != tt.direction || m.Scale != tt.scale || m.FixedByRate != tt.fixedByRate ||
			m.Informational != tt.informational || m.Level != tt.level {
			t.Errorf("%s: %+v", tt.id, m)
		}
	}
}

func TestMedianIsP50(t *testing.T) {
	for _, g := range metric.Groups() {
		p50, ok := metric.Lookup(g.Name + ".p50")
		median, okMedian := metric.Lookup(g.Name + ".median")
		if ok != okMedian || !reflect.DeepEqual(p50, median) {
			t.Errorf("%s: median and p50 differ", g.Name)
		}
	}
}

func TestSuggest(t *testing.T) {
	tests := map[string]string{
		"ttft.p999":                          "ttft.p99",
		"tftt.p99":                           "ttft.p99",
		"TTFT.P99":                           "ttft.p99",
		"metric.ttft.p99":                    "ttft.p99",
		"ttft":                               "ttft.p99",
		"startup":                            "startup.time",
		"tpot.medain":                        "tpot.mean",
		"itl_tokn.p50":                       "itl_token.p50",
		"p99_ttft_ms":                        "ttft.p99",
		"median_e2e_latency_ms":              "e2el.p50",
		"mean_client_queue_time_ms":          "queue.mean",
		"p90_e2el_including_client_queue_ms": "e2el_from_schedule.p90",
		"request_throughput":                 "request_throughput.mean",
		"output_troughput.mean":              "output_throughput.mean",
		"gpu_temperature":                    "",
		"":                                   "",
	}
	for id, want := range tests {
		if got := metric.Suggest(id); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", id, got, want)
		}
		if want == "" {
			continue
		}
		if _, ok := metric.Lookup(metric.Suggest(id)); !ok {
			t.Errorf("Suggest(%q) is not a metric", id)
		}
	}
}

func TestPackageDocNamesEveryGroup(t *testing.T) {
	// The definitions that a reader of `go doc` finds must not fall behind the registry.
	for _, g := range metric.Groups() {
		if !g.Metrics[0].Counted && !strings.Contains(packageDoc(t), g.Name) {
			t.Errorf("the package documentation does not define %s", g.Name)
		}
	}
}

// What is counted and nothing computes would be missing from every run.
func TestCountedMetricsHaveFormulas(t *testing.T) {
	for _, m := range metric.All() {
		if m.Counted != (len(m.Formulas) > 0) {
			t.Errorf("%s: counted %v, %d formulas", m.ID, m.Counted, len(m.Formulas))
		}
		for _, f := range m.Formulas {
			if f.Of == "" || f.By == "" {
				t.Errorf("%s: %+v", m.ID, f)
			}
		}
	}
}
