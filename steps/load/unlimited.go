package load

import (
	"math/rand/v2"
	"time"

	"github.com/servegate/pipeline/steps"
)

// Unlimited arrivals are all at once, at the start of the run.
const Unlimited = "unlimited"

func unlimitedArrivals() Arrival {
	return Arrival{
		Name: Unlimited, Doc: "all at once",
		Check: func(_ steps.Load, given func(string) bool) *steps.Problem {
			if given("requests") {
				return nil
			}
			return &steps.Problem{Path: []string{"duration"}, Summary: "unlimited arrivals need requests",
				Detail: "They are all sent at once, so a duration does not bound them."}
		},
		Times: func(_ steps.Load, n int, _ *rand.PCG) []time.Duration { return make([]time.Duration, n) },
	}
}
