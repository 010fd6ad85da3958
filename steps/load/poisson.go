package load

import (
	"math"
	"math/rand/v2"

	"github.com/servegate/pipeline/steps"
)

// Poisson arrivals have exponential gaps.
const Poisson = "poisson"

func poissonArrivals() Arrival {
	return atRate(Poisson, "at a rate, an open loop", func(_ steps.Load, src *rand.PCG) float64 { return exponential(src) })
}

func exponential(src *rand.PCG) float64 { return -math.Log1p(-uniform(src)) }
