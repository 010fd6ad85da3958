package lang_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/config"
)

func TestLimitsOfAnAssert(t *testing.T) {
	metrics := map[string]float64{"ttft.p99": 0.5, "itl.mean": 0.02}
	for condition, want := range map[string][]config.Limit{
		`self.errors == 0 && self.ttft.p99 < duration("100ms") * matrix.rate`: {
			{Text: "self.errors", Op: "==", Value: 2, Limit: 0, Known: true},
			{Metric: "ttft.p99", Text: "self.ttft.p99", Op: "<", Value: 0.5, Limit: 0.8, Known: true, Holds: true},
		},
		`(0.4 >= self.ttft.p99)`: {{Metric: "ttft.p99", Text: "self.ttft.p99", Op: "<=", Value: 0.5, Limit: 0.4, Known: true}},
		`self.e2el.p50 < 3`:      {{Metric: "e2el.p50", Text: "self.e2el.p50", Op: "<", Limit: 3}},
		`self.ttft.median != 1`:  {{Metric: "ttft.p50", Text: "self.ttft.median", Op: "!=", Limit: 1}},
		`self.itl.mean * 10 <= self.ttft.p99`: {
			{Text: "self.itl.mean * 10", Op: "<=", Value: 0.2, Limit: 0.5, Known: true, Holds: true},
		},
		`self.errors / self.requests < 0.01 && !(self.errors > 10)`: {
			{Text: "self.errors / self.requests", Op: "<", Value: 0.02, Limit: 0.01, Known: true},
			{Text: "!(self.errors > 10)", Holds: true},
		},
		`self.errors == 0 || self.ttft.p99 < 1`: {{Text: "self.errors == 0 || self.ttft.p99 < 1", Holds: true}},
		`matrix.rate > 0 && self.errors < 10`: {
			{Text: "matrix.rate", Op: ">", Value: 8, Limit: 0, Known: true, Holds: true},
			{Text: "self.errors", Op: "<", Value: 2, Limit: 10, Known: true, Holds: true},
		},
	} {
		src := strings.Replace(assertFile, `self.errors == 0 && self.ttft.p99 < duration("100ms") * matrix.rate`, condition, 1)
		cfg := load(t, src)
		g, cell := cfg.Gates[0], cfg.Benchmarks[0].Cells[1]
		got, message, err := cfg.EvalAssert(g.Addr, cell.Values, config.AssertInput{Metrics: metrics, Errors: 2, Requests: 100})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", condition, diff)
		}
		all := true
		for _, l := range got {
			all = all && l.Holds
		}
		if err != nil || all != (message == "") {
			t.Errorf("%s: its limits together are %v, and the message is %q: %v", condition, all, message, err)
		}
	}
}
