package gates

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// MaxT tests by sign flips and corrects all metrics of a group that use it together.
var MaxT = &Test{
	Name: "max_t", LeastRepeats: leastFlips, LeastP: oneFlip, Run: signFlips, joint: maxT,
	Doc: "sign flips that are corrected jointly, for metrics that move together, from 8 repeats on",
}

// maxT fills in the adjusted p values of a block by the step-down max-T procedure of P. Westfall
// and S. Young (Resampling-Based Multiple Testing, 1993, algorithm 4.1) over sign flips. The flip
// of a repeat reverses all comparisons of that repeat at once, which keeps their correlation. It
// loses less power than Holm if metrics move together.
//
// Members without a test keep a p value of 1.
func maxT(block []*entry, seed uint64) {
	var repeats []int
	for _, e := range block {
		e.PHolm, e.PBetterHolm = 1, 1
		if e.tested {
			repeats = append(repeats, e.sample.repeats...)
		}
	}
	slices.Sort(repeats)
	repeats = slices.Compact(repeats)

	worse, better := newStepDown(block, repeats, Regression), newStepDown(block, repeats, Improvement)
	visitFlips(len(repeats), seed, func(flipped []bool, changed int) {
		worse.flip(flipped, changed)
		better.flip(flipped, changed)
	})
	for i, p := range worse.adjusted() {
		worse.members[i].entry.PHolm = p
	}
	for i, p := range better.adjusted() {
		better.members[i].entry.PBetterHolm = p
	}
	for _, e := range block {
		switch e.rejected {
		case Regression:
			e.PHolm = 0
		case Improvement:
			e.PBetterHolm = 0
		}
	}
}

// stepDown is max-T in one direction.
type stepDown struct {
	// members are sorted by decreasing statistic, without those that an earlier look rejected.
	members []flippable
	// reached counts, for each member, the flips whose largest statistic from this member on is at
	// least its own.
	reached []int
	total   int
}

// flippable is one member with its differences by repeat, 0 if it has none, signed so that the
// direction is positive.
type flippable struct {
	entry *entry
	d     []float64
	n     float64
	scale float64 // √(n·Σd²)
	sum   float64 // of the differences after the flip
	t     float64 // observed
}

// newStepDown sorts the members that have a test.
func newStepDown(block []*entry, repeats []int, rejection Verdict) *stepDown {
	b := &stepDown{}
	for _, e := range block {
		if !e.tested || e.rejected == rejection {
			continue
		}
		m := flippable{entry: e, d: make([]float64, len(repeats)), n: float64(len(e.sample.Differences))}
		squares := 0.0
		for i, v := range e.sample.Differences {
			if rejection == Improvement {
				v = -v - e.beyond
			}
			at, _ := slices.BinarySearch(repeats, e.sample.repeats[i])
			m.d[at] = v
			m.sum += v
			squares += v * v
		}
		if math.Sqrt(squares/m.n) > e.sample.Floor {
			m.scale = math.Sqrt(m.n * squares)
		}
		m.t = m.statistic()
		b.members = append(b.members, m)
	}
	slices.SortStableFunc(b.members, func(x, y flippable) int { return cmp.Compare(y.t, x.t) })
	b.reached = make([]int, len(b.members))
	return b
}

// statistic returns t of the flipped differences, √(n−1)·r/√(1−r²) with r = Σd/√(n·Σd²). It returns
// 0 if all differences are 0.
func (m *flippable) statistic() float64 {
	if m.scale == 0 {
		return 0
	}
	r := m.sum / m.scale
	return r * math.Sqrt((m.n-1)/math.Max(1-r*r, rounding))
}

// flip counts one flip. It differs from the previous one in the repeat changed, or in any number of
// repeats if changed is negative.
func (b *stepDown) flip(flipped []bool, changed int) {
	b.total++
	largest := math.Inf(-1)
	for i := len(b.members) - 1; i >= 0; i-- {
		m := &b.members[i]
		switch {
		case changed < 0:
			m.sum = 0
			for k, v := range m.d {
				if flipped[k] {
					v = -v
				}
				m.sum += v
			}
		case flipped[changed]:
			m.sum -= 2 * m.d[changed]
		default:
			m.sum += 2 * m.d[changed]
		}
		largest = max(largest, m.statistic())
		if largest >= m.t-1e-9*math.Max(1, math.Abs(m.t)) {
			b.reached[i]++
		}
	}
}

// adjusted returns the p values, made monotone along the order.
func (b *stepDown) adjusted() []float64 {
	p := make([]float64, len(b.members))
	largest := 0.0
	for i, n := range b.reached {
		largest = max(largest, float64(n)/float64(b.total))
		p[i] = largest
	}
	return p
}

// visitFlips calls visit with all flips of n repeats in the order of a Gray code, each with the
// repeat that changed. For more than exactFlips repeats it visits no flip and then random ones.
// changed is −1 if the flip does not follow from the previous one.
func visitFlips(n int, seed uint64, visit func(flipped []bool, changed int)) {
	flipped := make([]bool, n)
	visit(flipped, -1)
	if n <= exactFlips {
		for i := 1; i < 1<<n; i++ {
			k := bits.TrailingZeros(uint(i))
			flipped[k] = !flipped[k]
			visit(flipped, k)
		}
		return
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	for range randomFlips {
		drawSubset(rng, flipped)
		visit(flipped, -1)
	}
}
