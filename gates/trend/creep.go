package trend

import (
	"math"

	"github.com/servegate/pipeline/gates/metric"
	"gonum.org/v1/gonum/stat/distuv"
)

// A change point is a step. A small loss each night is not: it has no place at which the level
// changed, and it inflates the spread that a step is compared with. So the newest values are also
// compared with the oldest ones of the reference level.
const (
	// creepAnchor is the number of first values that represent the reference level.
	creepAnchor = 10
	// creepNewest is the number of last values that are compared with them.
	creepNewest = 5
)

// creep is a slow change for the worse since the reference level began.
type creep struct {
	since     int // index of the first of the worse values, −1 if the creep has ended
	recovered int // index at which the last creep ended, −1 if none has
	begun     int // number of creeps that have begun
}

// findCreep goes through the values of x (on the scale of comparison, signed so that more is worse)
// in order. After each value it compares the mean of the newest five with that of the first ten. A
// creep begins when the difference is at least the threshold and significant, and ends when less
// than half of the threshold is left. Every night is a new test, so the level is divided by the
// number of windows that do not overlap. The newest five start at index after or later. No change is
// no creep, even if the threshold is 0 because the reference level is.
func findCreep(x []float64, after int, threshold, level float64) creep {
	c := creep{since: -1, recovered: -1}
	const window = creepAnchor + creepNewest
	if len(x) < window {
		return c
	}
	anchor := metric.Mean(x[:creepAnchor])
	for end := max(window, after+creepNewest); end <= len(x); end++ {
		switch shift := metric.Mean(x[end-creepNewest:end]) - anchor; {
		case c.since >= 0 && shift < threshold/2:
			c.since, c.recovered = -1, end-1
		case c.since < 0 && shift > 0 && shift >= threshold && creepP(x[:end], shift) <= level*window/float64(end):
			c.since = end - creepNewest
			c.begun++
		}
	}
	return c
}

// creepP returns the one-sided p value of a shift between the first ten and the last five values of
// x, by Student's t. Spread and correlation come from successive differences, which a slow creep
// hardly changes; about a mean it would inflate both. For neighbours with correlation φ and
// differences d (a first-order autoregressive series):
//
//	E d(t)² = 2σ²(1 − φ),  E d(t)·d(t−1) = −σ²(1 − φ)²
func creepP(x []float64, shift float64) float64 {
	var squares, products float64
	for t := 1; t < len(x); t++ {
		d := x[t] - x[t-1]
		squares += d * d
		if t > 1 {
			products += d * (x[t-1] - x[t-2])
		}
	}
	n := float64(len(x))
	phi := math.Max(leastCorrelation, math.Min(1+2*products/squares*(n-1)/(n-2), maxCorrelation))
	variance := squares / (n - 1) / 2 / (1 - phi)
	se := math.Sqrt(variance * (varianceOfMean(creepAnchor, phi) + varianceOfMean(creepNewest, phi)))
	// Differences of independent values have 2/3 of the degrees of freedom
	// (J. von Neumann, Ann. Math. Statist. 12, 1941).
	t := distuv.StudentsT{Sigma: 1, Nu: math.Max(2, 2*n*(1-phi)/(1+phi)/3)}
	return t.CDF(-shift / se)
}
