package judge

import (
	"cmp"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// causedBySide reports whether a run is void for a cause that can depend on its side.
func causedBySide(r result.Run) bool { return r.Status == result.RunVoid && r.VoidCause.BySide() }

// tryOf identifies one attempt at a pass of a repeat: the first, or one that measured it again.
type tryOf struct{ repeat, pair, pass int }

// voided returns the pairs whose head run was void for a cause that can depend on the side, if the head has more such
// attempts than the base. Gates consider these pairs before they pass. The pair holds the first-measured values, NaN
// for a missing one.
func voided(m metric.Metric, base, head *result.Cell) []gates.Pair {
	return voidedMore(tries(head), tries(base), func(h, b result.Run) gates.Pair {
		return gates.Pair{Base: valueOf(b, m), Head: valueOf(h, m)}
	}, func(p, than gates.Pair) bool { return slower(m, p, than) })
}

// voidedBase returns the pairs whose base run was void, if the base has more such attempts than the head. Gates
// consider these pairs before they call a regression. Pairs without a value are left out, since they show nothing.
func voidedBase(m metric.Metric, base, head *result.Cell) []gates.Pair {
	out := voidedMore(tries(base), tries(head), func(b, h result.Run) gates.Pair {
		return gates.Pair{Base: valueOf(b, m), Head: valueOf(h, m)}
	}, func(p, than gates.Pair) bool { return slower(m, than, p) })
	return slices.DeleteFunc(out, func(p gates.Pair) bool { return math.IsNaN(p.Base) || math.IsNaN(p.Head) })
}

// valueOf returns the value of a metric in a run, NaN if it has none.
func valueOf(r result.Run, m metric.Metric) float64 {
	if v, ok := r.Metrics[m.ID]; ok {
		return v
	}
	return math.NaN()
}

// voidedMore returns the first measurements of the repeats in which a side was void for a cause that can depend on it,
// if that side has more such attempts than the other. worse chooses among the attempts at a repeat.
func voidedMore(side, other map[tryOf]result.Run, pair func(side, other result.Run) gates.Pair,
	worse func(p, than gates.Pair) bool) []gates.Pair {
	more := 0
	first := map[int]gates.Pair{}
	for at, s := range side {
		o := other[at]
		if !causedBySide(s) || causedBySide(o) {
			continue
		}
		more++
		p := pair(s, o)
		p.Repeat = at.pair
		if before, seen := first[at.pair]; !seen || worse(p, before) {
			first[at.pair] = p
		}
	}
	for at, o := range other {
		if causedBySide(o) && !causedBySide(side[at]) {
			more--
		}
	}
	if more <= 0 {
		return nil
	}
	var out []gates.Pair
	for _, p := range first {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b gates.Pair) int { return cmp.Compare(a.Repeat, b.Repeat) })
	return out
}

// slower reports whether the first of two attempts at a repeat is worse for the head, on the scale of the metric. An
// attempt without a difference is the worst.
func slower(m metric.Metric, p, than gates.Pair) bool {
	before, err := gates.Differences(m, []gates.Pair{than})
	if err != nil {
		return false
	}
	d, err := gates.Differences(m, []gates.Pair{p})
	return err != nil || d[0] > before[0]
}

func tries(cell *result.Cell) map[tryOf]result.Run {
	runs := map[tryOf]result.Run{}
	for _, r := range cell.Runs {
		if r.Status == result.RunOK || r.Status == result.RunVoid {
			runs[tryOf{r.Repeat, r.Pair(), r.Pass}] = r
		}
	}
	return runs
}
