package load

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// Gamma arrivals have gaps of a gamma distribution, whose shape is the burstiness.
const Gamma = "gamma"

var burstiness = steps.Attr{Name: "burstiness", Type: cty.Number,
	Doc: "Shape of the gamma distribution of gaps: 1 is poisson, below 1 burstier, above 1 more even."}

func gammaArrivals() Arrival {
	a := atRate(Gamma, "at a rate, with a burstiness", func(l steps.Load, src *rand.PCG) float64 {
		return gamma(src, l.Burstiness) / l.Burstiness
	}, burstiness)
	a.Fill = func(l *steps.Load) {
		if l.Burstiness == 0 {
			l.Burstiness = 1
		}
	}
	a.Check = func(l steps.Load, given func(string) bool) *steps.Problem {
		if !(l.Burstiness > 0) {
			return &steps.Problem{Path: []string{burstiness.Name}, Summary: "burstiness must be above zero",
				Detail: fmt.Sprintf("It is %g.", l.Burstiness)}
		}
		return checkRate(l, given)
	}
	return a
}

// normal draws by Box and Muller (1958), without storing the second value.
func normal(src *rand.PCG) float64 {
	r := math.Sqrt(2 * exponential(src))
	return r * math.Cos(2*math.Pi*uniform(src))
}

// gamma draws from the gamma distribution with the given shape and scale 1, by
// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000); a
// shape below 1 is boosted as in their section 6.
func gamma(src *rand.PCG, shape float64) float64 {
	if shape < 1 {
		u := 1 - uniform(src)
		return gamma(src, shape+1) * math.Pow(u, 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := normal(src)
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-uniform(src)) < 0.5*x*x+d*(1-v+math.Log(v)) {
			return d * v
		}
	}
}
