package metric

import "math"

// Mean of values on the scale of comparison: geometric on the log scale, arithmetic on
// others. A value without a logarithm is returned as it is, for its reader to refuse.
func (m Metric) Mean(values []float64) float64 {
	if len(values) == 1 { // exactly
		return values[0]
	}
	sum := 0.0
	for _, v := range values {
		if m.Scale == Log {
			if v <= 0 {
				return v
			}
			v = math.Log(v)
		}
		sum += v
	}
	mean := sum / float64(len(values))
	if m.Scale == Log {
		return math.Exp(mean)
	}
	return mean
}
