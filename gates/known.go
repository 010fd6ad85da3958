package gates

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Known is what was measured before of the standard deviation of a comparison's differences, by
// setting a server against itself on the same machine. It is used beside the spread of the
// pairs, never in its place: with d degrees of freedom of these,
//
//	s̃² = (w·s0² + d·s²)/(w + d)
//
// The weight w is bounded however much was measured, since noise changes from day to day: the
// truth today may be up to Within times the SD of then. That is what the error rates are for.
// With σ today, ρ = Within and ν = DF, the mean over its standard error from s̃ is at most
//
//	Z / √((w·χ²ν/(ν·ρ²) + χ²d)/(w + d))
//
// in law where σ is at most ρ times that of then, and this law, which knows no other parameter,
// is what p values and bounds come from. So they hold exactly at ρ, and are on the safe side
// below. They count what calibrating with few pairs leaves unknown.
//
// Where the spread of today's pairs shows that even ρ is too little, the p values and bounds are
// those of s alone wherever these are stricter. This check can make nothing easier, so that
// it costs no error rate.
type Known struct {
	// SD is s0, on the scale of the test, and DF are the degrees of freedom that it is known with.
	SD, DF float64
	// Within is how many times as large as SD the truth may be today, above 1.
	Within float64
}

// The values of Known.Within that make sense: closer to 1 nothing changes from day to day, and
// from 3 on a known spread says next to nothing.
const (
	DefaultWithin = 1.5
	LeastWithin   = 1.1
	MostWithin    = 3
)

// Weight is w, in degrees of freedom: those of a prior in which ln σ has a standard deviation of
// ln(Within)/√2, together with those that SD is known with.
func (k Known) Weight() float64 {
	off := math.Log(k.Within)
	return 1 / (off*off + 1/k.DF)
}

// with is s̃ of pairs that spread by s, with d degrees of freedom.
func (k Known) with(s, d float64) float64 {
	w := k.Weight()
	return math.Sqrt((w*k.SD*k.SD + d*s*s) / (w + d))
}

// check finds what makes a known spread useless.
func (k Known) check() error {
	switch {
	case !(k.SD > 0) || math.IsInf(k.SD, 0):
		return fmt.Errorf("the known standard deviation is %g; it must be above 0", k.SD)
	case !(k.DF >= 1):
		return fmt.Errorf("the known standard deviation has %g degrees of freedom; it needs 1", k.DF)
	case !(k.Within >= LeastWithin && k.Within <= MostWithin):
		return fmt.Errorf("the known standard deviation is to hold within a factor of %g; it must be from %g to %d", k.Within,
			LeastWithin, MostWithin)
	}
	return nil
}

// tail is P(T > t), t ≥ 0, for the mean of pairs with d degrees of freedom over its standard
// error. With J. W. Craig's form of the normal tail (MILCOM 1991) the variances integrate in
// closed form:
//
//	1/π ∫ (1 + x)^(−d/2)·(1 + x·w/(ν·ρ²))^(−ν/2) dθ,  x = t²/((w + d)·sin²θ),  0 < θ < π/2
func (k Known) tail(t, d float64) float64 {
	w := k.Weight()
	share := w / (k.DF * k.Within * k.Within)
	const points = 24 // to five digits
	return quad.Fixed(func(theta float64) float64 {
		sine := math.Sin(theta)
		x := t * t / ((w + d) * sine * sine)
		return math.Exp(-d/2*math.Log1p(x) - k.DF/2*math.Log1p(x*share))
	}, 0, math.Pi/2, points, quad.Legendre{}, 0) / math.Pi
}

// survival is P(T > t) for any t.
func (k Known) survival(t, d float64) float64 {
	if t < 0 {
		return 1 - k.tail(-t, d)
	}
	return k.tail(t, d)
}

// critical is the t with P(T > t) = alpha, below 1/2: by regula falsi with the Illinois rule on
// logarithms, on which tails are close to straight, up from the normal law's.
func (k Known) critical(alpha, d float64) float64 {
	off := func(x float64) float64 { return max(-1e3, math.Log(k.tail(math.Exp(x), d)/alpha)) }
	a := math.Log(mathext.NormalQuantile(1-alpha)) - 0.5
	fa := off(a)
	b := a + 0.5
	fb := off(b)
	for fb > 0 {
		a, fa, b = b, fb, b+0.5
		fb = off(b)
	}
	return math.Exp(illinois(off, a, fa, b, fb, 1e-11))
}

// contradicted is the level at which today's spread contradicts a known one.
const contradicted = 0.05

// Contradicts reports whether a standard deviation of today's pairs, with d degrees of
// freedom, is larger than the known one allows.
func (k Known) Contradicts(sd, d float64) bool {
	ratio := sd / (k.SD * k.Within)
	return distuv.F{D1: d, D2: k.DF}.Survival(ratio*ratio) < contradicted
}

// test is the test of n pairs whose own t-test, with its bounds, is given.
func (k Known) test(own Statistic, n int, bias float64, set Settings) Statistic {
	d, w := float64(n-1), k.Weight()
	s := own
	s.Exact, s.Noise = false, Noise{SD: k.with(own.Noise.SD, d), Slope: 1, Prior: w, known: &k}
	s.SE, s.DF = s.Noise.se(n), w+d
	s.T = s.Shift / s.SE
	s.Greater, s.Less = k.survival((s.Shift-bias)/s.SE, d), k.survival(-(s.Shift+bias)/s.SE, d)
	s.bound(bias, set.plan.width(s.Noise, n, set.Alpha))
	if k.Contradicts(own.Noise.SD, d) {
		s.Contradicted = true
		s.Greater, s.Less = max(s.Greater, own.Greater), max(s.Less, own.Less)
		s.Lower, s.Upper = min(s.Lower, own.Lower), max(s.Upper, own.Upper)
	}
	return s
}
