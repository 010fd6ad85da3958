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
	bases, heads := tries(base), tries(head)
	more := 0
	first := map[int]gates.Pair{}
	for at, h := range heads {
		b, both := bases[at]
		switch void := causedBySide(h); {
		case void && both && causedBySide(b):
			continue
		case void:
			more++
		default:
			continue
		}
		p := gates.Pair{Repeat: at.pair, Base: math.NaN(), Head: math.NaN()}
		if v, ok := h.Metrics[m.ID]; ok {
			p.Head = v
		}
		if v, ok := b.Metrics[m.ID]; ok && both {
			p.Base = v
		}
		if before, seen := first[at.pair]; !seen || slower(m, p, before) {
			first[at.pair] = p
		}
	}
	for at, b := range bases {
		if h, both := heads[at]; causedBySide(b) && (!both || !causedBySide(h)) {
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

// slower reports whether the first of two attempts at a repeat is worse for the head. A missing value is the worst.
func slower(m metric.Metric, p, than gates.Pair) bool {
	if math.IsNaN(than.Head) || math.IsNaN(than.Base) {
		return false
	}
	worse := p.Head/p.Base > than.Head/than.Base
	if m.Direction == metric.HigherIsBetter {
		worse = p.Head/p.Base < than.Head/than.Base
	}
	return worse || math.IsNaN(p.Head) || math.IsNaN(p.Base)
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
