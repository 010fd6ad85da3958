package culprit

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// leastShare is the share of a step that the pairs at its two ends have to exceed by themselves.
	leastShare = 0.5
	// leastPairs is the least number of pairs at each end, so that one launch that was slow by chance
	// names nothing.
	leastPairs = 2
	// leastOfMany is the least number of pairs at each end if the probability of a second step is at least possibleTwo. There
	// may then be more than two steps, which the posterior does not model: it names a step where two launches were slow.
	leastOfMany = 3
	possibleTwo = 0.3
	// strict divides the level at which the shortest of many ranges is taken.
	strict = 5
)

// contrast is a sum of the means of some candidates, weighted, with its standard error.
type contrast struct{ value, se, df float64 }

// contrast returns false if a candidate was not probed, or if none was probed twice. The good end needs no probe: its
// difference from itself is 0. The variance is pooled from the probes of each candidate about their own mean, so it
// assumes nothing about where the level changes.
func (e Evidence) contrast(weights map[int]float64) (contrast, bool) {
	n, sum := make([]float64, e.Candidates+1), make([]float64, e.Candidates+1)
	for _, p := range e.Probes {
		n[p.Candidate]++
		sum[p.Candidate] += p.D
	}
	c, squares := contrast{}, 0.0
	for _, p := range e.Probes {
		rest := p.D - sum[p.Candidate]/n[p.Candidate]
		squares += rest * rest
	}
	for _, x := range n {
		c.df += max(0, x-1)
	}
	if c.df == 0 {
		return c, false
	}
	variance := max(squares/c.df, e.Rounding*e.Rounding, math.SmallestNonzeroFloat64)
	for at, w := range weights {
		switch {
		case at == 0 || w == 0:
		case n[at] == 0:
			return c, false
		default:
			c.value += w * sum[at] / n[at]
			c.se += w * w * variance / n[at]
		}
	}
	c.se = math.Sqrt(c.se)
	return c, true
}

// above returns the p value of the contrast being at most x.
func (c contrast) above(x float64) float64 {
	if c.se == 0 {
		return 1
	}
	return distuv.StudentsT{Sigma: 1, Nu: c.df}.CDF(-(c.value - x) / c.se)
}

// shown reports whether the pairs at both ends of a step show by themselves more than half of it. A
// posterior of one step or two places them somewhere even where many small changes add up; the pairs
// at the place do not show such a step. It returns the candidate to probe if they do not.
func (p *Posterior) shown(s Step, level float64) (ok bool, next int) {
	good, bad := 0, 0
	for _, x := range p.evidence.Probes {
		switch x.Candidate {
		case s.Good:
			good++
		case s.Bad:
			bad++
		}
	}
	next = s.Bad
	if s.Good > 0 && good < bad {
		next = s.Good
	}
	worse := 1.0
	if s.Change < 0 {
		worse = -1
	}
	least := leastPairs
	if p.Two >= possibleTwo {
		least = leastOfMany
	}
	c, ok := p.evidence.contrast(map[int]float64{s.Bad: worse, s.Good: -worse})
	if bad < least || s.Good > 0 && good < least {
		return false, next
	}
	return ok && c.above(leastShare*math.Abs(s.Change)) <= level, next
}

// several reports whether the whole change between the ends exceeds, significantly, what each
// stretch between two neighbouring candidates that were probed brings. Then no single candidate did.
func (e Evidence) several(level float64) bool {
	probed := e.probed()
	for i, at := range probed[1:] {
		rest, ok := e.rest(Range{probed[i], at})
		if !ok || rest.above(0) > level {
			return false
		}
	}
	return len(probed) > 2
}

// stretch returns the shortest range between probed candidates that brings more than half of the total change, and
// the change in that range. Each range is tested at a stricter level, because the shortest of many is taken.
func (e Evidence) stretch(level float64) Step {
	best := Range{0, e.Candidates}
	probed := e.probed()
	end, _ := e.contrast(map[int]float64{e.Candidates: 1})
	sign := math.Copysign(1, end.value)
	for i, good := range probed {
		for _, bad := range probed[i+1:] {
			if bad-good >= best.Bad-best.Good {
				break
			}
			weights := map[int]float64{e.Candidates: -leastShare * sign}
			weights[bad] += sign
			weights[good] -= sign
			if part, ok := e.contrast(weights); ok && part.above(0) <= level/strict {
				best = Range{good, bad}
			}
		}
	}
	c, _ := e.contrast(map[int]float64{best.Good: -1, best.Bad: 1})
	return Step{Range: best, Probability: 1, Change: c.value}
}

// probed returns the candidates that were probed, and the good end.
func (e Evidence) probed() []int {
	out := []int{0}
	for _, p := range e.Probes {
		out = append(out, p.Candidate)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// rest returns the part of the change between the ends that a range does not explain, above 0 if it is in
// the direction of the change.
func (e Evidence) rest(r Range) (contrast, bool) {
	end, ok := e.contrast(map[int]float64{e.Candidates: 1})
	if !ok {
		return end, false
	}
	sign := math.Copysign(1, end.value)
	weights := map[int]float64{e.Candidates: sign}
	weights[r.Bad] -= sign
	weights[r.Good] += sign
	return e.contrast(weights)
}
