package gates

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
)

// Prospect is a planned paired comparison: when it is judged, and at which levels.
type Prospect struct {
	Looks Looks
	// Levels are the uncorrected levels at which d ≤ 0 must be rejected, PassLevels those of the
	// bounds, one for each look.
	Levels, PassLevels []float64
	Rule               // of the gate; its Alpha is in Levels
	// Expect is the claim of the head. For an improvement, Detectable and Found refer to a true
	// improvement that is shown.
	Expect Expectation
	// Known is the known spread; nil if only the spread of the pairs will be known.
	Known *Known
	// Between is the standard error of the mean over blocks, on the scale of the test, if the
	// comparison is about all such blocks; see [Comparison.Between].
	Between float64
}

// NewProspect returns the prospect of the strictest comparison of a Holm group: it must reject at
// Holm's first step, whatever the other members do. alpha is the level of the group, passAlpha that
// of a pass.
func NewProspect(l Looks, alpha, passAlpha float64, members int, rule Rule) Prospect {
	p := Prospect{Looks: l, Rule: rule}
	for k := range l {
		p.Levels = append(p.Levels, l.Level(k, alpha, members)/float64(max(members, 1)))
		p.PassLevels = append(p.PassLevels, l.Level(k, passAlpha, 1))
	}
	return p
}

// First returns the prospect of the first look alone.
func (p Prospect) First() Prospect {
	p.Looks, p.Levels, p.PassLevels = p.Looks[:1], p.Levels[:1], p.PassLevels[:1]
	return p
}

// prospects is the number of simulated sessions. The standard error of a probability of 80 % is 0.4
// %.
const prospects = 10_000

// Detectable returns the smallest true difference, on the scale of the test, that is called a
// regression with the given power if pairs have standard deviation sd. A regression is significant
// at some look, has an estimate of at least the margin, and did not pass before. It is simulated
// with a fixed seed, and +Inf if no test is possible.
func (p Prospect) Detectable(sd, margin, power float64) float64 {
	least := p.thresholds(sd, margin)
	return nthSmallest(least, min(int(math.Ceil(power*float64(len(least)))), len(least)))
}

// Found returns the probability that a true difference is called a regression.
func (p Prospect) Found(difference, sd, margin float64) float64 {
	least := p.thresholds(sd, margin)
	n := 0
	for _, t := range least {
		if t < difference+rounding {
			n++
		}
	}
	return float64(n) / float64(len(least))
}

// nthSmallest returns the n-th smallest value, n from 1, and reorders the values. It narrows the range that holds it by
// one pivot after another (quickselect), because every start of the program asks for a few of them.
func nthSmallest(values []float64, n int) float64 {
	for len(values) > 12 {
		pivot := values[len(values)/2]
		low, high := 0, len(values)-1
		for low <= high {
			for values[low] < pivot {
				low++
			}
			for values[high] > pivot {
				high--
			}
			if low <= high {
				values[low], values[high] = values[high], values[low]
				low, high = low+1, high-1
			}
		}
		switch { // values up to high are at most the pivot, those from low at least; between them is the pivot
		case n <= high+1:
			values = values[:high+1]
		case n > low:
			values, n = values[low:], n-low
		default:
			return pivot
		}
	}
	slices.Sort(values)
	return values[n-1]
}

// thresholds returns, in no order, the smallest true difference that each simulated session calls a
// regression. The true difference only shifts a session's estimates. A session is therefore a
// regression from some difference on: as soon as the estimate of a look is large enough and no
// earlier look passes.
func (p Prospect) thresholds(sd, margin float64) []float64 {
	critical, bound := make([]float64, len(p.Looks)), make([]float64, len(p.Looks))
	for k, n := range p.Looks {
		if n < 2 {
			continue
		}
		critical[k], bound[k] = p.critical(p.Levels[k], float64(n-1)), p.critical(p.PassLevels[k], float64(n-1))
	}
	d := drawsOf(p.Looks, p.Between > 0)
	least := make([]float64, prospects)
	for i := range least {
		blocks := 0.0
		if d.blocked {
			blocks = p.Between * d.blocks[i]
		}
		least[i] = p.threshold(d.looks[i*len(p.Looks):][:len(p.Looks)], blocks, critical, bound, sd, margin)
	}
	return least
}

// draws holds what the simulated sessions of a schedule draw: standard normal pairs, at each look, and blocks.
type draws struct {
	schedule Looks
	blocked  bool
	blocks   []float64 // by session
	looks    []look    // by session and look
}

// look holds the sum and the standard deviation of the pairs up to a look.
type look struct{ sum, sd float64 }

// lastDraws holds the draws of the last schedule. A plan asks for the prospects of all its comparisons, most of which have
// the same schedule, and drawing takes half of the time.
var lastDraws atomic.Pointer[draws]

func drawsOf(schedule Looks, blocked bool) *draws {
	if last := lastDraws.Load(); last != nil && last.blocked == blocked && slices.Equal(last.schedule, schedule) {
		return last
	}
	d := &draws{schedule: slices.Clone(schedule), blocked: blocked, looks: make([]look, 0, prospects*len(schedule))}
	rng := rand.New(rand.NewPCG(20261122, 0)) //nolint:gosec // a simulation
	for range prospects {
		if blocked {
			d.blocks = append(d.blocks, rng.NormFloat64())
		}
		sum, squares, k := 0.0, 0.0, 0
		for n := 1; k < len(schedule); n++ {
			z := rng.NormFloat64()
			sum, squares = sum+z, squares+z*z
			if n == schedule[k] {
				d.looks = append(d.looks, look{sum, math.Sqrt(max(0, squares-sum*sum/float64(n)) / float64(n-1))})
				k++
			}
		}
	}
	lastDraws.Store(d)
	return d
}

// critical returns the critical value of the test with d degrees of freedom of the pairs.
func (p Prospect) critical(alpha, d float64) float64 {
	if p.Known == nil {
		return tCritical(alpha, d)
	}
	return p.Known.critical(alpha, d)
}

// error returns the standard error of n pairs with standard deviation sd.
func (p Prospect) error(sd float64, n int) float64 {
	if p.Known != nil {
		sd = p.Known.with(sd, float64(n-1))
	}
	if p.Between == 0 {
		return sd / math.Sqrt(float64(n))
	}
	return math.Hypot(sd/math.Sqrt(float64(n)), p.Between)
}

// threshold returns the smallest difference that one simulated session calls a regression.
func (p Prospect) threshold(looks []look, blocks float64, critical, bound []float64, sd, margin float64) float64 {
	least, passed := math.Inf(1), math.Inf(-1)
	for k, l := range looks {
		n := p.Looks[k]
		if n < 2 { // no test is possible
			continue
		}
		shift := blocks + sd*l.sum/float64(n)
		se := p.error(sd*l.sd, n)
		from := max(margin, critical[k]*se)
		switch {
		case p.Expect == ExpectImprovement:
			from = margin + critical[k]*se
		case p.Strict:
			from = max(from, margin+bound[k]*se)
		}
		least = min(least, max(from-shift, passed))
		passed = max(passed, margin-bound[k]*se-shift)
	}
	return least
}
