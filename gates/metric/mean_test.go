package metric_test

import (
	"math"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
)

func TestMean(t *testing.T) {
	for _, tt := range []struct {
		id     string
		values []float64
		want   float64
	}{
		{"ttft.p50", []float64{0.1, 0.4}, 0.2},
		{"ttft.p50", []float64{0.3}, 0.3},
		{"ttft.p50", []float64{0.1, 0}, 0},
		{"success.rate", []float64{0.5, 1}, 0.75},
		{"success.rate", []float64{0, 1}, 0.5},
	} {
		m, ok := metric.Lookup(tt.id)
		if got := m.Mean(tt.values); !ok || math.Abs(got-tt.want) > 1e-15 || len(tt.values) == 1 && got != tt.want {
			t.Errorf("mean of %v as %s is %v, want %v", tt.values, tt.id, got, tt.want)
		}
	}
}
