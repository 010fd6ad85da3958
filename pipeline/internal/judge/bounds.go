package judge

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/capacity"
	"github.com/servegate/pipeline/reports/result"
)

// A capacity beyond the searched range gets the end of the range as its value, on both sides alike. This shrinks a
// difference and never reverses it, so every regression found is real. It can hide a worse head, if the base is beyond
// the upper end or the head beyond the lower one. Then there is no pass. In the opposite cases it can hide an
// improvement, which is then not excluded.

// bound marks which values of a decision are bounds, and takes back a verdict in favour of the head that rests on one.
func bound(d *result.Decision, base, head *result.Cell) {
	m, ok := metric.Lookup(d.Metric)
	switch {
	case !ok || m.Group != "capacity":
		return
	case d.Kind == result.KindAssert:
		boundLimit(d, head)
		return
	case d.Kind != result.KindMetric:
		return
	}
	var of *result.Search
	d.BaseBound, _ = boundOf(base, result.AtLeast)
	d.HeadBound, of = boundOf(head, result.AtMost)
	if d.HeadValue == nil { // no run has a value
		d.HeadBound = ""
	}
	if of != nil && d.BaseBound == "" && slices.ContainsFunc(d.Sessions, func(x float64) bool { return near(x, of.Max) || x > of.Max }) {
		d.BaseBound = result.AtLeast
	}
	if of != nil && d.Refuted && (d.HeadBound == result.AtLeast || d.BaseBound == result.AtMost) {
		d.Refuted = false
		d.Reason = "an improvement is not excluded: " + unknown("the base carries", result.AtMost, of)
		if d.HeadBound == result.AtLeast {
			d.Reason = "an improvement is not excluded: " + unknown("the head carries", result.AtLeast, of)
		}
	}
	hidden := d.BaseBound == result.AtLeast || d.HeadBound == result.AtMost
	if of == nil || !hidden || d.Verdict != result.Pass && d.Verdict != result.Improvement && d.Verdict != result.Inconclusive {
		return
	}
	d.Verdict, d.Refuted, d.NeedPairs = result.Inconclusive, false, 0
	switch d.HeadBound {
	case result.AtMost:
		d.Reason = unknown("the head carries", result.AtMost, of)
	case result.AtLeast:
		d.Reason = fmt.Sprintf("both sides carry at least %s, the end of the search, and which of them more is not known: raise max",
			capacity.Text(of.Over, of.Max))
	default:
		d.Reason = unknown("the base carries", result.AtLeast, of)
	}
}

// boundLimit takes back the verdict on a limit if the capacity may be on the other side of the limit.
func boundLimit(d *result.Decision, head *result.Cell) {
	hides := result.AtLeast // the capacity may be higher than its value
	if higher := d.LimitOp == ">=" || d.LimitOp == ">"; higher == (d.Verdict == result.Pass) {
		hides = result.AtMost
	}
	var of *result.Search
	if d.HeadBound, of = boundOf(head, hides); d.HeadBound != hides || d.Verdict != result.Pass && d.Verdict != result.Regression {
		return
	}
	d.Verdict, d.Warnings, d.Reason = result.Inconclusive, nil, unknown("a launch carried", hides, of)
}

// unknown returns a message that a capacity is beyond an end of its search, and which end to move.
func unknown(carries string, b result.Bound, of *result.Search) string {
	if b == result.AtMost {
		return fmt.Sprintf("%s at most %s, the least load of the search, and by how much less is not known: lower min", carries,
			capacity.Text(of.Over, of.Min))
	}
	return fmt.Sprintf("%s at least %s, the end of the search, and how much more is not known: raise max", carries,
		capacity.Text(of.Over, of.Max))
}

// boundOf returns the bound of any run of a cell, preferring the one in hides, and the search of one of its runs. A run
// that found no load at which the SLO holds has failed, so its pair is left out. Its capacity is still at most the
// least load.
func boundOf(cell *result.Cell, hides result.Bound) (b result.Bound, of *result.Search) {
	if cell == nil {
		return "", nil
	}
	for _, r := range cell.Current() {
		if r.Search == nil || r.Status != result.RunOK && r.Status != result.RunFailed {
			continue
		}
		if of = r.Search; of.Bound != "" && b != hides {
			b = of.Bound
		}
	}
	return b, of
}

// boundAll marks the bounds of all decisions of a document.
func (c *collector) boundAll() {
	for i := range c.doc.Gates {
		g := &c.doc.Gates[i]
		for k := range g.Decisions {
			d := &g.Decisions[k]
			bound(d, c.cells[key(g.Benchmark, d.BaseCell)], c.cells[key(g.Benchmark, d.Cell)])
		}
	}
}
