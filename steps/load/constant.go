package load

import (
	"math/rand/v2"

	"github.com/servegate/pipeline/steps"
)

// Constant arrivals have equal gaps.
const Constant = "constant"

func constantArrivals() Arrival {
	return atRate(Constant, "at a rate, evenly", func(steps.Load, *rand.PCG) float64 { return 1 })
}
