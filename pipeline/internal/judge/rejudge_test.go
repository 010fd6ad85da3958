package judge

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// TestMeasuresOfAStoredRun: what a run measured is not judged, or shown, by another definition or price.
func TestMeasuresOfAStoredRun(t *testing.T) {
	of := func(series string, price float64, gated ...string) *plan.Plan {
		return &plan.Plan{
			Measures: []steps.Measure{{Name: "swaps", Series: series, Kind: steps.MeasureCounter, Factor: 1}},
			Price:    &result.Price{Currency: "USD", GPUHour: price},
			Gates:    []plan.Gate{{Addr: "gate.g", Metrics: gated}},
		}
	}
	for name, tt := range map[string]struct {
		now  *plan.Plan
		want string
	}{
		"the same": {of("a_total", 2, "measure.swaps", "cost.per_million_tokens"), ""},
		"another series": {of("b_total", 2, "measure.swaps"),
			"gate.g: metric.measure.swaps was measured by another definition in this run (what the counter a_total"},
		"another price": {of("a_total", 3, "cost.per_million_tokens"), "a GPU is 2 USD an hour"},
		"no gate on it": {of("b_total", 3, "ttft.p50"), ""},
	} {
		stored := of("a_total", 2)
		err := adopt(tt.now, stored)
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if err == nil && (tt.now.Price.GPUHour != 2 || tt.now.Measures[0].Series != "a_total") {
			t.Errorf("%s: shown as %+v", name, tt.now.Described())
		}
	}
}
