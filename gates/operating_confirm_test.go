package gates_test

import (
	"fmt"
	"math"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// twoMachines are files that are measured on a first machine, whose regressions count where a second one
// confirms them. What a change does differs between machines by a normal law of standard deviation between.
type twoMachines struct {
	metrics        int
	shift, between float64
	confirm        bool
}

// judge measures a file on the first machine, and what regressed on the second.
func (t twoMachines) judge(s *simulator) (ending, error) {
	all := make([]int, t.metrics)
	for i := range all {
		all[i] = i
	}
	out, err := t.on(s, all)
	if err != nil || !t.confirm {
		return out, err
	}
	var red []int
	for i, d := range out.Comparisons {
		if d.Verdict == gates.Regression {
			red = append(red, i)
		}
	}
	if len(red) == 0 {
		return out, nil
	}
	again, err := t.on(s, red)
	if err != nil {
		return out, err
	}
	out.pairs += again.pairs
	for k, i := range red {
		if again.Comparisons[k].Verdict != gates.Regression {
			out.Comparisons[i].Verdict = gates.Inconclusive
		}
	}
	return out, nil
}

// on measures some metrics of a file on a machine of its own.
func (t twoMachines) on(s *simulator, members []int) (ending, error) {
	f := gates.Family{Alpha: 0.05, Moderate: true}
	for _, i := range members {
		c := s.comparison(i, 12, t.shift, 0.02)
		own := t.between * s.rng.NormFloat64()
		if c.Metric.Direction == metric.HigherIsBetter {
			own = -own
		}
		for k := range c.Pairs {
			c.Pairs[k].Head *= math.Exp(own)
		}
		f.Comparisons = append(f.Comparisons, c)
	}
	p, err := gates.Sequence{Family: f, Looks: fiveLooks}.Judge()
	if err != nil {
		return ending{}, err
	}
	return ending{Judgement: p.Judgement, pairs: p.Taken[len(p.Taken)-1]}, nil
}

// A second machine that confirms regressions: what it takes from false alarms, and what it costs in power.
func confirmations() chart {
	c := chart{
		title: "**A confirming second machine** (`machines { confirm = true }`): 12 pairs at most on the first machine, and as many on the second of what regresses there; SD of pairs 2 %, margin 5 %, one metric unless stated. " +
			"Where machines differ, what a change does has a standard deviation of 3 % between them. 1,000 files are behind each number.",
		columns: []string{"a regression is what", "no change: regression", "5 metrics, no change: any regression", "20 metrics, no change: any regression", "6 % slower: found", "8 % slower: found", "10 % slower: found", "20 % slower: found", "mean pairs at no change", "mean pairs at 8 %"},
		costly:  true, files: 1000,
	}
	at5, none := atMostPercent(5), bound{}
	for _, tt := range []struct {
		label   string
		between float64
		confirm bool
		bounds  []bound
	}{
		{"the first machine shows", 0, false, []bound{at5, at5, at5, none, atLeastPercent(95), atLeastPercent(99), atLeastPercent(99)}},
		{"the second confirms", 0, true, []bound{at5, at5, at5, none, atLeastPercent(95), atLeastPercent(99), atLeastPercent(99)}},
		{"the first machine shows, and they differ by 3 %, which is no promise", 0.03, false, make([]bound, 7)},
		{"the second confirms, and they differ by 3 %", 0.03, true, []bound{at5, at5, none, none, none, none, atLeastPercent(99)}},
	} {
		draw := func(metrics int, change float64) *scenario {
			return &scenario{fmt.Sprintf("confirm, %s, %d metrics, %g", tt.label, metrics, change), twoMachines{metrics, math.Log1p(change), tt.between, tt.confirm}.judge}
		}
		same, eight := draw(1, 0), draw(1, 0.08)
		c.lines = append(c.lines, line{tt.label, []cell{
			{same, isRed, tt.bounds[0]}, {draw(5, 0), isRed, tt.bounds[1]}, {draw(20, 0), isRed, tt.bounds[2]},
			{draw(1, 0.06), isFound, tt.bounds[3]}, {eight, isFound, tt.bounds[4]}, {draw(1, 0.10), isFound, tt.bounds[5]}, {draw(1, 0.20), isFound, tt.bounds[6]},
			{same, nil, none}, {eight, nil, none},
		}})
	}
	return c
}
