package cli

import "testing"

// TestMetricID: flags name metrics of the registry by any of their names, and measures of files.
func TestMetricID(t *testing.T) {
	for name, want := range map[string]string{"ttft.median": "ttft.p50", "measure.drafted": "measure.drafted",
		"metric.measure.drafted": "measure.drafted"} {
		if got, err := metricID(name); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := metricID("tftt.p50"); err == nil {
		t.Error("a misspelt metric is taken")
	}
}
