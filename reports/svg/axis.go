package svg

import (
	"math"
	"strconv"
)

// Kind is the mapping from values to places on an axis.
type Kind int

// The kinds of axes.
const (
	Linear Kind = iota
	Log         // values must be positive, others are left out
	// Percentile is an axis of fractions on which each nine has the same length, as in the plots of
	// HdrHistogram: 0, 0.9, 0.99, 0.999.
	Percentile
)

// Axis of a chart. Its ends are those of the data, rounded on a linear axis, unless it is Fixed.
type Axis struct {
	Title    string
	Kind     Kind
	Fixed    bool
	Min, Max float64
	// Zero makes a linear axis begin at zero.
	Zero bool
	// Format labels ticks, by default as short numbers. Labels should have one unit, which the
	// title names.
	Format func(float64) string
	// Ticks are the places of labels; by default round numbers.
	Ticks []float64
}

// scale is an axis laid out on places from … to.
type scale struct {
	axis     Axis
	lo, hi   float64 // transformed
	from, to float64
	ticks    []float64
}

// layout fits an axis to values. Without any usable value it is 0 … 1, or 1 … 10.
func layout(a Axis, values []float64, from, to float64, want int) scale {
	s := scale{axis: a, from: from, to: to}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if t := s.transform(v); finite(t) {
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
	}
	if a.Fixed {
		lo, hi = a.Min, a.Max
	}
	if a.Zero && a.Kind == Linear {
		lo, hi = math.Min(lo, 0), math.Max(hi, 0)
	}
	lo, hi = s.widen(lo, hi)
	switch {
	case len(a.Ticks) > 0:
		s.ticks = a.Ticks
	case a.Kind == Log:
		s.ticks = logTicks(lo, hi)
	case a.Kind == Percentile:
		s.ticks = []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999}
	default:
		s.ticks = niceTicks(lo, hi, want)
		if n := len(s.ticks); n > 1 && !a.Fixed {
			lo, hi = math.Min(lo, s.ticks[0]), math.Max(hi, s.ticks[n-1])
		}
	}
	s.lo, s.hi = s.transform(lo), s.transform(hi)
	return s
}

// widen returns ends that are apart.
func (s scale) widen(lo, hi float64) (float64, float64) {
	switch {
	case lo > hi && s.axis.Kind == Log:
		return 1, 10
	case s.axis.Kind == Percentile && hi <= lo:
		return 0, math.Max(hi, 0.99) // -Inf if there is no value
	case lo > hi, s.axis.Kind == Linear && lo == 0 && hi == 0: // no value, or only zeros
		return 0, 1
	case s.axis.Kind == Log && hi/lo < 1.2:
		return lo / 1.1, hi * 1.1
	case s.axis.Kind == Linear && hi-lo <= 1e-9*math.Max(math.Abs(lo), math.Abs(hi)):
		pad := math.Max(math.Abs(hi)*0.05, 1e-12)
		return lo - pad, hi + pad
	}
	return lo, hi
}

func (s scale) transform(v float64) float64 {
	switch s.axis.Kind {
	case Log:
		if v <= 0 {
			return math.NaN()
		}
		return math.Log10(v)
	case Percentile:
		if v < 0 || v >= 1 {
			return math.NaN()
		}
		return -math.Log10(1 - v)
	}
	return v
}

// at returns the place of v.
func (s scale) at(v float64) float64 {
	return s.from + (s.transform(v)-s.lo)/(s.hi-s.lo)*(s.to-s.from)
}

// inside reports whether a value is within the ends of the axis.
func (s scale) inside(v float64) bool {
	t := s.transform(v)
	const rounding = 1e-9
	slack := rounding * (s.hi - s.lo)
	return finite(t) && t >= s.lo-slack && t <= s.hi+slack
}

// clamp returns at, limited to the axis.
func (s scale) clamp(v float64) float64 {
	return math.Max(math.Min(s.from, s.to), math.Min(math.Max(s.from, s.to), s.at(v)))
}

func (s scale) label(v float64) string {
	if s.axis.Format != nil {
		return s.axis.Format(v)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// exact formats a value between the ticks, with enough digits to compare.
func (s scale) exact(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// niceTicks returns about n round numbers, 1, 2 or 5 times a power of ten apart, that cover lo … hi
// (P. Heckbert, Nice Numbers for Graph Labels, Graphics Gems, 1990).
func niceTicks(lo, hi float64, n int) []float64 {
	if !finite(lo) || !finite(hi) || hi <= lo || n < 1 {
		return nil
	}
	step := niceStep((hi - lo) / float64(n))
	first, last := math.Floor(lo/step), math.Ceil(hi/step)
	// Ends that only differ by rounding have no round number between them.
	if rounding := 1e-12 * math.Max(math.Abs(lo), math.Abs(hi)); !finite(step) || step <= rounding {
		return []float64{lo, hi}
	}
	var ticks []float64
	for k := first; k <= last; k++ {
		ticks = append(ticks, k*step+0) // no negative zero
	}
	return ticks
}

// niceStep returns the least of 1, 2, 5 and 10 times a power of ten that is at least raw.
func niceStep(raw float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if raw <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// logTicks returns 1, 2 and 5 times the powers of ten within lo … hi. Over more than two decades it
// only returns powers, and fewer over many decades.
func logTicks(lo, hi float64) []float64 {
	first, last := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
	if !finite(first) || !finite(last) {
		return nil
	}
	factors := []float64{1, 2, 5}
	if math.Log10(hi/lo) > 2 {
		factors = factors[:1]
	}
	stride := math.Max(1, math.Ceil((last-first)/6))
	var ticks []float64
	for e := first; e <= last; e += stride {
		for _, m := range factors {
			if t := m * math.Pow(10, e); t >= lo*(1-1e-9) && t <= hi*(1+1e-9) {
				ticks = append(ticks, t)
			}
		}
	}
	if len(ticks) < 2 {
		return niceTicks(lo, hi, 3)
	}
	return ticks
}
