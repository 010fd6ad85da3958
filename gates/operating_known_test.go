package gates_test

import (
	"fmt"
	"math"

	"github.com/servegate/pipeline/gates"
	"gonum.org/v1/gonum/stat/distuv"
)

var (
	earlyLooks = gates.LooksBetween(2, 12)
	// calibratedPairs are the degrees of freedom of a calibration as `pipeline calibrate` makes it.
	calibratedPairs = 10
)

// known is a comparison whose spread was calibrated when it was wrong times smaller than today.
func (s *simulator) known(c gates.Comparison, sd, wrong, within float64) gates.Comparison {
	df := float64(calibratedPairs)
	drawn := distuv.ChiSquared{K: df, Src: s.rng}.Rand()
	c.Known = &gates.Known{SD: sd / wrong * math.Sqrt(drawn/df), DF: df, Within: within}
	return c
}

// early is a file that is judged from 2 pairs on.
func early(name string, draw func(s *simulator) gates.Family) *scenario {
	return inStages(name, func(s *simulator) gates.Sequence { return gates.Sequence{Family: draw(s), Looks: earlyLooks} })
}

// What is promised when the calibration is right, and when it is not.
func knownSpreads() chart {
	c := chart{
		checked: fewFiles,
		title: fmt.Sprintf(
			"**Known spread** (`variance`), calibrated with %d pairs, files judged after 2, 4, 6, 8, 10 and 12 repeats, %% of files. "+
				"The variance is that of the pairs over that when it was calibrated: `within = 1.5`, the default, is made for up to 2.25, `within = "+
				"2` for up to 4; rows beyond that are of a calibration that is wrong.", calibratedPairs),
		columns: []string{"factor allowed, and variance today", "5 metrics, CV 5 %, no change: regression", "the same: improvement",
			"20 metrics, no change: regression", "the same: improvement",
			"SD 2 %, one metric at the margin: it passes", "SD 2 %, as fast, improvement expected: certified"},
	}
	for _, tt := range []struct{ within, variance float64 }{
		{1.5, 0.5}, {1.5, 1}, {1.5, 2}, {1.5, 4}, {1.5, 9}, {2, 0.25}, {2, 1}, {2, 4}, {2, 9},
	} {
		most, certified := atMostPercent(5), atMostPercent(5)
		if tt.variance > tt.within*tt.within { // more than the file allows for
			most, certified = atMostPercent(6), atMostPercent(7)
		}
		wrong := math.Sqrt(tt.variance)
		label := fmt.Sprintf("within = %g, variance × %g", tt.within, tt.variance)
		seeded := fmt.Sprintf("%g times, within = %g", tt.variance, tt.within)
		unchanged := func(metrics int, name string) *scenario {
			return early(name+seeded, func(s *simulator) gates.Family {
				f := s.quiet(metrics, 1, math.Sqrt2*0.05)
				for i := range f.Comparisons {
					f.Comparisons[i] = s.known(f.Comparisons[i], math.Sqrt2*0.05, wrong, tt.within)
				}
				return f
			})
		}
		same, many := unchanged(5, "known, no change, "), unchanged(20, "known, no change in 20, ")
		marginal := early("known, at the margin, "+seeded, func(s *simulator) gates.Family {
			return gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{s.known(s.comparison(0, 12, math.Log(1.05), 0.02), 0.02,
				wrong, tt.within)}}
		})
		expected := early("known, expected, "+seeded, func(s *simulator) gates.Family {
			return gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{expects(s.known(s.comparison(0, 12, 0, 0.02), 0.02, wrong, tt.within),
				0)}}
		})
		c.lines = append(c.lines, line{label, []cell{
			{same, isRed, most}, {same, isBetter, most}, {many, isRed, most}, {many, isBetter, most}, {marginal, isPassed, most},
			{expected, isCertified, certified},
		}})
	}
	return c
}

// What a known spread saves, beside the rule without one on the same kind of file.
func knownSavings() chart {
	c := chart{
		checked: fewFiles,
		title: fmt.Sprintf(
			"**What a known spread saves**: files of 5 metrics, calibrated with %d pairs when the spread was today's, `within = 1.5`. "+
				"Pairs are the mean until all is decided, without a known spread from 4 pairs on, with one from 2.", calibratedPairs),
		columns: []string{"the file", "decided as it is, without", "with, %", "pairs without", "pairs with"},
	}
	for _, sd := range []float64{0.01, 0.02, 0.03, 0.04} {
		for _, tt := range []struct {
			label   string
			change  float64
			changed int
			right   func(ending) bool
		}{{"no change", 0, 0, isGreen}, {"8 % slower in one", 0.08, 1, isFound}, {"10 % slower in all", 0.10, 5, isFound}} {
			label := fmt.Sprintf("%s, SD of pairs %s", tt.label, percent(sd))
			draw := func(s *simulator) gates.Family {
				f := gates.Family{Alpha: 0.05}
				for i := range 5 {
					shift := 0.0
					if i < tt.changed {
						shift = math.Log1p(tt.change)
					}
					f.Comparisons = append(f.Comparisons, s.comparison(i, 12, shift, sd))
				}
				return f
			}
			without := looked("known spread for nothing, "+label, draw)
			with := early("known spread, "+label, func(s *simulator) gates.Family {
				f := draw(s)
				for i := range f.Comparisons {
					f.Comparisons[i] = s.known(f.Comparisons[i], sd, 1, gates.DefaultWithin)
				}
				return f
			})
			c.lines = append(c.lines, line{label, []cell{{without, tt.right, bound{}}, {with, tt.right, bound{}}, {without, nil, bound{}},
				{with, nil, bound{}}}})
		}
	}
	return c
}
