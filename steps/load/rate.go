package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// Arguments of the load block for arrivals.
var (
	arrival = steps.Attr{Name: "arrival", Type: cty.String,
		Doc: "How requests arrive. Poisson where a rate is set, gamma where a burstiness is, else unlimited."}
	rate      = steps.Attr{Name: "rate", Type: cty.Number, Doc: "Requests per second."}
	ramp      = steps.Attr{Name: "ramp", Type: cty.Number, Unit: steps.UnitDuration, Doc: "Time over which the rate rises linearly from zero."}
	rampBlock = steps.BlockSchema{Type: ramp.Name, Max: 1, Doc: "Raises the rate linearly to its value.",
		Schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "from", Type: cty.Number, Default: cty.Zero, Doc: "Rate at the start."},
			{Name: "over", Type: cty.Number, Unit: steps.UnitDuration, Required: true, Doc: "Time until the full rate."},
		}}}
)

// atRate returns a load model that sends at a rate, after an optional ramp. gap draws the time between two
// requests at rate 1, with mean 1.
//
// As in `vllm bench serve` 0.33 the first request also waits for its gap. Without a ramp all times are scaled
// so that the last send is at exactly n/rate: two seeds then offer the same load. With a ramp the rate at
// time t is RampFrom + (Rate−RampFrom)·t/Ramp until Ramp, then Rate (in time, not per request as vLLM's), and
// times are not scaled.
func atRate(name, doc string, gap func(l steps.Load, src *rand.PCG) float64, own ...steps.Attr) Arrival {
	return Arrival{
		Name: name, Doc: doc,
		Takes:    steps.Schema{Attrs: append([]steps.Attr{rate, ramp}, own...), Blocks: []steps.BlockSchema{rampBlock}},
		Check:    checkRate,
		Expected: func(l steps.Load) float64 { return arrivalsBy(l, l.Duration.Seconds()) },
		Times: func(l steps.Load, n int, src *rand.PCG) []time.Duration {
			units, t := make([]float64, n), 0.0
			for i := range units {
				t += gap(l, src)
				units[i] = t
			}
			scale := 1.0
			if l.Ramp == 0 {
				scale = float64(n) / t
			}
			out := make([]time.Duration, n)
			for i, u := range units {
				out[i] = time.Duration(math.Round(timeOf(l, u*scale) * 1e9))
			}
			return out
		},
	}
}

func checkRate(l steps.Load, given func(string) bool) *steps.Problem {
	switch {
	case !given(rate.Name):
		return &steps.Problem{Path: []string{arrival.Name}, Summary: fmt.Sprintf("arrival %q needs a rate", l.Arrival),
			Detail: "Set rate to requests per second, or choose unlimited or closed."}
	case !(l.Rate > 0) || math.IsInf(l.Rate, 0):
		return &steps.Problem{Path: []string{rate.Name}, Summary: "rate must be above zero", Detail: fmt.Sprintf("It is %g.", l.Rate)}
	case given(ramp.Name) && l.Ramp <= 0:
		return &steps.Problem{Path: []string{ramp.Name}, Summary: "ramp must take some time", Detail: "Leave it out to start at the full rate."}
	case !(l.RampFrom >= 0) || math.IsInf(l.RampFrom, 0):
		return &steps.Problem{Path: []string{ramp.Name}, Summary: "a ramp starts at a rate of 0 or more",
			Detail: fmt.Sprintf("It is %g.", l.RampFrom)}
	}
	return nil
}

// arrivalsBy returns the expected number of arrivals until t seconds, the integral of the rate.
func arrivalsBy(l steps.Load, t float64) float64 {
	ramp := l.Ramp.Seconds()
	if ramp == 0 {
		return l.Rate * t
	}
	in := min(t, ramp)
	return l.RampFrom*in + (l.Rate-l.RampFrom)*in*in/(2*ramp) + l.Rate*max(t-ramp, 0)
}

// timeOf returns the inverse of arrivalsBy: the time in seconds by which u arrivals are expected.
func timeOf(l steps.Load, u float64) float64 {
	ramp := l.Ramp.Seconds()
	inRamp := arrivalsBy(l, ramp)
	if u >= inRamp {
		return ramp + (u-inRamp)/l.Rate
	}
	// The root of a·t² + from·t = u in the form without cancellation.
	a := (l.Rate - l.RampFrom) / (2 * ramp)
	return 2 * u / (l.RampFrom + math.Sqrt(max(l.RampFrom*l.RampFrom+4*a*u, 0)))
}

// uniform returns a number in [0,1) with 53 random bits.
func uniform(src *rand.PCG) float64 { return float64(src.Uint64()>>11) / (1 << 53) }
