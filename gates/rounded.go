package gates

import (
	"math"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
)

// Values that were rounded before they came here may show no spread at all, where the truth
// has one: +3 % on a grid of 5 % is +5 % in every repeat. What a clock measures does not
// repeat to the last digit, so values that do count as rounded, by the smallest step
// between any two of them. What is the same in all repeats of both sides shows no other step
// than the difference itself.

// alike is the relative difference below which two values are the same one.
const alike = 1e-9

// stepOf is the smallest difference between two values, on the scale of the test, if a side
// has one value twice; 0 if none has, or if all are the same. Counts are not rounded, and
// neither are shares of the same prompts.
func stepOf(m metric.Metric, sides ...[]float64) float64 {
	if m.Unit == metric.Count || m.Unit == metric.Bytes || m.Quality || m.Counted {
		return 0
	}
	s := m.Scale
	var all []float64
	twice := false
	for _, side := range sides {
		side = slices.Sorted(slices.Values(side))
		for i := range side {
			twice = twice || i > 0 && same(side[i-1], side[i])
		}
		all = append(all, side...)
	}
	if !twice {
		return 0
	}
	slices.Sort(all)
	step := 0.0
	for i := range all {
		if i == 0 || same(all[i-1], all[i]) {
			continue
		}
		gap := all[i] - all[i-1]
		if s == metric.Log {
			gap = math.Log(all[i] / all[i-1])
		}
		if step == 0 || gap < step {
			step = gap
		}
	}
	return step
}

func same(a, b float64) bool { return b-a <= alike*math.Max(math.Abs(a), math.Abs(b)) }

// rounded takes what rounding to a step leaves unknown for a bias of the mean, where the pairs
// spread by less than rounding alone would make them, step/√6: then all of them are off by the
// same, by up to half a step on each side, and no mean is better. The p values become those
// against the least favourable bias, by which bounds are further out.
func (s *Statistic) rounded(step float64) (bias float64) {
	if s.Noise.SD >= step/math.Sqrt(6) || s.Shift == 0 && s.Exact {
		return 0
	}
	s.Rounded = true
	if s.Exact {
		s.exact(step * (1 + alike))
	} else {
		s.Greater, s.Less = tSurvival((s.Shift-step)/s.SE, s.DF), tSurvival(-(s.Shift+step)/s.SE, s.DF)
	}
	return step
}
