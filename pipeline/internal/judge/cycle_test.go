package judge_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// Every fourth run of a quarter of an hour is slower, whichever side it is on: the decision says that the runs follow a
// clock. Imported runs have no times.
func TestRunsThatFollowAClock(t *testing.T) {
	for name, tt := range map[string]struct {
		every  int
		timed  bool
		head   float64 // factor
		zero   bool    // a run has a value of 0
		metric string
		want   string
	}{
		"an hourly job":          {4, true, 1, false, "ttft.p50", "rise and fall by 12 % with a period of about 60 min"},
		"no job":                 {0, true, 1, false, "ttft.p50", ""},
		"times unknown":          {4, false, 1, false, "ttft.p50", ""},
		"a single spike":         {1000, true, 1, false, "ttft.p50", ""},
		"beside a slower head":   {4, true, 1.5, false, "ttft.p50", "rise and fall by 12 % with a period of about 60 min"},
		"only a slower head":     {0, true, 1.5, false, "ttft.p50", ""},
		"a value without a log":  {4, true, 1, true, "ttft.p50", "with a period of about 60 min"},
		"a metric without ratio": {4, true, 1, false, "prefix_cache.hit_rate", "rise and fall by 1.21 pp with a period of about 60 min"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession()
			const repeats = 12
			s.plan.Benchmarks[0].RepeatMax, s.plan.Looks = repeats, gates.Looks{repeats}
			s.plan.Gates[0].Metrics = []string{tt.metric}
			for cell := range 2 {
				s.doc.Benchmarks[0].Cells[cell].Runs = nil
			}
			noise := rand.New(rand.NewPCG(1, 2))
			for k := range 2 * repeats {
				headFirst := k/2%3 == 1
				cell := k % 2
				if headFirst {
					cell = 1 - cell
				}
				value := 0.1 * (1 + 0.008*noise.Float64())
				if tt.every > 0 && k%tt.every == 2 {
					value *= 1.12
				}
				if cell == 1 {
					value *= tt.head
				}
				if tt.zero && k == 9 {
					value = 0
				}
				r := run(k/2+1, value)
				r.Metrics[tt.metric] = value
				if tt.timed {
					r.At = 30 + 900*float64(k)
				}
				s.add(cell, r)
			}
			if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
				t.Fatal(err)
			}
			warnings := strings.Join(s.doc.Gates[0].Decisions[0].Warnings, "; ")
			if !strings.Contains(warnings, tt.want) || strings.Contains(warnings, "a period of") != (tt.want != "") {
				t.Errorf("warnings: %q, want %q", warnings, tt.want)
			}
			if s.doc.Gates[0].Decisions[0].Kind != result.KindMetric {
				t.Errorf("the decision is of kind %q", s.doc.Gates[0].Decisions[0].Kind)
			}
		})
	}
}
