package gates

import (
	"cmp"
	"fmt"
	"slices"
)

// LaunchShare is the part of a group's level that the comparisons of launches have. The
// group's other tests share the rest, whether or not a launch ever fails.
const LaunchShare = 0.2

// Launches compares how often the servers of two sides fail: do not start, never become
// ready, or die. A launch serves all cells of its target, so its repeats, and not the runs
// of each cell, are what there are many of.
type Launches struct {
	// Repeats that have an outcome of both sides, and those in which a server failed.
	Repeats, Base, Head int
	// P is the anytime-valid p value that the head fails no more often than the base, and
	// PBetter the mirror image; Level is what they are compared with.
	P, PBetter, Level float64
}

// launchAlternatives are the failure rates of head and base that the test bets on, with
// their weights: first a head that never starts, then one that fails in most or in half of
// its launches.
var launchAlternatives = []struct{ weight, head, base float64 }{
	{0.3, 1, 0},
	{0.4, 0.8, 0.01},
	{0.2, 0.5, 0.01},
	{0.1, 0.8, 0.2},
}

// LaunchTest is the one-sided p value that the head's server fails more often than the
// base's, from repeats in which each side was launched; both lists are by repeat.
//
// It is the inverse of an e-value (R. Turner, A. Ly and P. Grünwald, Statist. Plann.
// Inference 230, 2024): the mean over alternatives of the likelihood ratio against equal
// rates, the rate that is least favourable to each alternative. Its expectation is at most
// 1 whatever the common rate is, so that by Ville's inequality P ≤ α happens with a chance
// of at most α over all repeats together, however often it is looked at and whenever
// the launches end. A head that fails in each of n repeats and a base that never does give
// about 2·4⁻ⁿ.
func LaunchTest(base, head []bool) float64 {
	e := 0.0
	for _, a := range launchAlternatives {
		null := (a.head + a.base) / 2
		product := a.weight
		for i := range min(len(base), len(head)) {
			product *= chance(a.head, head[i]) / chance(null, head[i]) * chance(a.base, base[i]) / chance(null, base[i])
		}
		e += product
	}
	return min(1, 1/e) // 1/0 is infinite
}

// chance of an outcome at a rate.
func chance(rate float64, happened bool) float64 {
	if happened {
		return rate
	}
	return 1 - rate
}

// LaunchFailures is the smallest number of repeats in which the head's server must fail,
// and the base's never, for p ≤ level, where the sides have behaved as in base and head so
// far: how many more of them. It is 0 where MaxPairs are not enough.
func LaunchFailures(base, head []bool, level float64) int {
	base, head = slices.Clone(base), slices.Clone(head)
	for n := 1; n <= MaxPairs; n++ {
		base, head = append(base, false), append(head, true)
		if LaunchTest(base, head) <= level {
			return n
		}
	}
	return 0
}

// sides names what a success comparison compares the launches of: comparisons with the
// same are of the same launches.
func (s Success) sides() string { return cmp.Or(s.Sides, s.Gate) }

// launches compares the launches behind the success comparisons of a family, by group of
// levels and sides.
func (f Family) launches(entries []*entry) {
	entries = entries[len(f.Comparisons):]
	type key struct{ group, sides string }
	shared := map[key]*launched{}
	sides := map[string]int{} // of each group
	for i, s := range f.Success {
		at := key{entries[i].group(), s.sides()}
		if shared[at] == nil {
			shared[at] = &launched{map[int]bool{}, map[int]bool{}}
			sides[at.group]++
		}
		shared[at].add(s)
		entries[i].launched = shared[at]
	}
	for _, e := range entries {
		alpha := f.Alpha
		switch {
		case e.share > 0:
			alpha = e.share
		case e.inFamily:
			alpha = f.rest()
		}
		e.Requests.Launches = e.launched.test()
		e.Requests.Launches.Level = LaunchShare * alpha / float64(sides[e.group()])
	}
}

// group names whom an entry shares its level with: the other comparisons of a gate with a share
// of its own, "" those of all others, or where it is not part of the family those of its gate
// that are not either.
func (e *entry) group() string {
	switch {
	case !e.inFamily:
		return "alone " + e.Gate
	case e.share > 0:
		return e.Gate
	}
	return ""
}

// launched are the repeats in which a side was launched, with whether its server failed.
type launched struct{ base, head map[int]bool }

// add notes the launches of the runs of a cell. A second try within a repeat
// has the same conditions, so a repeat counts once.
func (o *launched) add(s Success) {
	for _, r := range s.Base {
		o.base[r.Repeat] = o.base[r.Repeat] || r.ServerFailed
	}
	for _, r := range s.Head {
		o.head[r.Repeat] = o.head[r.Repeat] || r.ServerFailed
	}
}

// both are the outcomes of the repeats that both sides have, by repeat.
func (o *launched) both() (base, head []bool) {
	var repeats []int
	for r := range o.base {
		if _, ok := o.head[r]; ok {
			repeats = append(repeats, r)
		}
	}
	slices.Sort(repeats)
	for _, r := range repeats {
		base, head = append(base, o.base[r]), append(head, o.head[r])
	}
	return base, head
}

// test compares the two sides.
func (o *launched) test() Launches {
	base, head := o.both()
	return Launches{
		Repeats: len(base), Base: failed(base), Head: failed(head),
		P: LaunchTest(base, head), PBetter: LaunchTest(head, base),
	}
}

func failed(outcomes []bool) int {
	n := 0
	for _, f := range outcomes {
		if f {
			n++
		}
	}
	return n
}

// servers decides on launches that failed; "" means that none did in this cell.
func (e *entry) servers() (Verdict, string) {
	r := e.Requests
	l, base, head := r.Launches, r.Base.ServerFailed, r.Head.ServerFailed
	if base+head == 0 {
		return "", ""
	}
	counts := fmt.Sprintf("the head's server failed in %d of %s, the base's in %s", l.Head, repeats(l.Repeats), noneOr(l.Base))
	switch {
	case head > 0 && l.P <= l.Level:
		return Regression, fmt.Sprintf("%s: significantly more often (p = %.2g)", counts, l.P)
	case base > 0 && l.PBetter <= l.Level:
		return Improvement, fmt.Sprintf("%s: significantly less often (p = %.2g)", counts, l.PBetter)
	case base > 0 && head > 0:
		return Invalid, "base fails too: " + counts
	case head > 0:
		return Inconclusive, counts + e.more()
	}
	return Inconclusive, counts
}

// more describes what would make the head's failures a regression.
func (e *entry) more() string {
	base, head := e.launched.both()
	n := LaunchFailures(base, head, e.Requests.Launches.Level)
	if n == 0 {
		return ""
	}
	next := "the next repeat"
	if n > 1 {
		next = "each of the next " + repeats(n)
	}
	return fmt.Sprintf(": equal sides can do that too; a regression if it fails in %s as well", next)
}

func noneOr(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}
