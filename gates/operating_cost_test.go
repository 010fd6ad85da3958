package gates_test

import (
	"fmt"
	"math"

	"github.com/servegate/pipeline/gates"
)

// costs sets a run with a budget, which ends as soon as its verdict is settled or not likely to
// come, beside one without, on the same files.
func costs() chart {
	c := chart{
		title: "**What a budget saves**: 300 files of 20 metrics each, margin 5 %, with the rule of a run without a budget and with that of " +
			"one that has it, which ends once every gate " +
			"has its verdict, or once nothing that is left is likely to be decided. A repeat of a 7B server (1 GPU, 90 s of start, 4 cells of 70 " +
			"s) is 0.21 GPU-hours, 24 % of them start; " +
			"one of a 70B server (8 GPUs, 5 min) 2.6, 52 % of them start.",
		columns: []string{"files", "without: mean pairs", "with: mean pairs", "without: red, %", "with: red, %",
			"without: green, %", "with: green, %"},
		checked: fewFiles,
		files:   300,
	}
	for _, truth := range []struct {
		label     string
		one, many float64
		red       bound
	}{
		{"no change", 0, 0, atMostPercent(5)},
		{"+8 % in one", 0.08, 0, bound{}},
		{"+10 % in all", 0.10, 0.10, bound{}},
	} {
		for _, sd := range []float64{0.01, 0.02, 0.03, 0.04} {
			label := fmt.Sprintf("%s, SD %s", truth.label, percent(sd))
			draw := func(s *simulator) gates.Family {
				f := gates.Family{Alpha: 0.05}
				for i := range 20 {
					change := truth.many
					if i == 0 {
						change = truth.one
					}
					f.Comparisons = append(f.Comparisons, s.comparison(i, 12, math.Log1p(change), sd))
				}
				return f
			}
			without := looked("without a budget, "+label, draw)
			with := thrifty("with a budget, "+label, draw)
			c.lines = append(c.lines, line{label, []cell{
				{without, nil, bound{}}, {with, nil, bound{}},
				{without, isRed, truth.red}, {with, isRed, truth.red},
				{without, isGreen, bound{}}, {with, isGreen, bound{}},
			}})
		}
	}
	return c
}

// thrifty is a file that is judged by a sequence of five looks as a run with a budget takes them.
func thrifty(name string, draw func(s *simulator) gates.Family) *scenario {
	return &scenario{name, func(s *simulator) (ending, error) { return spend(draw(s), fiveLooks, true, nil) }}
}
