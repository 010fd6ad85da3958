package trend

import (
	"math"
	"math/rand/v2"
	"testing"
)

// slowGain is a step's gain by the normal equations of generalized least squares.
func slowGain(x []float64, at int, phi float64) (squares, gain float64) {
	white := func(v []float64) []float64 {
		w := make([]float64, len(v))
		w[0] = math.Sqrt(1-phi*phi) * v[0]
		for t := 1; t < len(v); t++ {
			w[t] = v[t] - phi*v[t-1]
		}
		return w
	}
	dot := func(a, b []float64) (sum float64) {
		for i := range a {
			sum += a[i] * b[i]
		}
		return sum
	}
	ones, steps := make([]float64, len(x)), make([]float64, len(x))
	for t := range x {
		ones[t] = 1
		if t >= at {
			steps[t] = 1
		}
	}
	y, m, s := white(x), white(ones), white(steps)
	about := func(v []float64) []float64 { // less its projection on m
		out := make([]float64, len(v))
		for i := range v {
			out[i] = v[i] - m[i]*dot(v, m)/dot(m, m)
		}
		return out
	}
	y, s = about(y), about(s)
	return dot(y, y), dot(y, s) * dot(y, s) / dot(s, s)
}

func TestBestStepAgainstItsEquations(t *testing.T) {
	rng := rand.New(rand.NewPCG(86, 0))
	for range 50 {
		x := make([]float64, 6+rng.IntN(30))
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		phi := 0.05 * float64(rng.IntN(correlations))
		squares, gain, at := bestStep(x, phi)
		wantSquares, wantGain, wantAt := 0.0, 0.0, 0
		for place := 3; place <= len(x)-3; place++ {
			sq, g := slowGain(x, place, phi)
			wantSquares = sq
			if g > wantGain {
				wantGain, wantAt = g, place
			}
		}
		if at != wantAt || math.Abs(gain-wantGain) > 1e-9 || math.Abs(squares-wantSquares) > 1e-9 ||
			math.Abs(squaresAbout(x, phi)-wantSquares) > 1e-9 {
			t.Errorf("%d points, correlation %g: %g less %g at %d, want %g less %g at %d", len(x), phi, squares, gain, at,
				wantSquares, wantGain, wantAt)
		}
	}
}

// What is made of the innovations of a series in their own order is that series.
func TestRecolourUndoesWhitened(t *testing.T) {
	rng := rand.New(rand.NewPCG(87, 0))
	r := make([]float64, 40)
	for i := range r {
		r[i] = rng.NormFloat64()
	}
	cuts, made := []int{0, 12, 40}, make([]float64, len(r))
	recolour(made, whitened(r, cuts, 0.6), cuts, 0.6)
	for i := range r {
		if math.Abs(made[i]-r[i]) > 1e-12 {
			t.Fatalf("value %d is %g, want %g", i, made[i], r[i])
		}
	}
}
