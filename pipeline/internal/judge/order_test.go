package judge_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/judge"
)

// others are metrics of latencies.
var others = []string{"ttft.mean", "ttft.p90", "ttft.p95", "tpot.mean", "tpot.p50", "e2el.mean", "e2el.p50", "e2el.p90"}

// TestSecondOfEachRepeat: where the side that runs second is always faster, the decision says that launches are not
// independent; where one side is, it does not.
func TestSecondOfEachRepeat(t *testing.T) {
	for name, tt := range map[string]struct {
		second, head float64 // factors
		grows        float64 // what each repeat adds to the factor of the second
		repeats      int
		alternate    bool
		timed        bool
		others       int // metrics without an effect of the order
		want         bool
	}{
		"a cache on a disk":          {0.1, 1, 0, 6, true, true, 0, true},
		"beside a faster head":       {0.1, 0.5, 0, 6, true, true, 0, true},
		"a warm machine":             {1.2, 1, 0, 6, true, true, 0, true},
		"a faster head":              {1, 0.1, 0, 6, true, true, 0, false},
		"nothing":                    {1, 1, 0, 6, true, true, 0, false},
		"the head is always second":  {0.1, 1, 0, 6, false, true, 0, false},
		"times unknown":              {0.1, 1, 0, 6, true, false, 0, false},
		"one repeat in other order":  {0.1, 1, 0, 3, true, true, 0, false},
		"too few for the spread":     {1.06, 1, 0.2, 4, true, true, 0, false},
		"clear for one metric":       {1.1, 1, 0.02, 6, true, true, 0, true},
		"as clear in one of nine":    {1.1, 1, 0.02, 6, true, true, 8, false},
		"less than anybody looks at": {0.97, 1, 0, 6, true, true, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession()
			s.plan.Benchmarks[0].RepeatMax, s.plan.Looks = tt.repeats, gates.Looks{tt.repeats}
			for cell := range 2 {
				s.doc.Benchmarks[0].Cells[cell].Runs = nil
			}
			for k := range 2 * tt.repeats {
				repeat, cell := k/2+1, k%2
				if tt.alternate && repeat%2 == 0 {
					cell = 1 - cell
				}
				value := 0.1 * (1 + 0.002*float64(k*k%5))
				if k%2 == 1 {
					value *= tt.second + tt.grows*float64(repeat-1)
				}
				if cell == 1 {
					value *= tt.head
				}
				r := run(repeat, value)
				for i, id := range others[:tt.others] {
					s.plan.Gates[0].Metrics = append([]string{"ttft.p50"}, others[:tt.others]...)
					r.Metrics[id] = 0.1 * (1 + 0.002*float64((k+i)*k%5))
				}
				if tt.timed {
					r.At = 30 + 900*float64(k)
				}
				s.add(cell, r)
			}
			if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
				t.Fatal(err)
			}
			warnings := strings.Join(s.doc.Gates[0].Decisions[0].Warnings, "; ")
			if got := strings.Contains(warnings, "whichever side it is"); got != tt.want {
				t.Errorf("warnings: %q, want one on the order: %v", warnings, tt.want)
			}
		})
	}
}
