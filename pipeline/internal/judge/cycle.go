package judge

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// warnOfCycle adds a warning to the decision whose runs follow a clock most clearly, if any does. The order of the sides
// is drawn, so a clock adds noise and no difference. Whoever knows its period may remove its cause.
func (c *collector) warnOfCycle() {
	var all clearest
	var shown gates.Cycle
	var of metric.Metric
	c.eachPaired(func(d *result.Decision, m metric.Metric, base, head *result.Cell) {
		found, ok := gates.FindCycle(timesOf(m, base, head))
		if !ok {
			return
		}
		all.searched++
		if all.add(d, found.P) {
			shown, of = found, m
		}
	})
	if !all.significant(gates.CycleLevel) {
		return
	}
	swing := fmt.Sprintf("%.3g %%", 100*math.Expm1(shown.Swing))
	if of.Scale != metric.Log {
		swing = strings.TrimPrefix(humanize.ScaleFor(string(of.Unit), shown.Swing).Difference(shown.Swing), "+")
	}
	all.warn(fmt.Sprintf("the values of the runs rise and fall by %s with a period of about %s: look for a job or "+
		"a neighbour that follows a clock. The order of the sides is drawn, so that this is noise, and more repeats "+
		"are needed with it than without",
		swing, humanize.Duration(time.Duration(shown.Period*float64(time.Second)))))
}

// eachPaired calls do with each decision on a metric of two cells that are paired.
func (c *collector) eachPaired(do func(d *result.Decision, m metric.Metric, base, head *result.Cell)) {
	for i, g := range c.plan.Gates {
		if g.BaselineKind != result.BaselinePaired {
			continue
		}
		decisions := c.doc.Gates[i].Decisions
		for j := range decisions {
			d := &decisions[j]
			if m, ok := c.doc.Metric(d.Metric); ok && d.Kind != result.KindSuccess {
				do(d, m, c.cells[key(g.Benchmark, d.BaseCell)], c.cells[key(g.Benchmark, d.Cell)])
			}
		}
	}
}

// clearest is the decision in which something shows most clearly, of all in which it is searched.
type clearest struct {
	at       *result.Decision
	p        float64
	searched int
}

// add adds the p value of a decision, and reports whether it is the smallest so far.
func (c *clearest) add(d *result.Decision, p float64) bool {
	if c.at != nil && p >= c.p {
		return false
	}
	c.at, c.p = d, p
	return true
}

// significant reports whether the smallest p value is significant at a level that all searched decisions share (Bonferroni).
func (c *clearest) significant(level float64) bool {
	return c.at != nil && c.p*float64(c.searched) <= level
}

// warn adds a warning to the decision.
func (c *clearest) warn(text string) { c.at.Warnings = append(c.at.Warnings, text) }

// onScale returns a value on the scale of a metric, false if it has no logarithm.
func onScale(m metric.Metric, v float64) (float64, bool) {
	if m.Scale != metric.Log {
		return v, true
	}
	return math.Log(v), v > 0
}

// timesOf returns when the runs of cells began, on which side and machine they were, and their values on the scale of
// a metric.
func timesOf(m metric.Metric, cells ...*result.Cell) (at []float64, side []int, values []float64) {
	sides := map[string]int{}
	for _, cell := range cells {
		if cell == nil {
			continue
		}
		for r := range sound(cell) {
			v, ok := r.Metrics[m.ID]
			if !ok || r.At == 0 {
				continue
			}
			if v, ok = onScale(m, v); !ok {
				continue
			}
			on := cell.Hash + " " + r.Nodes
			if _, seen := sides[on]; !seen {
				sides[on] = len(sides)
			}
			at, side, values = append(at, r.At), append(side, sides[on]), append(values, v)
		}
	}
	return at, side, values
}
