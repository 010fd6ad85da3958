package cli

import (
	"strings"
	"testing"
)

// TestMetricID: flags name metrics of the registry by any of their names, and measures of files.
func TestMetricID(t *testing.T) {
	for name, want := range map[string]string{"ttft.median": "ttft.p50", "measure.drafted": "measure.drafted",
		"metric.measure.drafted": "measure.drafted"} {
		if got, err := metricID(name); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]string{"tftt.p50": "did you mean ttft.p50?", "nope": "pipeline schema metric lists them"} {
		if _, err := metricID(name); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
