package judge

import (
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// Metrics of a launch are judged as others are: a capacity that is the same in every launch
// has no spread, and that is a pass, not a division by zero.
func TestMetricsOfALaunch(t *testing.T) {
	for _, tt := range []struct {
		name string
		head float64
		want result.Verdict
	}{
		{"same", 40_000, result.Pass},
		{"a tenth less", 36_000, result.Regression},
		{"a tenth more", 44_000, result.Improvement},
		{"unknown", 0, result.Missing},
	} {
		s := newSession()
		s.plan.Gates[0].Metrics = []string{"kv_cache.tokens"}
		s.plan.Gates[0].Comparisons = append(s.plan.Gates[0].Comparisons, plan.Comparison{
			Head: "base", Base: "head", HeadValue: "base", BaseValue: "head", SameLaunches: true,
		})
		for cell, tokens := range []float64{40_000, tt.head} {
			s.each(cell, func(r *result.Run) {
				if tokens > 0 {
					r.Metrics["kv_cache.tokens"] = tokens
				}
			})
		}
		if err := Judge(s.plan, s.doc, Options{}); err != nil {
			t.Fatal(err)
		}
		var found []result.Decision
		for _, d := range s.doc.Gates[0].Decisions {
			if d.Metric == "kv_cache.tokens" {
				found = append(found, d)
			}
		}
		if len(found) != 1 || found[0].Verdict != tt.want {
			t.Errorf("%s: %+v, want one decision, %s", tt.name, found, tt.want)
		}
	}
}
