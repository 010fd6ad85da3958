package reports

import (
	"testing"

	"github.com/servegate/pipeline/reports/humanize"
)

// TestSpread: a spread beyond all bounds is a number that people read.
func TestSpread(t *testing.T) {
	for want, values := range map[string][]float64{"10.7 %": {1, 1.1, 1.2, 1.05, 1.3}, "141 %": {0, 1}, humanize.None: {1}} {
		if got := spread(values); got != want {
			t.Errorf("spread(%v) = %s, want %s", values, got, want)
		}
	}
}
