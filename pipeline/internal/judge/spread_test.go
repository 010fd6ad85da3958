package judge_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/judge"
)

// TestSpreadOfTheHead: a pass says that the launches of the head spread more than the base's where they clearly do.
func TestSpreadOfTheHead(t *testing.T) {
	for name, tt := range map[string]struct {
		base, head float64 // spreads
		slow       float64 // what the head's first launch is slower by
		change     float64
		others     int // metrics that spread alike
		want       bool
	}{
		"alike":                       {0.01, 0.01, 0, 1, 0, false},
		"the head spreads more":       {0.005, 0.04, 0, 0.95, 0, true},
		"the base spreads more":       {0.04, 0.005, 0, 0.95, 0, false},
		"a regression":                {0.005, 0.04, 0, 1.5, 0, false},
		"clear for one metric":        {0.01, 0.04, 0, 0.9, 0, true},
		"as clear in one of nine":     {0.01, 0.04, 0, 0.9, 8, false},
		"the base does not spread":    {0, 0.04, 0, 0.9, 0, false},
		"one launch, of either side?": {0.01, 0.01, 0.2, 0.8, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			const repeats = 6
			s := newSession()
			s.plan.Benchmarks[0].RepeatMax, s.plan.Looks = repeats, gates.Looks{repeats}
			s.plan.Gates[0].Metrics = append([]string{"ttft.p50"}, others[:tt.others]...)
			for cell := range 2 {
				s.doc.Benchmarks[0].Cells[cell].Runs = nil
			}
			deviations, ofHead := []float64{0.1, -1, 0.9, 0, -0.8, 0.8}, []float64{0.9, -0.8, -1, 0.8, -0.9, 1}
			for k := range repeats {
				slow := 0.0
				if k == 0 {
					slow = tt.slow
				}
				base, head := run(k+1, 0.1*(1+tt.base*deviations[k])), run(k+1, 0.1*tt.change*(1+slow+tt.head*ofHead[k]))
				for _, id := range others[:tt.others] {
					base.Metrics[id], head.Metrics[id] = 0.1*(1+0.01*deviations[k]), 0.1*(1+0.01*deviations[repeats-1-k])
				}
				s.add(0, base)
				s.add(1, head)
			}
			if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
				t.Fatal(err)
			}
			d := s.doc.Gates[0].Decisions[0]
			if got := strings.Contains(strings.Join(d.Warnings, "; "), "spread"); got != tt.want {
				t.Errorf("%s, warnings: %q, want one on the spread: %v", d.Verdict, d.Warnings, tt.want)
			}
		})
	}
}
