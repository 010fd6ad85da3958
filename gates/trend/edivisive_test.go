package trend

import (
	"math"
	"math/rand/v2"
	"testing"
)

// slowSplit is bestSplit by its formula.
func slowSplit(x []float64, least int) split {
	pairs := func(a, b []float64, same bool) float64 {
		sum := 0.0
		for i, v := range a {
			for k, w := range b {
				if !same || k > i {
					sum += math.Abs(v - w)
				}
			}
		}
		return sum
	}
	best := split{q: math.Inf(-1)}
	for at := least; at <= len(x)-least; at++ {
		l, r := x[:at], x[at:]
		n, m := float64(len(l)), float64(len(r))
		q := 2/(m+n)*pairs(l, r, false) - 2*m/((m+n)*(n-1))*pairs(l, l, true) - 2*n/((m+n)*(m-1))*pairs(r, r, true)
		if q > best.q {
			best = split{at, q}
		}
	}
	return best
}

func TestBestSplitAgainstItsFormula(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 0))
	for range 50 {
		x := make([]float64, 2+rng.IntN(40))
		for i := range x {
			x[i] = rng.NormFloat64()
			if i > len(x)/2 {
				x[i]++
			}
		}
		got, want := bestSplit(x, 3, make([]float64, 2*len(x))), slowSplit(x, 3)
		if got.at != want.at || math.Abs(got.q-want.q) > 1e-9 {
			t.Errorf("%d points: %+v, want %+v", len(x), got, want)
		}
	}
}

func TestCorrelationAndNoiseAreUnbiased(t *testing.T) {
	const points, trials = 60, 300
	for _, phi := range []float64{0.3, 0.5, 0.7} {
		rng := rand.New(rand.NewPCG(82, 0))
		var estimate, variance float64
		for range trials {
			x := make([]float64, points)
			state := rng.NormFloat64()
			for i := range x {
				x[i] = state
				state = phi*state + math.Sqrt(1-phi*phi)*rng.NormFloat64()
			}
			s := search{x: x, cuts: []int{0, 30, points}}
			estimate += s.correlation(s.cuts) / trials
			variance += s.noise(phi) * s.noise(phi) / trials
		}
		if math.Abs(estimate-phi) > 0.05 {
			t.Errorf("correlation %g is estimated as %.3f", phi, estimate)
		}
		if math.Abs(variance-1) > 0.1 {
			t.Errorf("correlation %g: a variance of 1 is estimated as %.3f", phi, variance)
		}
	}
}
