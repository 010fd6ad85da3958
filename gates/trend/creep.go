package trend

import (
	"math"

	"github.com/servegate/pipeline/gates/metric"
	"gonum.org/v1/gonum/stat/distuv"
)

// A change point is a step. A loss of a little each night is none: it has no place at which
// the level changed, and it inflates the spread that a step is held against. So the newest
// values are also compared with the oldest ones of the level that counts.
const (
	// creepAnchor is how many values, from the beginning of the level that counts, stand for it.
	creepAnchor = 10
	// creepNewest is how many of the last values are compared with them.
	creepNewest = 5
)

// creep is a slow change for the worse since the level that counts began.
type creep struct {
	since     int // index of the first of the values that are worse, −1 if it does not last
	recovered int // index at which the last one ended, −1 if none has
	begun     int // how many have begun
}

// findCreep looks at the values of x (on the scale of comparison, signed so that more is
// worse) as they came in: after each one, the mean of the newest five is compared with
// that of the first ten. A creep begins where the difference is at least the threshold and
// significant, and ends where less than half of the threshold is left. The level is divided
// by the number of windows that do not overlap, since each night looks anew.
// The newest five are those from the index after on.
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
		case c.since < 0 && shift >= threshold && creepP(x[:end], shift) <= level*window/float64(end):
			c.since = end - creepNewest
			c.begun++
		}
	}
	return c
}

// creepP is the one-sided p value of a shift between the first ten and the last five values
// of x, by Student's t. Spread and correlation are those of successive differences, which a
// slow creep hardly moves, where it would count as both about a mean. For neighbours with
// correlation φ and differences d (a first-order autoregressive series):
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
	if squares == 0 {
		return 0
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
