package judge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// A spread that was calibrated with another version of the engine is used, and the decision says so.
func TestASpreadOfAnotherVersionIsWarnedOf(t *testing.T) {
	for name, tt := range map[string]struct {
		calibrated string
		describe   map[string]string
		want       string
	}{
		"the same": {"0.33.0", map[string]string{"version": "0.33.0"}, ""},
		"another": {"0.32.0", map[string]string{"version": "0.33.0"},
			"calibrated with version 0.32.0 of the engine, and the base has 0.33.0"},
		"of a deployment":  {"0.32.0", map[string]string{"decode/version": "0.33.0", "prefill/version": "0.33.0"}, "the base has 0.33.0"},
		"not known then":   {"", map[string]string{"version": "0.33.0"}, ""},
		"not known today":  {"0.32.0", nil, ""},
		"members of mixed": {"0.32.0, 0.33.0", map[string]string{"decode/version": "0.33.0", "prefill/version": "0.32.0"}, ""},
	} {
		s := newSession()
		s.plan.Variance = &plan.Variance{
			Calibration: "c", Time: time.Unix(0, 0), Within: 1.5,
			Spreads: []plan.Spread{{Cell: "base", Metric: "ttft.p50", SD: 0.01, DF: 8, Version: tt.calibrated}},
		}
		s.doc.Targets = []result.Target{{Addr: "server.vllm.base", Describe: tt.describe},
			{Addr: "server.vllm.head", Describe: map[string]string{"version": "0.99"}}}
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		d := s.doc.Gates[0].Decisions[0]
		if text := strings.Join(d.Warnings, "; "); d.Known == nil || (tt.want == "") != (text == "") || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %q", name, text)
		}
	}
}
