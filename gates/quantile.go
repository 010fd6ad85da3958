package gates

import (
	"math"
	"slices"
)

// median returns the median of values in any order.
func median(values []float64) float64 { return quantile(slices.Sorted(slices.Values(values)), 0.5) }

// quantile returns the q-quantile of sorted values by linear interpolation between order
// statistics: numpy's default, Hyndman and Fan's type 7 (Am. Statist. 50, 1996), bit for bit with
// numpy 2. q is in [0, 1]. It returns NaN without values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	at := min(max(q, 0), 1) * float64(len(sorted)-1)
	i := int(at)
	if i >= len(sorted)-1 {
		return sorted[len(sorted)-1]
	}
	a, b, t := sorted[i], sorted[i+1], at-float64(i)
	// Interpolate from the nearer end, so that both ends are exact. The conversions keep the
	// compiler from fusing the product into the sum, which rounds differently.
	if t >= 0.5 {
		return b - float64((b-a)*(1-t))
	}
	return a + float64((b-a)*t)
}
