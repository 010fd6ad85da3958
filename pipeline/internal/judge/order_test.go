package judge_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
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
		change       func(r *result.Run, cell int, second bool)
		want         bool
	}{
		"a cache on a disk":          {0.1, 1, 0, 6, true, true, 0, nil, true},
		"beside a faster head":       {0.1, 0.5, 0, 6, true, true, 0, nil, true},
		"a warm machine":             {1.2, 1, 0, 6, true, true, 0, nil, true},
		"a faster head":              {1, 0.1, 0, 6, true, true, 0, nil, false},
		"nothing":                    {1, 1, 0, 6, true, true, 0, nil, false},
		"the head is always second":  {0.1, 1, 0, 6, false, true, 0, nil, false},
		"times unknown":              {0.1, 1, 0, 6, true, false, 0, nil, false},
		"one repeat in other order":  {0.1, 1, 0, 3, true, true, 0, nil, false},
		"too few for the spread":     {1.06, 1, 0.2, 4, true, true, 0, nil, false},
		"clear for one metric":       {1.1, 1, 0.02, 6, true, true, 0, nil, true},
		"as clear in one of nine":    {1.1, 1, 0.02, 6, true, true, 8, nil, false},
		"less than anybody looks at": {0.97, 1, 0, 6, true, true, 0, nil, false},
		"the base is always second": {0.1, 1, 0, 6, false, true, 0, func(r *result.Run, cell int, _ bool) {
			if cell == 1 {
				r.At -= 1000
			}
		}, false},
		"in all repeats but one": {1.2, 1, 0, 12, true, true, 0, func(r *result.Run, _ int, second bool) {
			if r.Repeat == 7 && second {
				r.Metrics["ttft.p50"] /= 1.21
			}
		}, false},
		"a base of 0 once": {1.2, 1, 0, 6, true, true, 0, func(r *result.Run, cell int, _ bool) {
			if r.Repeat == 3 && cell == 0 {
				r.Metrics["ttft.p50"] = 0
			}
		}, true},
		"a head of 0 once": {1.2, 1, 0, 6, true, true, 0, func(r *result.Run, cell int, _ bool) {
			if r.Repeat == 3 && cell == 1 {
				r.Metrics["ttft.p50"] = 0
			}
		}, true},
		"a time of the base unknown": {1.2, 1, 0, 6, true, true, 0, func(r *result.Run, cell int, second bool) {
			if r.Repeat < 3 && cell == 0 && second {
				r.At = 0
			}
		}, true},
		"a time of the head unknown": {1.2, 1, 0, 6, true, true, 0, func(r *result.Run, cell int, second bool) {
			if r.Repeat < 3 && cell == 1 && second {
				r.At = 0
			}
		}, true},
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
				if tt.change != nil {
					tt.change(&r, cell, k%2 == 1)
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

// TestTheClearestIsWarnedOf: of two metrics that show the order of the sides, or a wider spread of the head, the one that shows
// it most clearly has the warning, whichever comes first.
func TestTheClearestIsWarnedOf(t *testing.T) {
	const repeats = 6
	deviations, ofHead := []float64{0.1, -1, 0.9, 0, -0.8, 0.8}, []float64{0.9, -0.8, -1, 0.8, -0.9, 1}
	for what, value := range map[string]func(k, cell int, second, clear bool) float64{
		"second is +10.0 % against the first in each of 6 repeats": func(k, _ int, second, clear bool) float64 {
			x := 0.1 * (1 + 0.0001*deviations[k])
			if second && clear {
				x *= 1.1 + 0.001*deviations[k]
			} else if second {
				x *= 1.1 + 0.01*deviations[k]
			}
			return x
		},
		"the launches of the head spread 101 times": func(k, cell int, _, clear bool) float64 {
			switch {
			case cell == 0:
				return 0.1 * (1 + 0.0005*deviations[k])
			case clear:
				return 0.09 * (1 + 0.04*ofHead[k])
			}
			return 0.09 * (1 + 0.006*ofHead[k])
		},
	} {
		for _, metrics := range [][]string{{"ttft.p50", "tpot.p50"}, {"tpot.p50", "ttft.p50"}} {
			s := newSession()
			s.plan.Benchmarks[0].RepeatMax, s.plan.Looks, s.plan.Gates[0].Metrics = repeats, gates.Looks{repeats}, metrics
			for cell := range 2 {
				s.doc.Benchmarks[0].Cells[cell].Runs = nil
			}
			for k := range 2 * repeats {
				repeat, cell, second := k/2, k%2, k%2 == 1
				if repeat%2 == 0 {
					cell = 1 - cell
				}
				r := run(repeat+1, value(repeat, cell, second, false))
				r.Metrics["tpot.p50"], r.At = value(repeat, cell, second, true), 30+900*float64(k)
				s.add(cell, r)
			}
			if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
				t.Fatal(err)
			}
			for _, d := range s.doc.Gates[0].Decisions {
				got := strings.Contains(strings.Join(d.Warnings, "; "), what)
				if want := d.Metric == "tpot.p50"; got != want {
					t.Errorf("%v: %s is warned of (%s): %v, want %v: %q", metrics, d.Metric, what, got, want, d.Warnings)
				}
			}
		}
	}
}
