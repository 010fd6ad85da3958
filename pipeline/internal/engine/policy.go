package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// patience is the number of failures of a target after which it is not launched again.
const patience = 2

// failures counts how often a target has failed: the repeats in which any of its
// launches did, since a second try within a repeat meets the same conditions. A plan of
// one repeat has nothing else to count than the tries.
func failures(p *plan.Plan, done []Launched, target string) int {
	n := 0
	for _, l := range done {
		switch {
		case l.Target != target || !l.failed():
		case len(p.Repeats) == 1:
			n += l.failures()
		default:
			n++
		}
	}
	return n
}

// givenUp says whether a target has failed as often as it may.
func givenUp(p *plan.Plan, done []Launched, target string) bool {
	return failures(p, done, target) >= patience
}

// stop says why a run must not go on after what was done so far.
type stop struct {
	// infrastructure is set when no statement on the head is possible: exit 4.
	infrastructure bool
	// final is set when nothing is left to go on with.
	final  bool
	reason string
}

// decideStop applies the policy on targets that fail. It is a function of the plan and of
// what was done, so that a resumed run decides the same.
//
//   - All targets given up: infrastructure.
//   - A target that others are compared with given up: infrastructure, since the head
//     cannot be blamed for its base.
//   - Another target given up: a finding. Nothing that is left to measure would change it.
//
// It returns nil while no target is given up.
func decideStop(p *plan.Plan, done []Launched) *stop {
	var dead []string
	for _, t := range p.Targets {
		if givenUp(p, done, t.Addr) {
			dead = append(dead, t.Addr)
		}
	}
	if len(dead) == 0 {
		return nil
	}
	what := fmt.Sprintf("%s failed %d times (%s)", strings.Join(dead, " and "), patience, lastClass(done, dead))
	if len(dead) == len(p.Targets) {
		return &stop{infrastructure: true, final: true, reason: what + ": no target works"}
	}
	if base := firstBase(p, dead); base != "" {
		return &stop{infrastructure: true, reason: what + ": " + base + " is what others are compared with"}
	}
	return &stop{reason: what + ", the others work"}
}

// firstBase returns the first of the targets that is the base of a comparison.
func firstBase(p *plan.Plan, targets []string) string {
	for _, t := range targets {
		for _, g := range p.Gates {
			for _, c := range g.Comparisons {
				if _, cell, ok := p.Cell(c.Base); ok && cell.Target == t {
					return t
				}
			}
		}
	}
	return ""
}

func lastClass(done []Launched, targets []string) string {
	for _, l := range slices.Backward(done) {
		if !slices.Contains(targets, l.Target) {
			continue
		}
		for _, a := range slices.Backward(l.Attempts) {
			if a.Failure != nil {
				return a.Failure.Class
			}
		}
	}
	return "unknown"
}

// replaceCap is how many void runs may be measured again: 30 % of the planned ones, at
// least one.
func replaceCap(p *plan.Plan) int {
	n := 0
	for _, r := range p.Repeats {
		for _, l := range r.Launches {
			n += len(l.Runs)
		}
	}
	return max(1, n*3/10)
}

// replacement plans the next repeat that measures void runs again: of the first repeat
// that still has any, with all sides of the cells concerned, in the order of that repeat
// and with its content. It returns false when there is nothing left to do, or when the
// cap is reached: those runs stay void.
func replacement(p *plan.Plan, done []Launched) (r plan.Repeat, replaces int, ok bool) {
	open, spent := voids(done)
	for _, rep := range p.Repeats {
		cells := open[rep.Index]
		if len(cells) == 0 || spent >= replaceCap(p) {
			continue
		}
		cells = cells[:min(len(cells), replaceCap(p)-spent)]
		again := sides(p, cells)
		r = only(rep, again, lastRepeat(p, done)+1)
		if !slices.ContainsFunc(r.Launches, func(l plan.Launch) bool { return givenUp(p, done, l.Target) }) {
			return r, rep.Index, true
		}
	}
	return plan.Repeat{}, 0, false
}

// only returns a repeat with another number and with the runs of some cells alone.
func only(r plan.Repeat, cells map[string]bool, index int) plan.Repeat {
	out := plan.Repeat{Index: index}
	for _, l := range r.Launches {
		runs := slices.DeleteFunc(slices.Clone(l.Runs), func(run plan.Run) bool { return !cells[run.Cell] })
		if len(runs) > 0 {
			out.Launches = append(out.Launches, plan.Launch{ID: fmt.Sprintf("r%d-%s", index, l.Target), Target: l.Target, Runs: runs})
		}
	}
	return out
}

// voids returns the cells whose latest run for a planned repeat is void, by that repeat,
// and the number of void runs that were measured again.
func voids(done []Launched) (open map[int][]string, spent int) {
	type place struct {
		cell string
		pair int
	}
	latest := map[place]result.Run{}
	var order []place
	total := 0
	for _, l := range done {
		for _, cr := range l.Runs {
			at := place{cr.Cell, cr.Run.Pair()}
			if before, seen := latest[at]; !seen {
				order = append(order, at)
			} else if before.Repeat > cr.Run.Repeat {
				continue
			}
			if cr.Run.Status == result.RunVoid {
				total++
			}
			latest[at] = cr.Run
		}
	}
	open = map[int][]string{}
	for _, at := range order {
		if latest[at].Status == result.RunVoid {
			open[at.pair] = append(open[at.pair], at.cell)
			total--
		}
	}
	return open, total
}

// sides returns the cells and everything that is compared with them, directly or not.
func sides(p *plan.Plan, cells []string) map[string]bool {
	in := map[string]bool{}
	for _, c := range cells {
		in[c] = true
	}
	for grown := true; grown; {
		grown = false
		for _, g := range p.Gates {
			for _, c := range g.Comparisons {
				if c.Base != "" && in[c.Head] != in[c.Base] {
					in[c.Head], in[c.Base], grown = true, true, true
				}
			}
		}
	}
	return in
}

func lastRepeat(p *plan.Plan, done []Launched) int {
	last := len(p.Repeats)
	for _, l := range done {
		last = max(last, l.Repeat)
	}
	return last
}
