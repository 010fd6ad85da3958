package steps_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/pipeline/steps"
)

// The usual limit on the share of requests that succeed is there once: a file that sets its own is not overruled.
func TestLimitSuccess(t *testing.T) {
	ttft := steps.Objective{Metric: "ttft.p99", Limit: 0.2}
	for name, tt := range map[string]struct{ slo, want []steps.Objective }{
		"none":    {[]steps.Objective{ttft}, []steps.Objective{ttft, {Metric: "success.rate", Limit: steps.SearchSuccess}}},
		"its own": {[]steps.Objective{{Metric: "success.rate", Limit: 0.5}, ttft}, []steps.Objective{{Metric: "success.rate", Limit: 0.5}, ttft}},
	} {
		s := steps.Search{SLO: tt.slo}
		s.LimitSuccess()
		if diff := cmp.Diff(tt.want, s.SLO); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
