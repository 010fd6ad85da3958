package gates

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
)

// Values printed with few digits may have no spread although the true values have one, and their mean is off
// by up to half a step of the last digit, however many there are. The step comes from the printed digits, never
// from the difference of the sides, which is the question: 100 in every repeat against 146 differ by 46 steps.

// alike is the relative difference below which two values are equal.
const alike = 1e-9

// Rounding is the error of the difference of two sides whose values were printed with few digits, on the scale
// of the test.
type Rounding struct {
	// Bias is the largest error of the mean difference: half a step on each side.
	Bias float64
	// SD is the least standard deviation of a difference, from two errors that are uniform over a step.
	SD float64
	// Printed is set if the digits come from a text. Otherwise zeros at the end may be missing.
	Printed bool
}

// roundingOfSessions returns the rounding of sessions. A session's value is the geometric mean of its repeats.
// Its float64 has many digits even if all repeats have the same few.
func roundingOfSessions(m metric.Metric, printed float64, base, head []float64) Rounding {
	return roundingOfSides(m, printed, significant(base), significant(head))
}

// significant returns values with the digits in which two of them can differ, see alike.
func significant(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 9, 64), 64) // of FormatFloat
	}
	return out
}

// roundingOfSides returns the rounding of both sides. Counts and shares of the same prompts are not rounded.
// printed is the step of the text in the unit of the values, 0 if unknown.
func roundingOfSides(m metric.Metric, printed float64, base, head []float64) Rounding {
	if m.Unit == metric.Count || m.Unit == metric.Bytes || m.Quality || m.Counted {
		return Rounding{}
	}
	step := digitStep(base, head)
	if printed > 0 && (step == 0 || printed < step) {
		step = printed
	}
	step = max(step, gridOf(base), gridOf(head))
	if step == 0 {
		return Rounding{}
	}
	b, h := 1.0, 1.0
	if m.Scale == metric.Log {
		b, h = 1/smallest(base), 1/smallest(head)
	}
	r := Rounding{Bias: step / 2 * (b + h), SD: step * math.Hypot(b, h) / math.Sqrt(12), Printed: printed > 0}
	if math.IsNaN(r.Bias) || math.IsInf(r.Bias, 0) {
		return Rounding{}
	}
	return r
}

// digitStep returns the step of the last decimal digit of any value, 0 if all values are 0.
func digitStep(sides ...[]float64) float64 {
	last, found := 0, false
	for _, v := range slices.Concat(sides...) {
		if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(math.Abs(v), 'e', -1, 64), "e")
		e, _ := strconv.Atoi(exponent) // of FormatFloat
		if _, digits, ok := strings.Cut(mantissa, "."); ok {
			e -= len(digits)
		}
		if !found || e < last {
			last, found = e, true
		}
	}
	if !found {
		return 0
	}
	return math.Pow(10, float64(last))
}

// gridOf returns the smallest difference between values of one side that has a value twice: times of a clock do
// not repeat to the last digit. It returns 0 if no value repeats, or all are the same.
func gridOf(side []float64) float64 {
	side = slices.Sorted(slices.Values(side))
	step, twice := 0.0, false
	for i := 1; i < len(side); i++ {
		if same(side[i-1], side[i]) {
			twice = true
		} else if gap := side[i] - side[i-1]; step == 0 || gap < step {
			step = gap
		}
	}
	if !twice {
		return 0
	}
	return step
}

func smallest(values []float64) float64 {
	least := math.Inf(1)
	for _, v := range values {
		least = min(least, math.Abs(v))
	}
	return least
}

func same(a, b float64) bool { return b-a <= alike*math.Max(math.Abs(a), math.Abs(b)) }

// rounded returns the rounding as a bias of the mean if n differences spread by less than rounding alone would
// spread them, because all may then have the same error. It sets their spread to that of rounding, and the p
// values to those for the least favourable bias. Bounds must be wider by the bias.
func (s *Statistic) rounded(r Rounding, n float64) (bias float64) {
	equal := s.Exact && s.Greater == s.Less
	if s.Noise.SD >= r.SD || equal && !r.Printed {
		return 0
	}
	s.Rounded, s.Exact = true, false
	s.Noise.SD = r.SD
	s.SE = r.SD / math.Sqrt(n)
	s.T = s.Shift / s.SE
	s.Greater, s.Less = tSurvival((s.Shift-r.Bias)/s.SE, s.DF), tSurvival(-(s.Shift+r.Bias)/s.SE, s.DF)
	return r.Bias
}
