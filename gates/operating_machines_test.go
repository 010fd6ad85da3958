package gates_test

import (
	"cmp"
	"fmt"
	"math"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// inBlocks draws a comparison of n pairs that take turns on machines, on each of which the change is
// another one, by a normal law of standard deviation between: around shift, or, where the claim is about
// these machines, around a mean over them that is shift.
func (s *simulator) inBlocks(i, n, machines int, shift, sd, between float64, these bool) gates.Comparison {
	c := s.comparison(i, n, shift, sd)
	own, mean := make([]float64, machines), 0.0
	for k := range own {
		own[k] = between * s.rng.NormFloat64()
		mean += own[k] / float64(machines)
	}
	c.Blocks = map[int]string{}
	for k := range c.Pairs {
		d := own[k%machines]
		if these {
			d -= mean
		}
		if c.Metric.Direction == metric.HigherIsBetter {
			d = -d
		}
		c.Pairs[k].Head *= math.Exp(d)
		c.Blocks[k] = fmt.Sprint(k % machines)
	}
	return c
}

// Machines as blocks: what a change does differs between them by 3 %, as a standard deviation.
func machines() chart {
	const between = 0.03
	c := chart{
		title: "**Machines as blocks** (`machines`): 12 pairs at most, in turn on some machines, between which what a change does has a " +
			"standard deviation of 3 %; SD of the pairs of one machine 2 %, margin 5 %, 12 pairs and one metric unless stated. " +
			"Verdicts are about the mean over the machines of the run, or with `between = \"3%\"` about all machines like these. 500 files are " +
			"behind each number.",
		columns: []string{"machines, and what is true", "no change: regression", "5 metrics, no change: any regression",
			"at the margin: it passes", "no change: it passes", "8 % slower: found", "10 % slower: found"},
		checked: fewFiles, files: 500,
	}
	promised := []bound{atMostPercent(5), atMostPercent(5), atMostPercent(5), {}, {}, {}}
	for _, tt := range []struct {
		label        string
		machines     int
		pairs        int     // 12 unless set
		sd           float64 // 2 % unless set
		these        bool
		given, truth float64 // between
		margin       metric.Margin
		rule         func(string, func(*simulator) gates.Family) *scenario
		bounds       []bound
	}{
		{"2, of the mean over these", 2, 0, 0, true, 0, between, 0.05, looked, []bound{atMostPercent(5), atMostPercent(5), atMostPercent(5), {},
			atLeastPercent(95), atLeastPercent(99)}},
		{"2, of all, without `between`, which is no promise", 2, 0, 0, false, 0, between, 0.05, looked, make([]bound, 6)},
		{"2, of all", 2, 0, 0, false, between, between, 0.05, looked, promised},
		{"2, of all, margin 4 %, judged once", 2, 0, 0, false, between, between, 0.04, once, promised},
		{"3, of all", 3, 0, 0, false, between, between, 0.05, looked, append(promised[:4:4], atLeastPercent(90), atLeastPercent(98))},
		{"4, of all", 4, 0, 0, false, between, between, 0.05, looked, append(promised[:4:4], atLeastPercent(95), atLeastPercent(99))},
		{"6, of all", 6, 0, 0, false, between, between, 0.05, looked, append(promised[:4:4], atLeastPercent(95), atLeastPercent(99))},
		{"2, of all, and they differ by 1.5 %", 2, 0, 0, false, between, between / 2, 0.05, looked, promised},
		{"2, of all, 2 pairs of SD 5 %, that differ by 1 %, judged once", 2, 2, 0.05, false, between / 3, between / 3, 0.05, once, promised},
		{"2, of all, 4 pairs of SD 5 %, that differ by 1 %, judged once", 2, 4, 0.05, false, between / 3, between / 3, 0.05, once, promised},
		{"2, of all, and they differ by 6 %", 2, 0, 0, false, between, 2 * between, 0.05, looked, make([]bound, 6)},
	} {
		draw := func(what string, members int, shift float64) *scenario {
			return tt.rule("machines, "+tt.label+", "+what, func(s *simulator) gates.Family {
				f := gates.Family{Alpha: 0.05}
				for i := range members {
					c := s.inBlocks(i, cmp.Or(tt.pairs, 12), tt.machines, shift, cmp.Or(tt.sd, 0.02), tt.truth, tt.these)
					c.Margin, c.Between = tt.margin, gates.BetweenOf(c.Metric, tt.given)
					f.Comparisons = append(f.Comparisons, c)
				}
				return f
			})
		}
		same := draw("no change", 1, 0)
		c.lines = append(c.lines, line{tt.label, []cell{
			{same, isRed, tt.bounds[0]}, {draw("no change in 5", 5, 0), isRed, tt.bounds[1]},
			{draw("at the margin", 1, math.Log1p(float64(tt.margin))), isPassed, tt.bounds[2]}, {same, isPassed, tt.bounds[3]},
			{draw("8 %", 1, math.Log1p(0.08)), isFound, tt.bounds[4]}, {draw("10 %", 1, math.Log1p(0.10)), isFound, tt.bounds[5]},
		}})
	}
	return c
}
