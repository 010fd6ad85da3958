package trend

import (
	"math"

	"github.com/servegate/pipeline/gates/metric"
)

// maxCorrelation keeps the whitened series stationary.
const maxCorrelation = 0.9

// residuals returns the values less the means of their segments.
func residuals(x []float64, cuts []int) []float64 {
	r := make([]float64, len(x))
	for i, from := range cuts[:len(cuts)-1] {
		centre := metric.Mean(x[from:cuts[i+1]])
		for t := from; t < cuts[i+1]; t++ {
			r[t] = x[t] - centre
		}
	}
	return r
}

// squares returns the sum of squares about the means of the segments.
func squares(x []float64, cuts []int) float64 {
	sum := 0.0
	for _, r := range residuals(x, cuts) {
		sum += r * r
	}
	return sum
}

// correlation estimates the correlation of neighbours within k segments of T points in total, by
// the lag-1 autocorrelation r corrected for the bias from the k means. The result is from 0 to 0.9:
//
//	E r ≈ φ − k·(1 + 3φ)/T  (M. Kendall, Biometrika 41, 1954), so φ = (T·r + k)/(T − 3k)
func (s *search) correlation(cuts []int) float64 {
	r := residuals(s.x, cuts)
	var products, squares float64
	for i, from := range cuts[:len(cuts)-1] {
		for t := from; t < cuts[i+1]; t++ {
			squares += r[t] * r[t]
			if t > from {
				products += r[t] * r[t-1]
			}
		}
	}
	points, segments := float64(len(s.x)), float64(len(cuts)-1)
	if squares == 0 {
		return 0
	}
	if points <= 3*segments {
		return maxCorrelation // too short to estimate
	}
	phi := (points*products/squares + segments) / (points - 3*segments)
	return math.Max(0, math.Min(phi, maxCorrelation))
}

// whiten returns x(t) − φ·x(t−1) about the means of the segments. The first point of each is scaled
// to the same variance.
func (s *search) whiten(phi float64) []float64 {
	return whitened(residuals(s.x, s.cuts), s.cuts, phi)
}

// noise returns the standard deviation of a point about its segment. The squares about a mean of n
// correlated points fall short of n·σ² by n times the variance of that mean.
func (s *search) noise(phi float64) float64 {
	freedom := 0.0
	for i, from := range s.cuts[:len(s.cuts)-1] {
		n := s.cuts[i+1] - from
		freedom += float64(n) * (1 - varianceOfMean(n, phi))
	}
	if freedom <= 0 {
		return 0
	}
	return math.Sqrt(squares(s.x, s.cuts) / freedom)
}

// varianceOfMean returns the variance of the mean of n neighbours with correlation φ and variance
// 1:
//
//	(1 + 2·Σ (1 − k/n)·φᵏ)/n, k from 1 to n − 1
func varianceOfMean(n int, phi float64) float64 {
	sum, power := 1.0, 1.0
	for k := 1; k < n && power > 1e-16; k++ {
		power *= phi
		sum += 2 * (1 - float64(k)/float64(n)) * power
	}
	return sum / float64(n)
}
