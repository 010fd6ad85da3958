package steps

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The usual limit on the share of requests that succeed is there once: a file that sets its own is not overruled.
func TestLimitSuccess(t *testing.T) {
	ttft := Objective{Metric: "ttft.p99", Limit: 0.2}
	for name, tt := range map[string]struct{ slo, want []Objective }{
		"none":    {[]Objective{ttft}, []Objective{ttft, {Metric: "success.rate", Limit: SearchSuccess}}},
		"its own": {[]Objective{{Metric: "success.rate", Limit: 0.5}, ttft}, []Objective{{Metric: "success.rate", Limit: 0.5}, ttft}},
	} {
		s := Search{SLO: tt.slo}
		s.LimitSuccess()
		if diff := cmp.Diff(tt.want, s.SLO); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
