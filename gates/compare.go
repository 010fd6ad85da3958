package gates

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
)

// measure turns a comparison's pairs into estimates and uncorrected p values. It settles
// the verdicts that need no test.
func measure(c Comparison, alpha float64, plan planner) *entry {
	e := &entry{
		Decision: Decision{
			ID: c.ID, Gate: c.Gate, Metric: c.Metric, Margin: c.Margin,
			N: len(c.Pairs), Confidence: 1 - 2*alpha,
			P: 1, PHolm: 1, PBetter: 1, PBetterHolm: 1,
		},
		share:    c.Alpha,
		inFamily: c.CanFail && c.Descriptive == "",
	}
	pairs := slices.SortedFunc(slices.Values(c.Pairs), func(a, b Pair) int { return cmp.Compare(a.Repeat, b.Repeat) })
	d, floor, err := differences(c.Metric, pairs)
	switch {
	case c.Invalid != "":
		e.settle(Invalid, c.Invalid)
	case err != nil:
		e.settle(Invalid, err.Error())
	case c.Missing != "":
		e.settle(Missing, c.Missing)
	case len(pairs) == 0:
		e.settle(Missing, "no pair was measured")
	case c.Descriptive != "":
		e.settle(Inconclusive, c.Descriptive)
	case len(pairs) == 1:
		e.settle(Inconclusive, "no test is possible with 1 repeat")
	}
	if err != nil || len(pairs) == 0 {
		return e
	}
	e.describe(pairs, d)
	if e.Verdict != Invalid && e.Verdict != Missing {
		e.estimate(d, floor, alpha, plan)
		e.warn(c, pairs, d)
	}
	return e
}

// describe fills in what needs one pair only.
func (e *entry) describe(pairs []Pair, d []float64) {
	e.Base, e.Head = means(e.Metric.Scale, pairs)
	for _, v := range d {
		e.D += v
	}
	e.D /= float64(len(d))
	e.Change = fromScale(e.Metric.Scale, worse(e.Metric)*e.D)
	e.Worse = e.D > 0
}

// estimate fills in the test. One difference leaves the decision untested.
func (e *entry) estimate(d []float64, floor, alpha float64, plan planner) {
	if len(d) < 2 {
		return
	}
	test, err := pairedT(d, floor)
	if err != nil {
		e.settle(Invalid, err.Error())
		return
	}
	e.Tested, e.test, e.floor = true, test, floor
	e.D, e.SE, e.DF, e.T, e.Exact = test.Mean, test.SE, test.DF, test.T, test.Exact
	e.P, e.PBetter = test.Greater, test.Less
	e.lower, e.upper = test.bounds(plan.critical(test.N, alpha))
	lower, upper := e.lower, e.upper
	if e.Metric.Direction == metric.HigherIsBetter {
		lower, upper = -upper, -lower
	}
	e.Lower, e.Upper = fromScale(e.Metric.Scale, lower), fromScale(e.Metric.Scale, upper)
}

// decide gives the verdict on a comparison whose p values are corrected.
func (c Comparison) decide(e *entry, alpha float64, plan planner) {
	if e.Tested {
		found := plan.detectable(e.N, e.test.SD, e.Level/float64(e.GroupSize), Power)
		e.MDE = fromScale(e.Metric.Scale, found)
	}
	if e.settled() {
		return
	}
	m := toScale(c.Metric.Scale, c.Margin)
	beyond := func(x float64) bool { return x > m+e.floor }
	within := e.upper < m-e.floor
	switch {
	case e.significantlyWorse() && e.D >= m-e.floor && (!c.Strict || beyond(e.lower)):
		e.settle(Regression, "significantly worse after Holm, and the estimate is at or beyond the margin")
		if c.Strict {
			e.Reason = "significantly worse after Holm, and the lower bound is beyond the margin"
		}
	case e.significantlyBetter() && e.D <= e.floor-m && (!c.Strict || beyond(-e.upper)) && within:
		e.settle(Improvement, "significantly better after Holm, and the estimate is at or beyond the margin")
	case within:
		e.settle(Pass, "the interval excludes a change for the worse of the margin")
	default:
		e.settle(Inconclusive, c.undecided(e, m))
		e.NeedPairs = c.needPairs(e, m, alpha, plan)
		if e.NeedPairs > 0 {
			e.Reason += fmt.Sprintf("; about %s would decide", repeats(e.NeedPairs))
		}
	}
}

// undecided says what kept a tested comparison from a decision.
func (c Comparison) undecided(e *entry, m float64) string {
	switch beyond := e.D >= m-e.floor; {
	case beyond && e.significantlyWorse():
		return "significantly worse, but the lower bound is not beyond the margin as strict demands"
	case beyond && e.GroupSize > 1:
		return fmt.Sprintf("the estimate is beyond the margin, but not significant after Holm over %d comparisons", e.GroupSize)
	case beyond:
		return "the estimate is beyond the margin, but not significant"
	case e.significantlyWorse():
		return "significantly worse by less than the margin, and the interval does not exclude the margin"
	}
	return "too noisy: the interval does not exclude the margin"
}

// needPairs is Decision.NeedPairs: for a regression if the estimate is beyond the
// margin, for a pass otherwise.
func (c Comparison) needPairs(e *entry, m, alpha float64, plan planner) int {
	n, ok := 0, false
	switch {
	case e.D < m-e.floor:
		n, ok = plan.need(m-e.D, e.test.SD, alpha, Power)
	case !c.Strict:
		n, ok = plan.need(e.D, e.test.SD, e.step, Power)
	case e.D > m+e.floor:
		var worse, beyond int
		var ok1, ok2 bool
		worse, ok1 = plan.need(e.D, e.test.SD, e.step, Power)
		beyond, ok2 = plan.need(e.D-m, e.test.SD, alpha, Power)
		n, ok = max(worse, beyond), ok1 && ok2
	}
	if !ok {
		return 0
	}
	return max(n, e.N+1)
}

// warn adds what a reader should know beside the verdict.
func (e *entry) warn(c Comparison, pairs []Pair, d []float64) {
	if e.N < c.Planned {
		e.Warnings = append(e.Warnings, fmt.Sprintf("%d of %s planned", e.N, repeats(c.Planned)))
	}
	if e.Exact {
		e.Warnings = append(e.Warnings, fmt.Sprintf("all %d repeats differ by the same amount: without spread there is no test, and the difference is taken as exact", e.N))
	}
	for _, i := range outliers(d) {
		e.Warnings = append(e.Warnings, fmt.Sprintf("repeat %d is far from the others; it is kept", pairs[i].Repeat))
	}
}

// outliers are the indices of values more than 3.5 robust standard deviations (1.4826
// times the median absolute deviation) from the median, of at least 5 values (B.
// Iglewicz and D. Hoaglin, How to Detect and Handle Outliers, 1993). They are reported,
// never removed.
func outliers(d []float64) []int {
	if len(d) < 5 {
		return nil
	}
	median := Quantile(slices.Sorted(slices.Values(d)), 0.5)
	deviations := make([]float64, len(d))
	for i, v := range d {
		deviations[i] = math.Abs(v - median)
	}
	limit := 3.5 * 1.4826 * Quantile(slices.Sorted(slices.Values(deviations)), 0.5)
	var far []int
	for i, v := range deviations {
		if limit > 0 && v > limit {
			far = append(far, i)
		}
	}
	return far
}
