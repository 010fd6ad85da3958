package gates_test

import (
	"math"

	"github.com/servegate/pipeline/gates"
)

// onesided is noise that one side has and the other has not.
type onesided struct {
	label string
	// base and head draw the noise of ln of a run, with mean 0.
	base, head func(s *simulator) float64
	bounded    float64
}

// oneSided: what pairs cannot know is whether a side that was quiet in all of its launches is so at all.
func oneSided() chart {
	normal := func(sd float64) func(*simulator) float64 {
		return func(s *simulator) float64 { return sd * s.rng.NormFloat64() }
	}
	// skewed runs have an exponential delay: most are a little faster than the mean, a few far slower.
	skewed := func(sd float64) func(*simulator) float64 {
		return func(s *simulator) float64 { return sd * (s.rng.ExpFloat64() - 1) }
	}
	c := chart{
		title: "**Noise of one side**, one metric, margin 5 %, % of files. SD is that of ln of a run; the quiet side has 1 %. Skewed runs have " +
			"an exponential delay.",
		columns: []string{"the noisy side", "no change: regression", "no change: improvement", "at the margin: it passes", "10 % slower: found"},
	}
	for _, tt := range []onesided{
		{"head, normal, SD 4 %", normal(0.01), normal(0.04), 5},
		{"base, normal, SD 4 %", normal(0.04), normal(0.01), 5},
		{"head, skewed, SD 2 %", normal(0.01), skewed(0.02), 0},
		{"head, skewed, SD 4 %", normal(0.01), skewed(0.04), 0},
		{"base, skewed, SD 4 %", skewed(0.04), normal(0.01), 0},
		{"both, skewed, SD 4 %", skewed(0.04), skewed(0.04), 5},
	} {
		sc := func(shift float64, what string) *scenario {
			return looked("one side, "+tt.label+what, func(s *simulator) gates.Family {
				x := gates.Comparison{ID: "0", Gate: "gate.g", Metric: s.lowerIsBetter(), Claim: gates.Claim{Margin: 0.05}, CanFail: true}
				for k := range 12 {
					x.Pairs = append(x.Pairs, gates.Pair{Repeat: k, Base: math.Exp(tt.base(s)), Head: math.Exp(shift + tt.head(s))})
				}
				return gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{x}}
			})
		}
		same := sc(0, "")
		c.lines = append(c.lines, line{tt.label, []cell{{same, isRed, atMostPercent(tt.bounded)}, {same, isBetter, atMostPercent(tt.bounded)},
			{sc(math.Log(1.05), ", at the margin"), isPassed, atMostPercent(tt.bounded)}, {sc(math.Log(1.10), ", 10 % slower"), isFound, bound{}}}})
	}
	return c
}
