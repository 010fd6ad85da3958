package gates

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
)

// Values that were printed with few digits may show no spread where the truth has one, and their mean is
// off by up to half a step of the last digit however many there are. The step is in the printed digits. It is
// never taken from the difference of the sides, which is what is asked about: 100 in every repeat against 146
// differ by 46 steps.

// alike is the relative difference below which two values are the same one.
const alike = 1e-9

// Rounding is what printing values with few digits leaves unknown of the difference of two sides, on the scale
// of the test.
type Rounding struct {
	// Bias is how far the mean difference can be off: half a step on each side.
	Bias float64
	// SD is the least standard deviation of a difference: that of two errors that are uniform over a step.
	SD float64
	// Printed is set where the digits are those of a text. Otherwise zeros at the end may be missing.
	Printed bool
}

// roundingOfSessions returns what the digits of sessions leave unknown. A session's value is the geometric mean of
// its repeats, in which float64 hides that all of them were the same few digits.
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

// roundingOfSides returns what the digits of both sides leave unknown. Counts are not rounded, and neither are
// shares of the same prompts. A printed step above 0 is that of the text, in the unit of the values.
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

// digitStep returns the step of the last decimal digit that any value of both sides has, 0 where all are 0.
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

// gridOf returns the smallest difference between values of one side, if it has a value twice: what a clock
// measures does not repeat to the last digit. It is 0 where no value repeats, or all are the same.
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

// rounded takes what rounding leaves unknown for a bias of the mean, where n differences spread by less than rounding
// alone makes them: then all may be off by the same. They are taken to spread by that much at least, and the p
// values become those against the least favourable bias, by which bounds are further out.
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
