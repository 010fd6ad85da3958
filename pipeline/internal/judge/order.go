package judge

import (
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// leastEachFirst is the smallest number of repeats that each side begins, so that the order of the sides shows apart from
// their difference.
const leastEachFirst = 2

// warnOfOrder adds a warning to the decision in which the side that runs second in a repeat differs most clearly from the
// first, whichever side it is. A cache on a disk that both sides read does that. The order is drawn, so it adds noise and
// no difference, and more repeats do not remove it.
func (c *collector) warnOfOrder() {
	var all clearest
	var shown gates.Statistic
	repeats := 0
	c.eachPaired(func(d *result.Decision, m metric.Metric, base, head *result.Cell) {
		differences := secondToFirst(m, base, head)
		s, err := gates.PairedT(differences)
		if err != nil {
			return
		}
		all.searched++ // before the data choose
		if math.Abs(s.Shift) < math.Log1p(leastUnwatched) || slices.Min(differences) <= 0 && slices.Max(differences) >= 0 {
			return
		}
		if all.add(d, 2*min(s.Greater, s.Less)) {
			shown, repeats = s, len(differences)
		}
	})
	if !all.significant(unwatchedLevel) {
		return
	}
	all.warn(fmt.Sprintf("the side that runs second is %s against the first in each of %d repeats, whichever side "+
		"it is: look for what a launch leaves to the next one, such as a cache on a disk or a warm machine. The order of the sides is "+
		"drawn, so that this is noise", humanize.Percent(math.Expm1(shown.Shift)), repeats))
}

// secondToFirst returns for each repeat how much the side that ran second differs from the first on the logarithm, nothing
// if one side was mostly first.
func secondToFirst(m metric.Metric, base, head *result.Cell) (out []float64) {
	if m.Scale != metric.Log || base == nil || head == nil {
		return nil
	}
	bases, heads, headFirst := begins(base), begins(head), 0
	for _, p := range pairs(m, base, head) {
		b, h := bases[p.Repeat], heads[p.Repeat]
		if b == h || b == 0 || h == 0 || !(p.Base > 0) || !(p.Head > 0) {
			continue
		}
		d := math.Log(p.Head / p.Base)
		if h < b {
			d = -d
			headFirst++
		}
		out = append(out, d)
	}
	if min(headFirst, len(out)-headFirst) < leastEachFirst {
		return nil
	}
	return out
}

// begins returns when the first sound run of each repeat began, 0 if that is unknown.
func begins(cell *result.Cell) map[int]float64 {
	out := map[int]float64{}
	for r := range sound(cell) {
		if at, has := out[r.Pair()]; !has || r.At < at {
			out[r.Pair()] = r.At
		}
	}
	return out
}
