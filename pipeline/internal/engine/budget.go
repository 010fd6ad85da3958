package engine

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// outOfBudget reports whether the next round would exceed the budget, or after a look the rounds until the next look.
// If so, it removes all remaining rounds from the schedule. The budget is checked before each repeat and never within
// one, so that every paid launch has a measured partner. Repeats after the last look that is reached would decide
// nothing. The first repeat is always measured.
func (r *runner) outOfBudget(left [][]plan.Repeat) bool {
	first, done := left[0][0].Index, r.out.RepeatsDone
	if r.plan.Budget == nil || done == 0 || r.wasResumed(left[0]) {
		return false
	}
	spending := r.spending()
	next := r.untilLook(left)
	for _, round := range next {
		spending = spending.Plus(r.expected(round))
	}
	bound := r.plan.Exceeded(spending)
	if bound == "" {
		return false
	}
	what := "the next"
	if n := len(slices.Concat(next...)); n > 1 {
		what = fmt.Sprintf("the %d until the next look", n)
	}
	goesOn := "run with --resume and a larger one goes on"
	if r.plan.JudgedOnce() {
		goesOn = "it is judged with what it has, and a further one is another attempt"
	}
	r.leave(r.plan.Repeats[first-1:], result.StoppedBudget, fmt.Sprintf(
		"ended after %s of at most %d: %s would exceed the budget of %s; %s", humanize.Count(done, "repeat"), len(r.plan.Repeats),
		what, bound, goesOn))
	r.warn(r.early)
	return true
}

// untilLook returns the rounds until the next look, if one was just taken, else the next round. A session between looks
// goes as far as its budget allows, and may be cheaper than estimated.
func (r *runner) untilLook(left [][]plan.Repeat) [][]plan.Repeat {
	if len(r.plan.Looks) < 2 || !slices.Contains(r.plan.Looks, left[0][0].Index-1) {
		return left[:1]
	}
	for i, round := range left {
		if slices.ContainsFunc(round, func(rep plan.Repeat) bool { return slices.Contains(r.plan.Looks, rep.Index) }) {
			return left[:i+1]
		}
	}
	return left
}

// wasResumed reports whether all launches of the repeats were already done before the run was resumed.
func (r *runner) wasResumed(round []plan.Repeat) bool {
	for _, rep := range round {
		for _, l := range rep.Launches {
			if _, done := r.resumed[l.ID]; !done {
				return false
			}
		}
	}
	return true
}

// spending returns what the run has spent, including the time before it was resumed.
func (r *runner) spending() plan.Spending {
	var sum plan.Spending
	for _, l := range r.out.Launched {
		for _, a := range l.Attempts {
			held := r.plan.Target(l.Target).OfLaunch(a.Held)
			held.Seconds = 0
			sum = sum.Plus(held)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	sum.Seconds = (r.out.Took + r.o.Now().Sub(r.out.Last)).Seconds()
	return sum
}

// expected returns what repeats side by side will spend. A launch takes as long as the target's launches did on
// average, or as the plan estimates if none was measured.
func (r *runner) expected(round []plan.Repeat) plan.Spending {
	var sum plan.Spending
	longest := 0.0
	for _, rep := range round {
		long := 0.0
		for _, l := range rep.Launches {
			of := r.plan.Target(l.Target).OfLaunch(r.usual(l))
			long += of.Seconds
			sum = sum.Plus(of)
		}
		if rep.Beside {
			longest += long
		} else {
			longest = max(longest, long)
		}
	}
	sum.Seconds = longest
	return sum
}

// usual returns how long launches of a target take, in seconds.
func (r *runner) usual(l plan.Launch) float64 {
	sum, n := 0.0, 0
	for _, done := range r.out.Launched {
		if done.Target != l.Target {
			continue
		}
		for _, a := range done.Attempts {
			if a.Held > 0 {
				sum, n = sum+a.Held, n+1
			}
		}
	}
	if n == 0 {
		return r.plan.Target(l.Target).StartSeconds + r.eta.of(l) - r.eta.launch
	}
	return sum / float64(n)
}
