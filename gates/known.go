package gates

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Known is the standard deviation of a comparison's differences from an earlier measurement, in
// which a server was compared with itself on the same machine. It is combined with the spread of
// the pairs and never replaces it. With d degrees of freedom of the pairs,
//
//	s̃² = (w·s0² + d·s²)/(w + d)
//
// The weight w is bounded however much was measured, because noise changes from day to day: the
// true SD today may be up to Within times the earlier one. The error rates allow for this. With σ
// today, ρ = Within and ν = DF, the mean over its standard error from s̃ is stochastically at most
//
//	Z / √((w·χ²ν/(ν·ρ²) + χ²d)/(w + d))
//
// if σ is at most ρ times the earlier SD. P values and bounds come from this distribution, which
// has no other parameter. They are exact at ρ and conservative below. They account for a
// calibration with few pairs.
//
// If the spread of today's pairs, of this comparison or in the mean of the family, suggests that even ρ is too small,
// p values and bounds also have to hold with s alone: the stricter ones count. This check only makes a decision
// harder, so it costs no error rate.
type Known struct {
	// SD is s0 on the scale of the test, DF its degrees of freedom.
	SD, DF float64
	// Within is the largest ratio of the true SD today to SD, above 1.
	Within float64
}

// The default and the limits of Known.Within. Closer to 1 the noise would not change from day to day;
// above 3 a known spread is hardly informative.
const (
	DefaultWithin = 1.5
	LeastWithin   = 1.1
	MostWithin    = 3
)

// Weight returns w in degrees of freedom. It combines a prior, in which ln σ has the standard
// deviation ln(Within)/√2, with the degrees of freedom of SD.
func (k Known) Weight() float64 {
	off := math.Log(k.Within)
	return 1 / (off*off + 1/k.DF)
}

// with returns s̃ for pairs with the standard deviation s and d degrees of freedom.
func (k Known) with(s, d float64) float64 {
	w := k.Weight()
	return math.Sqrt((w*k.SD*k.SD + d*s*s) / (w + d))
}

// check returns an error if a known spread cannot be used.
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

// tail returns P(T > t), t ≥ 0, for the mean of pairs with d degrees of freedom over its standard
// error. With J. W. Craig's form of the normal tail (MILCOM 1991) the variances integrate in closed
// form:
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

// survival returns P(T > t) for any t.
func (k Known) survival(t, d float64) float64 {
	if t < 0 {
		return 1 - k.tail(-t, d)
	}
	return k.tail(t, d)
}

// critical returns the t with P(T > t) = alpha, below 1/2. It uses regula falsi with the Illinois
// rule on logarithms, on which tails are almost straight, starting near the normal quantile.
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

// contradicted is the level at which today's spread of a comparison contradicts a known one.
const contradicted = 0.05

// overrules is the mean of today's variances over the allowed ones from which on a family trusts none of them.
const overrules = 0.6

// Contradicts reports whether the standard deviation of today's pairs, with d degrees of freedom,
// is larger than the known one allows.
func (k Known) Contradicts(sd, d float64) bool {
	ratio := sd / (k.SD * k.Within)
	return distuv.F{D1: d, D2: k.DF}.Survival(ratio*ratio) < contradicted
}

// overruled reports whether the pairs of the family spread by more than the known spreads allow, in the mean over its
// comparisons. Noise that has grown has grown in all of them, which many show more surely than one.
func (f Family) overruled() bool {
	sum, n := 0.0, 0.0
	for _, c := range f.Comparisons {
		if c.Known == nil || c.Invalid != "" || c.Missing != "" {
			continue
		}
		x, _, _, err := c.sample()
		if err != nil || len(x.Differences) < 2 {
			continue
		}
		_, sd := meanSD(x.Differences)
		ratio := sd / (c.Known.SD * c.Known.Within)
		sum += ratio * ratio * max(c.Known.DF-2, 1) / c.Known.DF // the mean of 1/χ² over its degrees of freedom
		n++
	}
	return n > 0 && sum > overrules*n
}

// test combines the t-test of n pairs, own, with the known spread.
func (k Known) test(own Statistic, n int, bias float64, set Settings) Statistic {
	d, w := float64(n-1), k.Weight()
	s := own
	s.Exact, s.Noise = false, Noise{SD: k.with(own.Noise.SD, d), Slope: 1, Prior: w, known: &k}
	s.SE, s.DF = s.Noise.se(n), w+d
	s.T = s.Shift / s.SE
	s.Greater, s.Less = k.survival((s.Shift-bias)/s.SE, d), k.survival(-(s.Shift+bias)/s.SE, d)
	s.bound(bias, s.Noise.width(n, set.Alpha))
	if set.overruled || k.Contradicts(own.Noise.SD, d) {
		s.Contradicted = true
		s.Greater, s.Less = max(s.Greater, own.Greater), max(s.Less, own.Less)
		s.Lower, s.Upper = min(s.Lower, own.Lower), max(s.Upper, own.Upper)
	}
	return s
}
