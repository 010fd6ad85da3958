package gates

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// maxT fills in the adjusted p values of a block by the step-down max-T of P. Westfall
// and S. Young (Resampling-Based Multiple Testing, 1993, algorithm 4.1) over sign flips:
// a repeat's flip reverses all comparisons of that repeat at once, which keeps their
// correlation. It gives up less than Holm where metrics move together.
//
// Members without a test keep a p value of 1.
func maxT(block []*entry, seed uint64) {
	for _, e := range block {
		e.PHolm, e.PBetterHolm = 1, 1
	}
	worse, better := newBlock(block, 1), newBlock(block, -1)
	visitFlips(worse.repeats, seed, func(flipped func(repeat int) bool) {
		worse.flip(flipped)
		better.flip(flipped)
	})
	for i, p := range worse.adjusted() {
		worse.members[i].PHolm = p
	}
	for i, p := range better.adjusted() {
		better.members[i].PBetterHolm = p
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

// jointFlips is the step-down of one direction.
type jointFlips struct {
	// members from the largest statistic to the smallest, without those that an earlier
	// look has rejected.
	members []*entry
	sign    float64
	repeats []int     // of all members, ascending
	t       []float64 // observed, by member
	reached []int     // flips whose largest statistic from the member on reaches t
	total   int
}

// newBlock orders the members that have a test.
func newBlock(block []*entry, sign float64) *jointFlips {
	rejection := Regression
	if sign < 0 {
		rejection = Improvement
	}
	b := &jointFlips{sign: sign}
	for _, e := range block {
		if !e.Tested {
			continue
		}
		b.repeats = append(b.repeats, e.sample.repeats...)
		if e.rejected != rejection {
			b.members = append(b.members, e)
		}
	}
	slices.Sort(b.repeats)
	b.repeats = slices.Compact(b.repeats)
	keep := func(int) bool { return false }
	slices.SortStableFunc(b.members, func(x, y *entry) int { return cmp.Compare(b.statistic(y, keep), b.statistic(x, keep)) })
	b.t, b.reached = make([]float64, len(b.members)), make([]int, len(b.members))
	for i, e := range b.members {
		b.t[i] = b.statistic(e, keep)
	}
	return b
}

// statistic is the member's t after a flip, scaled by √(n/(n−1)): Σd/√(n·Σd²), which
// grows with it.
func (b *jointFlips) statistic(e *entry, flipped func(repeat int) bool) float64 {
	sum, squares := 0.0, 0.0
	for i, v := range e.sample.d {
		if flipped(e.sample.repeats[i]) {
			v = -v
		}
		sum += v
		squares += v * v
	}
	n := float64(len(e.sample.d))
	if math.Sqrt(squares/n) <= e.sample.floor {
		return 0
	}
	r := b.sign * sum / math.Sqrt(n*squares)
	return r * math.Sqrt(n-1) / math.Sqrt(math.Max(1-r*r, rounding))
}

// flip counts one flip.
func (b *jointFlips) flip(flipped func(repeat int) bool) {
	b.total++
	largest := math.Inf(-1)
	for i, e := range slices.Backward(b.members) {
		largest = max(largest, b.statistic(e, flipped))
		if largest >= b.t[i]-rounding*math.Abs(b.t[i]) {
			b.reached[i]++
		}
	}
}

// adjusted are the p values, made to grow along the order.
func (b *jointFlips) adjusted() []float64 {
	p := make([]float64, len(b.members))
	largest := 0.0
	for i, n := range b.reached {
		largest = max(largest, float64(n)/float64(b.total))
		p[i] = largest
	}
	return p
}

// visitFlips calls visit with all flips of the repeats, or with none and random ones.
func visitFlips(repeats []int, seed uint64, visit func(flipped func(repeat int) bool)) {
	index := make(map[int]int, len(repeats))
	for i, r := range repeats {
		index[r] = i
	}
	subset := make([]bool, len(repeats))
	flipped := func(repeat int) bool { return subset[index[repeat]] }
	if len(repeats) <= exactFlips {
		for mask := range 1 << len(repeats) {
			for i := range subset {
				subset[i] = mask>>i&1 == 1
			}
			visit(flipped)
		}
		return
	}
	rng := rand.New(rand.NewPCG(seed, uint64(len(repeats))))
	visit(flipped)
	for range randomFlips {
		drawSubset(rng, subset)
		visit(flipped)
	}
}
