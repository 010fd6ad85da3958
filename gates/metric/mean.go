package metric

import "math"

// Mean returns the arithmetic mean; NaN without values.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Mean returns the mean of values on the scale of comparison: geometric on the log scale,
// arithmetic on others. A value without a logarithm is returned unchanged, so that the reader
// rejects it.
func (m Metric) Mean(values []float64) float64 {
	if m.Scale != Log || len(values) == 1 { // exact for a single value
		return Mean(values)
	}
	logs := make([]float64, len(values))
	for i, v := range values {
		if v <= 0 {
			return v
		}
		logs[i] = math.Log(v)
	}
	return math.Exp(Mean(logs))
}
