package judge

import (
	"fmt"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// warnOfSpread adds a warning to the pass whose head spreads most clearly more between launches than its base. A mean over few
// launches misses rare slow ones, and a pair does not show on which side they were.
func (c *collector) warnOfSpread() {
	var all clearest
	most, repeats := 0.0, 0
	c.eachPaired(func(d *result.Decision, m metric.Metric, base, head *result.Cell) {
		if base == nil || head == nil || d.Verdict != result.Pass && d.Verdict != result.Improvement {
			return
		}
		b, h := valuesOf(m, base, head)
		ratio, p, ok := gates.SpreadTest(b, h)
		if !ok {
			return
		}
		all.searched++
		if all.add(d, p) {
			most, repeats = ratio, len(h)
		}
	})
	if !all.significant(gates.SpreadLevel) {
		return
	}
	all.warn(fmt.Sprintf("the launches of the head spread %s times as much as the base's. If it is rarely much "+
		"slower, and in most launches a little faster, %d repeats miss that more often than the error rate says: compare the single launches",
		humanize.Number(most), repeats))
}

// valuesOf returns the values of both sides of the pairs, on the scale of a metric. It returns none if a value has no logarithm.
func valuesOf(m metric.Metric, base, head *result.Cell) (b, h []float64) {
	for _, p := range pairs(m, base, head) {
		x, ok := onScale(m, p.Base)
		y, has := onScale(m, p.Head)
		if !ok || !has {
			return nil, nil
		}
		b, h = append(b, x), append(h, y)
	}
	return b, h
}
