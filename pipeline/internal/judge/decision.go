package judge

import (
	"cmp"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// newDecision returns a decision without verdict and numbers.
func (c *collector) newDecision(g plan.Gate, cmp plan.Comparison, id string) result.Decision {
	d := result.Decision{
		ID: g.ID(cmp.Head, id), Kind: result.KindMetric, Cell: cmp.Head, BaseCell: cmp.Base, Values: cmp.Values,
		Head: cmp.HeadValue, Base: cmp.BaseValue, Metric: id, Margin: g.Margin,
	}
	if m, ok := c.doc.Metric(id); ok {
		d.Label, d.Unit, d.Direction, d.Scale = m.Label, string(m.Unit), m.Direction, m.Scale
	}
	return d
}

// fill copies a decision of package gates into a decision of the document.
func fill(d *result.Decision, from gates.Decision, alpha float64, expect gates.Expectation) {
	d.Verdict, d.Reason, d.Refuted = result.Verdict(from.Verdict), from.Reason, from.Refuted
	d.Warnings = append(d.Warnings, from.Warnings...)
	d.N = from.N
	if sides := from.Difference; sides != nil {
		d.BaseValue, d.HeadValue, d.Change = &sides.Base, &sides.Head, &sides.Change
	}
	d.Infrastructure = from.Infrastructure
	if d.Kind == result.KindSuccess {
		d.Margin = 0
	}
	if look := from.Look; look != nil {
		d.Look, d.Later = look.Repeats, later(look.Later)
	}
	if d.Later != nil {
		markLater(d.Pairs, from.N)
	}
	if need := from.Need; need != nil && !need.Sessions {
		d.NeedPairs = need.N
	}
	if from.Outcome != nil {
		fillOutcome(d, from, alpha, expect)
	}
}

// fillOutcome copies the result of the test.
func fillOutcome(d *result.Decision, from gates.Decision, alpha float64, expect gates.Expectation) {
	found := from.Outcome
	if level := (1 - found.Confidence) / 2; math.Abs(level-alpha) > 1e-12 {
		d.Level, d.HolmLevel = level, from.Level
	}
	d.P, d.PHolm, d.Moderated = &found.P, &found.PHolm, found.Moderated != nil
	if k := found.Known; k != nil {
		d.Known = &result.KnownSpread{SD: k.SD, DF: k.DF, Weight: k.Weight(), Contradicted: found.Contradicted}
	}
	expects := d.Kind == result.KindMetric && expect == gates.ExpectImprovement && d.Verdict != result.Regression
	if d.PBetter = d.Verdict == result.Improvement; d.PBetter || expects {
		d.P, d.PHolm = &found.PBetter, &found.PBetterHolm
	}
	if in := found.Interval; in != nil {
		d.Lower, d.Upper = &in.Lower, &in.Upper
		d.Detectable = in.MDE
	}
}

// markLater marks the pairs after the first n.
func markLater(pairs []result.Pair, n int) {
	slices.SortStableFunc(pairs, func(a, b result.Pair) int { return cmp.Compare(a.Repeat, b.Repeat) })
	for i := n; i < len(pairs); i++ {
		pairs[i].Later = true
	}
}

func later(e *gates.Estimate) *result.Estimate {
	if e == nil {
		return nil
	}
	out := &result.Estimate{N: e.N, BaseValue: e.Base, HeadValue: e.Head, Change: e.Change}
	if e.Interval != nil {
		out.Lower, out.Upper = &e.Interval.Lower, &e.Interval.Upper
	}
	return out
}

// GeoMeans returns the geometric mean of each metric over the valid runs of a cell. A metric with a value that is not
// positive has no logarithm and gets the arithmetic mean. Times between tokens are omitted if any run got its tokens in
// one piece.
func GeoMeans(cell *result.Cell) map[string]float64 {
	values := map[string][]float64{}
	for r := range sound(cell) {
		for id, v := range r.Metrics {
			values[id] = append(values[id], v)
		}
	}
	out := make(map[string]float64, len(values))
	for id, vs := range values {
		if m, _ := metric.Lookup(id); untimed(m, &result.Cell{}, cell).reason == "" {
			out[id] = geoMean(vs)
		}
	}
	return out
}

func geoMean(values []float64) float64 {
	logs := make([]float64, len(values))
	for i, v := range values {
		if v <= 0 {
			return metric.Mean(values)
		}
		logs[i] = math.Log(v)
	}
	return math.Exp(metric.Mean(logs))
}
