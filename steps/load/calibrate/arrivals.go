package calibrate

import (
	"math"
	"slices"
)

// Arrivals says how well requests kept to a Poisson process, by the server's own account.
type Arrivals struct {
	Requests int `json:"requests"`
	// Rate is the number of gaps by the time from the first arrival to the last.
	Rate float64 `json:"rate"`
	// Distance is the Kolmogorov–Smirnov distance of the gaps from the exponential
	// distribution of the planned rate, P the chance of one as large by luck.
	Distance float64 `json:"distance"`
	P        float64 `json:"p"`
	// Passed is how many of the windows of 2,000 arrivals in a row pass the test at 1 %.
	// The more arrivals there are the less is forgiven, and on one core two sends cannot be
	// closer than one of them takes: of 20,000 that is found.
	Windows int `json:"windows,omitempty"`
	Passed  int `json:"passed,omitempty"`
}

// windowSize is the number of arrivals of a window.
const windowSize = 2000

// arrivalsOf judges arrival times, ascending and in nanoseconds, by a planned rate per
// second.
func arrivalsOf(ns []int64, rate float64) Arrivals {
	a := Arrivals{Requests: len(ns), P: 1}
	n := len(ns) - 1
	if n < 1 || !(rate > 0) || ns[n] <= ns[0] {
		return a
	}
	gaps := make([]float64, n)
	for i := range gaps {
		gaps[i] = float64(ns[i+1]-ns[i]) / 1e9
	}
	a.Rate = float64(n) / (float64(ns[n]-ns[0]) / 1e9)
	slices.Sort(gaps)
	for i, g := range gaps {
		f := -math.Expm1(-rate * g)
		a.Distance = max(a.Distance, f-float64(i)/float64(n), float64(i+1)/float64(n)-f)
	}
	a.P = kolmogorov(a.Distance, n)
	if n < windowSize {
		return a
	}
	for window := range slices.Chunk(ns, windowSize) {
		if len(window) < windowSize {
			break
		}
		a.Windows++
		if arrivalsOf(window, rate).P >= 0.01 {
			a.Passed++
		}
	}
	return a
}

// kolmogorov is the chance of a distance of at least d between a sample of n and the
// continuous distribution that it is drawn from: the limit distribution with Stephens'
// correction for n (Journal of the Royal Statistical Society B 32, 1970).
func kolmogorov(d float64, n int) float64 {
	root := math.Sqrt(float64(n))
	x := (root + 0.12 + 0.11/root) * d
	if x < 0.2 {
		return 1 // the series converges slowly where it is 1
	}
	p, sign := 0.0, 1.0
	for k := 1.0; k <= 100; k++ {
		term := math.Exp(-2 * k * k * x * x)
		p += sign * term
		sign = -sign
		if term < 1e-12 {
			break
		}
	}
	return min(max(2*p, 0), 1)
}
