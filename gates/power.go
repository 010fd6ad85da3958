package gates

import (
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Power is the power for which sample sizes and detectable changes are stated.
const Power = 0.8

// MaxPairs is the largest number of pairs that NeedPairs considers. Repeating is no solution for
// comparisons that need more.
const MaxPairs = 10_000

// DetectableChange returns the smallest shift, on the scale of the test, that the one-sided paired
// t-test of n pairs at alpha finds with the given power if pairs have standard deviation sd. On the
// log scale the ratio is its exp. It returns +Inf for n < 2.
func DetectableChange(n int, sd, alpha, power float64) float64 {
	return paired(sd).detectable(n, alpha, power)
}

// NeedPairs returns the smallest number of pairs with which the one-sided paired t-test at alpha
// finds a true shift effect with the given power if pairs have standard deviation sd. effect and sd
// are on the scale of the test. It returns an error if more than MaxPairs are needed.
func NeedPairs(effect, sd, alpha, power float64) (int, error) {
	n, ok := paired(sd).need(effect, alpha, power)
	if !ok {
		return 0, fmt.Errorf(
			"more than %d pairs would be needed to find %g at a standard deviation of %g; look for a larger change or measure longer runs",
			MaxPairs, effect, sd)
	}
	return n, nil
}

// Solutions depend on degrees of freedom and levels only. A family of hundreds of comparisons, and thousands of
// rehearsed files, solve for each once.
var (
	criticals       solutions[level]
	noncentralities solutions[level]
	knownCriticals  solutions[knownLevel]
)

// level is a number of degrees of freedom with a one-sided level and, for noncentralities, a power.
type level struct{ df, alpha, power float64 }

// knownLevel is a one-sided level of n pairs with a known spread.
type knownLevel struct {
	df, within float64
	n          int
	alpha      float64
}

// solutions remembers what was solved. A program that asks for ever new levels does not grow: when maxSolutions are
// kept, they are dropped.
type solutions[K comparable] struct {
	mu   sync.Mutex
	kept map[K]float64
}

const maxSolutions = 1 << 14

// of returns the solution for a key, which solve finds if it is not kept.
func (s *solutions[K]) of(key K, solve func() float64) float64 {
	s.mu.Lock()
	x, ok := s.kept[key]
	s.mu.Unlock()
	if ok {
		return x
	}
	x = solve()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil || len(s.kept) >= maxSolutions {
		s.kept = map[K]float64{}
	}
	s.kept[key] = x
	return x
}

// critical returns the t with P(T > t) = alpha.
func critical(df, alpha float64) float64 {
	return criticals.of(level{df: df, alpha: alpha}, func() float64 { return tCritical(alpha, df) })
}

// width returns the distance of a bound of level alpha from the mean of n pairs.
func (v Noise) width(n int, alpha float64) float64 {
	if v.known == nil {
		return critical(v.df(n), alpha) * v.se(n)
	}
	key := knownLevel{v.known.DF, v.known.Within, n, alpha}
	return knownCriticals.of(key, func() float64 { return v.known.critical(alpha, float64(n-1)) }) * v.se(n)
}

// later returns the width of n pairs, seen from now pairs. For a known spread it scales Student's
// width by the ratio that both have now at a level of 1 %.
func (v Noise) later(now, n int, alpha float64) float64 {
	width := critical(v.df(n), alpha) * v.se(n)
	if v.known != nil {
		const typical = 0.01
		width *= v.width(now, typical) / (critical(v.df(now), typical) * v.se(now))
	}
	return width
}

// reach returns the shift that n pairs find at alpha with a power. For a known spread it uses the
// normal approximation of Abramowitz and Stegun 26.7.10.
func (v Noise) reach(n int, alpha, power float64) float64 {
	if v.known == nil {
		return noncentrality(v.df(n), alpha, power) * v.se(n)
	}
	width, se := v.width(n, alpha), v.se(n)
	t := width / se
	return width + se*mathext.NormalQuantile(power)*math.Sqrt(1+t*t/(2*v.df(n)))
}

// detectable is DetectableChange for any noise.
func (v Noise) detectable(n int, alpha, power float64) float64 {
	if n < 2 {
		return math.Inf(1)
	}
	return noncentrality(v.df(n), alpha, power) * v.SD / math.Sqrt(float64(n))
}

// need is NeedPairs for any noise. With n the standardised effect grows, and the noncentrality that
// it must reach falls.
func (v Noise) need(effect, alpha, power float64) (int, bool) {
	n := least(2, func(n int) bool { return v.detectable(n, alpha, power) <= effect })
	return n, n > 0
}

// noncentrality returns the δ with P(T > t(1−α)) = power for T noncentral t.
func noncentrality(df, alpha, power float64) float64 {
	return noncentralities.of(level{df, alpha, power}, func() float64 { return solveNoncentrality(critical(df, alpha), df, power) })
}

// solveNoncentrality finds δ by bracketing and regula falsi with the Illinois rule, starting from
// the normal approximation of Abramowitz and Stegun 26.7.10.
func solveNoncentrality(t, df, power float64) float64 {
	excess := func(delta float64) float64 { return noncentralSurvival(t, df, delta) - power }
	width := math.Sqrt(1 + t*t/(2*df))
	a := t*(1-1/(4*df)) + mathext.NormalQuantile(power)*width
	b, fa := a, excess(a)
	fb := fa
	for step := width / 8; (fb > 0) == (fa > 0); step *= 2 {
		a, fa = b, fb
		b -= math.Copysign(step, fa)
		fb = excess(b)
	}
	return illinois(excess, a, fa, b, fb, 1e-12)
}

// illinois returns the zero of f between a and b by regula falsi with the Illinois rule, until a
// value is below tolerance. The values fa and fb have different signs.
func illinois(f func(float64) float64, a, fa, b, fb, tolerance float64) float64 {
	for range 100 {
		c := (a*fb - b*fa) / (fb - fa)
		fc := f(c)
		if (fc > 0) == (fb > 0) {
			fa /= 2
		} else {
			a, fa = b, fb
		}
		b, fb = c, fc
		if math.Abs(fc) < tolerance || math.Abs(b-a) <= 1e-14*math.Abs(b) {
			break
		}
	}
	return b
}

// noncentralSurvival returns P(T > t), t ≥ 0, for the noncentral t distribution. gonum's series
// (algorithm AS 243) underflows for large noncentralities, which occur with small samples at
// corrected levels. For these it integrates instead.
func noncentralSurvival(t, df, delta float64) float64 {
	if math.Abs(delta) <= 25 {
		return 1 - distuv.NoncentralT{Nu: df, Mu: delta}.CDF(t)
	}
	// T = (Z + δ)/√(χ²/ν) exceeds t where χ² < ν·((Z + δ)/t)², Z + δ > 0.
	const far, points = 9, 128 // standard deviations; Gauss–Legendre nodes
	low := math.Max(-far, -delta)
	if low >= far {
		return 0
	}
	return quad.Fixed(func(z float64) float64 {
		x := (z + delta) / t
		density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
		return density * mathext.GammaIncReg(df/2, df*x*x/2)
	}, low, far, points, nil, 0)
}
