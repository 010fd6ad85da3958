package record

import (
	"math"
	"slices"
)

// Quantile returns the q-quantile of an ascending sample by linear interpolation
// between order statistics: with x = q(n-1), a[⌊x⌋] + (x-⌊x⌋)(a[⌊x⌋+1]-a[⌊x⌋]). This is
// numpy.percentile's default ("linear", type 7 of Hyndman and Fan 1996), which
// `vllm bench serve` uses. It returns NaN for an empty sample or q outside [0,1].
func Quantile(sorted []float64, q float64) float64 { return quantile(sorted, itself, q) }

func quantile[T any](sorted []T, in func(T) float64, q float64) float64 {
	n := len(sorted)
	if n == 0 || math.IsNaN(q) || q < 0 || q > 1 {
		return math.NaN()
	}
	x := q * float64(n-1)
	i := int(math.Floor(x))
	if i >= n-1 {
		return in(sorted[n-1])
	}
	low, high := in(sorted[i]), in(sorted[i+1])
	return low + (x-float64(i))*(high-low)
}

// Mean returns the arithmetic mean, NaN for an empty sample.
func Mean(v []float64) float64 { return mean(v, itself) }

func mean[T any](v []T, in func(T) float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	// A running mean does not overflow and keeps its precision on long pools of gaps.
	m := 0.0
	for i, x := range v {
		m += (in(x) - m) / float64(i+1)
	}
	return m
}

// Std returns the population standard deviation (ddof 0, numpy.std's default), NaN for
// an empty sample.
func Std(v []float64) float64 { return std(v, itself, Mean(v)) }

// std returns the standard deviation of a sample whose mean is known.
func std[T any](v []T, in func(T) float64, average float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	ss := 0.0
	for _, x := range v {
		d := in(x) - average
		ss += d * d
	}
	return math.Sqrt(ss / float64(len(v)))
}

// itself is the unit of values that need no conversion.
func itself(x float64) float64 { return x }

// sorted returns an ascending copy.
func sorted(v []float64) []float64 {
	c := slices.Clone(v)
	slices.Sort(c)
	return c
}
