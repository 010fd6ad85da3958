package metric

import (
	"fmt"
	"math"
)

// Margin is the smallest change that matters: a ratio less one on the log scale (0.05 is 5 %:
// head/base ≥ 1.05, or base/head ≥ 1.05 if higher is better), in the metric's unit on the other
// scales.
type Margin float64

// On returns the margin on the scale of comparison: ln 1.05 for 5 %.
func (m Margin) On(s Scale) float64 {
	if s == Log {
		return math.Log1p(float64(m))
	}
	return float64(m)
}

// Text returns a margin of a metric as files write it: "50 ms", or "5 %".
func (m Margin) Text(of Metric) string {
	switch {
	case of.ByTime():
		return fmt.Sprintf("%.4g ms", 1000*float64(m))
	case of.Scale == Difference && (of.Unit == Tokens || of.Unit == Nats):
		return fmt.Sprintf("%.4g %s", float64(m), of.Unit)
	case of.Scale == Difference && of.Unit == Count:
		return fmt.Sprintf("%.4g", float64(m))
	case of.Scale == Difference && of.Unit != Fraction:
		return fmt.Sprintf("%.4g %s", float64(m), of.Unit)
	case of.Unit == Fraction:
		return fmt.Sprintf("%.4g pp", 100*float64(m))
	}
	return fmt.Sprintf("%.4g %%", 100*float64(m))
}

// Change converts a difference on the scale of comparison to a change for people: the inverse of
// On. An overflow becomes the largest finite number.
func (s Scale) Change(d float64) float64 {
	if s == Log && !math.IsInf(d, 0) {
		return math.Min(math.Expm1(d), math.MaxFloat64)
	}
	return d
}
