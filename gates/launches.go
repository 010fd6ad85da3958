package gates

import (
	"cmp"
	"fmt"
	"slices"
)

// LaunchShare is the part of a group's level for the comparisons of launches. The group's other
// tests share the rest, whether or not a launch fails.
const LaunchShare = 0.2

// Launches compares how often the servers of both sides fail: do not start, never become ready, or
// die. A launch serves all cells of its target, so the unit is the repeat, not the run of a cell.
type Launches struct {
	// Repeats counts those with an outcome on both sides; Base and Head count those with a failed
	// server.
	Repeats, Base, Head int
	// P is the anytime-valid p value against "the head fails no more often than the base", PBetter
	// its mirror image. Level is the level that both are compared with.
	P, PBetter, Level float64
}

// launchAlternatives are the failure rates of head and base that the test bets on, with their
// weights. The first is a head that never starts, the next ones fail in most or half of the
// launches.
var launchAlternatives = []struct{ weight, head, base float64 }{
	{0.3, 1, 0},
	{0.4, 0.8, 0.01},
	{0.2, 0.5, 0.01},
	{0.1, 0.8, 0.2},
}

// LaunchTest returns the one-sided p value that the head's server fails more often than the base's.
// Both lists hold one outcome per repeat in which both sides were launched.
//
// It is the inverse of an e-value (R. Turner, A. Ly and P. Grünwald, Statist. Plann. Inference 230,
// 2024): the mean over alternatives of the likelihood ratio against equal rates, at the rate that
// is least favourable to each alternative. Its expectation is at most 1 whatever the common rate.
// By Ville's inequality, P ≤ α therefore has a probability of at most α over all repeats together,
// however often it is checked and whenever the launches end. If the head fails in each of n repeats
// and the base never does, P is about 2·4⁻ⁿ.
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

// chance returns the probability of an outcome at a rate.
func chance(rate float64, happened bool) float64 {
	if happened {
		return rate
	}
	return 1 - rate
}

// LaunchFailures returns in how many further repeats the head's server must fail, and the base's
// must not, until p ≤ level, given the outcomes so far. It returns 0 if MaxPairs are not enough.
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

// sides identifies the launches that a success comparison compares. Comparisons with the same sides
// share their launches.
func (s Success) sides() string { return cmp.Or(s.Sides, s.Gate) }

// launches compares the launches behind the family's success comparisons, by group of levels and
// sides.
func (f Family) launches(entries []*entry) {
	entries = entries[len(f.Comparisons):]
	type key struct{ group, sides string }
	shared := map[key]*launched{}
	sides := map[string]int{} // sides in each group
	for i, s := range f.Success {
		at := key{entries[i].group(), s.sides()}
		if shared[at] == nil {
			shared[at] = &launched{map[int]bool{}, map[int]bool{}}
			sides[at.group]++
		}
		shared[at].add(s)
		entries[i].launched = shared[at]
	}
	rest := f.rest()
	for _, e := range entries {
		alpha := f.Alpha
		switch {
		case e.share > 0:
			alpha = e.share
		case e.inFamily:
			alpha = rest
		}
		e.Requests.Launches = e.launched.test()
		e.Requests.Launches.Level = LaunchShare * alpha / float64(sides[e.group()])
	}
}

// group returns the name of the group that an entry shares its level with: the gate if it has its
// own share of alpha, "" for the common group, or a name of its own per gate outside the family.
func (e *entry) group() string {
	switch {
	case !e.inFamily:
		return "alone " + e.Gate
	case e.share > 0:
		return e.Gate
	}
	return ""
}

// launched maps repeats to whether the server of the side failed.
type launched struct{ base, head map[int]bool }

// add records the launches of a cell's runs. A retry within a repeat has the same conditions, so a
// repeat counts once.
func (o *launched) add(s Success) {
	for _, r := range s.Base {
		o.base[r.Repeat] = o.base[r.Repeat] || r.ServerFailed
	}
	for _, r := range s.Head {
		o.head[r.Repeat] = o.head[r.Repeat] || r.ServerFailed
	}
}

// both returns the outcomes of the repeats that both sides have, by repeat.
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

// test compares both sides.
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

// servers decides on failed launches. It returns "" if no server of this cell failed.
func (e *entry) servers() (Verdict, string) {
	r := e.Requests
	l, base, head := r.Launches, r.Base.ServerFailed, r.Head.ServerFailed
	if base+head == 0 {
		return "", ""
	}
	if l.Repeats == 0 {
		return Inconclusive, "a server failed, and no repeat has a run of both sides"
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

// more describes when the head's failures would become a regression.
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
