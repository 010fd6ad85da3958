package load

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/servegate/pipeline/steps"
)

// Kinds of arrival, the values of steps.Load.Arrival.
const (
	Poisson   = "poisson"
	Gamma     = "gamma"
	Constant  = "constant"
	Unlimited = "unlimited"
	Closed    = "closed"
	Trace     = "trace"
)

// CheckLoad says what is wrong with a load, nil if nothing is.
func CheckLoad(l steps.Load) error {
	if l.ThinkTime != 0 && (l.ThinkTime < 0 || l.Arrival != Closed) {
		return errors.New("load: think_time is that of a closed loop's users, and not negative")
	}
	if l.Requests < 0 || l.Duration < 0 || l.MaxConcurrency < 0 || l.Ramp < 0 {
		return errors.New("load: requests, duration, max_concurrency and ramp must not be negative")
	}
	if l.Requests == 0 && l.Duration == 0 {
		return errors.New("load: set requests or duration, otherwise the run has no end")
	}
	switch l.Arrival {
	case Poisson, Gamma, Constant:
		return checkRate(l)
	case Unlimited, Closed, Trace:
		if l.Rate != 0 || l.Ramp != 0 {
			return fmt.Errorf("load: arrival %q has no rate and no ramp; remove them or choose poisson", l.Arrival)
		}
		if l.Arrival == Unlimited && l.Requests == 0 {
			return errors.New("load: unlimited arrivals need requests, a duration does not bound them")
		}
		if l.Arrival == Closed && l.MaxConcurrency == 0 {
			return errors.New("load: a closed loop needs max_concurrency, its number of users")
		}
		return nil
	default:
		return fmt.Errorf("load: unknown arrival %q, expected poisson, gamma, constant, unlimited, trace or closed", l.Arrival)
	}
}

func checkRate(l steps.Load) error {
	switch {
	case !(l.Rate > 0) || math.IsInf(l.Rate, 0):
		return fmt.Errorf("load: arrival %q needs a rate above 0, not %v; for all requests at once use unlimited", l.Arrival, l.Rate)
	case l.Arrival == Gamma && !(l.Burstiness > 0):
		return fmt.Errorf("load: arrival gamma needs a burstiness above 0, not %v", l.Burstiness)
	case l.Arrival != Gamma && l.Burstiness != 0 && l.Burstiness != 1:
		return fmt.Errorf("load: arrival %q has no burstiness; remove it or choose gamma", l.Arrival)
	case !(l.RampFrom >= 0) || math.IsInf(l.RampFrom, 0):
		return fmt.Errorf("load: ramp_from %v must be a rate, 0 or more", l.RampFrom)
	case l.Ramp == 0 && l.RampFrom != 0:
		return errors.New("load: ramp_from without ramp; set the ramp's duration")
	case count(l) == 0:
		return fmt.Errorf("load: a rate of %v brings no request within %v; raise one of them", l.Rate, l.Duration)
	}
	return nil
}

// count is the number of requests of an open loop's schedule: Requests, or what the
// rate brings in Duration on average (so that two seeds have the same number of
// requests), whichever is less. It is 0 for a closed loop or a trace bounded by time.
func count(l steps.Load) int {
	if l.Duration == 0 || l.Rate == 0 {
		return l.Requests
	}
	n := int(math.Round(arrivalsBy(l, l.Duration.Seconds())))
	if l.Requests > 0 {
		n = min(n, l.Requests)
	}
	return n
}

// streamArrivals separates the arrivals from other uses of one seed.
const streamArrivals = 0x6172726976616c73

// Schedule returns the planned send times of n requests (n = 0 means count(l)), from
// the start of the run, ascending. It is a pure function of its arguments, drawn from
// math/rand/v2's PCG by algorithms of this package, so that a stored seed gives the
// same schedule in every version. A closed loop has no schedule (nil), and that of a
// trace is in its dataset.
//
// Gaps are 1/rate (constant), exponential (poisson) or gamma distributed with shape
// burstiness and mean 1/rate (gamma). As in `vllm bench serve` 0.33 the first request
// waits its gap too, and without a ramp the whole is scaled so that the last send is
// at exactly n/rate: two seeds then offer the same load. With a ramp the rate at time t
// is RampFrom + (Rate−RampFrom)·t/Ramp until Ramp, then Rate (in time, not per
// request as vLLM's), and nothing is scaled.
//
// The load must be valid (CheckLoad).
func Schedule(l steps.Load, n int, seed uint64) []time.Duration {
	if l.Arrival == Closed || l.Arrival == Trace {
		return nil
	}
	if n <= 0 {
		n = count(l)
	}
	out := make([]time.Duration, n)
	if l.Arrival == Unlimited || n == 0 {
		return out
	}
	units := unitTimes(l, n, rand.NewPCG(seed, streamArrivals))
	scale := 1.0
	if l.Ramp == 0 && l.Arrival != Constant {
		scale = float64(n) / units[n-1]
	}
	for i, u := range units {
		out[i] = time.Duration(math.Round(timeOf(l, u*scale) * 1e9))
	}
	return out
}

// unitTimes are the arrival times of the process at rate 1, ascending.
func unitTimes(l steps.Load, n int, src *rand.PCG) []float64 {
	u, t := make([]float64, n), 0.0
	for i := range u {
		switch l.Arrival {
		case Constant:
			t = float64(i + 1)
		case Gamma:
			t += gamma(src, l.Burstiness) / l.Burstiness
		default:
			t += exponential(src)
		}
		u[i] = t
	}
	return u
}

// arrivalsBy is the expected number of arrivals until t seconds, the integral of the rate.
func arrivalsBy(l steps.Load, t float64) float64 {
	ramp := l.Ramp.Seconds()
	if ramp == 0 {
		return l.Rate * t
	}
	in := min(t, ramp)
	return l.RampFrom*in + (l.Rate-l.RampFrom)*in*in/(2*ramp) + l.Rate*max(t-ramp, 0)
}

// timeOf is the inverse of arrivalsBy: the time in seconds by which u arrivals are
// expected.
func timeOf(l steps.Load, u float64) float64 {
	ramp := l.Ramp.Seconds()
	inRamp := arrivalsBy(l, ramp)
	if u >= inRamp {
		return ramp + (u-inRamp)/l.Rate
	}
	// The root of a·t² + from·t = u in the form that does not cancel.
	a := (l.Rate - l.RampFrom) / (2 * ramp)
	return 2 * u / (l.RampFrom + math.Sqrt(max(l.RampFrom*l.RampFrom+4*a*u, 0)))
}

// uniform is in [0,1) with 53 bits.
func uniform(src *rand.PCG) float64 { return float64(src.Uint64()>>11) / (1 << 53) }

func exponential(src *rand.PCG) float64 { return -math.Log1p(-uniform(src)) }

// normal draws by Box and Muller (1958), without a spare.
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

// hashSchedule identifies a schedule.
func hashSchedule(s []time.Duration) string {
	h := sha256.New()
	var word [8]byte
	for _, d := range s {
		binary.LittleEndian.PutUint64(word[:], uint64(d))
		h.Write(word[:])
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)[:16])
}
