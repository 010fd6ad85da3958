package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// patience is the number of failures after which a target is not launched again. A target that is compared with others
// is launched until that comparison is decided, since equal servers fail equally often.
const patience = 2

// failures counts the failures of a target. It counts repeats in which a launch failed or no request succeeded, since a
// second attempt within a repeat has the same conditions. In a plan of one repeat it counts the attempts.
func failures(p *plan.Plan, done []Launched, target string) int {
	n := 0
	for _, l := range done {
		switch {
		case l.Target != target || !l.failed() && l.refusal() == "":
		case len(p.Repeats) == 1:
			n += max(l.failures(), 1)
		default:
			n++
		}
	}
	return n
}

// givenUp reports whether a target has failed as often as it may.
func givenUp(p *plan.Plan, done []Launched, target string) bool {
	if failures(p, done, target) < patience {
		return false
	}
	bases := p.Bases(target)
	if len(p.Repeats) == 1 || len(bases) == 0 || firstBase(p, []string{target}) != "" {
		return true
	}
	level := p.LaunchLevel()
	return !slices.ContainsFunc(bases, func(base string) bool {
		b, h := outcomes(done, base, target)
		return failures(p, done, base) < patience && gates.LaunchTest(b, h) > level
	})
}

// outcomes returns for each repeat in which both targets were launched whether each failed, in order.
func outcomes(done []Launched, base, head string) (b, h []bool) {
	failed := map[string]map[int]bool{base: {}, head: {}}
	for _, l := range done {
		if of := failed[l.Target]; of != nil {
			of[l.Repeat] = of[l.Repeat] || l.failed() || l.refusal() != ""
		}
	}
	for _, n := range slices.Sorted(maps.Keys(failed[base])) {
		if f, both := failed[head][n]; both {
			b, h = append(b, failed[base][n]), append(h, f)
		}
	}
	return b, h
}

// stop states why a run must end.
type stop struct {
	// infrastructure reports that no statement on the head is possible: exit 4.
	infrastructure bool
	// final reports that no target is left to continue with.
	final  bool
	reason string
}

// decideStop applies the policy on failing targets. The result depends only on the plan and the launches so far, so
// that a resumed run gets the same.
//
//   - All targets given up: infrastructure.
//   - A target that others are compared with given up: infrastructure, since the head cannot be blamed for its base.
//   - Another target given up: a finding. No further measurement would change it.
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
	times := failures(p, done, dead[0])
	for _, target := range dead {
		times = min(times, failures(p, done, target))
	}
	what := fmt.Sprintf("%s failed %d times (%s)", strings.Join(dead, " and "), times, lastClass(done, dead))
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
		if reason := l.refusal(); reason != "" {
			return reason
		}
	}
	return "unknown"
}
