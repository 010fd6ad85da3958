package judge_test

import (
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
		every int
		timed bool
		want  bool
	}{
		"an hourly job":  {4, true, true},
		"no job":         {0, true, false},
		"times unknown":  {4, false, false},
		"a single spike": {1000, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession()
			const repeats = 12
			s.plan.Benchmarks[0].RepeatMax, s.plan.Looks = repeats, gates.Looks{repeats}
			for cell := range 2 {
				s.doc.Benchmarks[0].Cells[cell].Runs = nil
			}
			for k := range 2 * repeats {
				headFirst := k/2%3 == 1
				cell := k % 2
				if headFirst {
					cell = 1 - cell
				}
				value := 0.1 * (1 + 0.002*float64(k*k%5))
				if tt.every > 0 && k%tt.every == 2 {
					value *= 1.12
				}
				r := run(k/2+1, value)
				if tt.timed {
					r.At = 30 + 900*float64(k)
				}
				s.add(cell, r)
			}
			if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
				t.Fatal(err)
			}
			warnings := strings.Join(s.doc.Gates[0].Decisions[0].Warnings, "; ")
			if got := strings.Contains(warnings, "a period of about 60 min"); got != tt.want {
				t.Errorf("warnings: %q, want one on a period: %v", warnings, tt.want)
			}
			if s.doc.Gates[0].Decisions[0].Kind != result.KindMetric {
				t.Errorf("the decision is of kind %q", s.doc.Gates[0].Decisions[0].Kind)
			}
		})
	}
}
