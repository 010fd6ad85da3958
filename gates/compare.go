package gates

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
)

// measure turns a comparison's data into estimates and uncorrected p values. It also gives the
// verdicts that need no test.
func measure(c Comparison, set Settings) *entry {
	e := &entry{
		Decision: Decision{
			ID: c.ID, Gate: c.Gate, Metric: c.Metric,
		},
		Outcome:  untested(set.Alpha),
		test:     c.test(),
		share:    c.Alpha,
		inFamily: c.inFamily(),
	}
	x, base, head, err := c.sample()
	e.N, e.sample = x.size(), x
	if c.Unpaired != nil {
		e.N = min(len(base), len(head))
	}
	switch {
	case c.Invalid != "":
		e.settle(Invalid, c.Invalid)
	case err != nil:
		e.settle(Invalid, err.Error())
	case c.Missing != "":
		e.settle(Missing, c.Missing)
	case e.N == 0:
		e.settle(Missing, c.nothing(len(base), len(head)))
	case c.Descriptive != "":
		e.settle(Inconclusive, c.Descriptive)
	default:
		e.tooFew(len(base))
	}
	if err != nil || e.N == 0 {
		return e
	}
	e.describe(x, base, head)
	if !e.settled() && c.nothingToLose(e.Base) {
		e.settle(Invalid,
			fmt.Sprintf(
				"launches of the base agree with each other in no more than the margin (%s of %.4g, margin %.4g), so that no loss of it can show: "+
					"use another metric of answers", c.Metric.Label, e.Base, float64(c.Margin)))
	}
	if e.Verdict != Invalid && e.Verdict != Missing {
		e.estimate(set)
		e.warn(c)
	}
	return e
}

// nothingToLose reports whether the base's launches agree with each other so little that a head
// that never agrees would still be within the margin.
func (c Comparison) nothingToLose(base float64) bool {
	return c.Metric.Mutual && c.Metric.Direction == metric.HigherIsBetter && base <= float64(c.Margin)
}

// inFamily reports whether the comparison shares the family's error rate. It depends on the plan,
// never on the values.
func (c Comparison) inFamily() bool {
	return c.CanFail && c.Descriptive == "" && !c.shortHistory()
}

// nothing explains why a comparison has neither pairs nor samples.
func (c Comparison) nothing(base, head int) string {
	switch {
	case c.test().Design == Paired:
		return "no pair was measured"
	case base == 0:
		return "the base has no value"
	case head == 0:
		return "the head has no value"
	}
	return "no value was measured"
}

// tooFew settles a comparison that has too few values for a verdict.
func (e *entry) tooFew(base int) {
	switch {
	case e.test.Design == Sessions && base < MinSessions:
		e.settle(Inconclusive, fmt.Sprintf("the history has %d of the %d sessions that a prediction interval needs", base, MinSessions))
	case e.test.Design != Sessions && e.N == 1:
		e.settle(Inconclusive, "no test is possible with 1 repeat")
	}
}

// describe fills in what one pair is enough for.
func (e *entry) describe(x Sample, base, head []float64) {
	e.described = true
	e.Base, e.Head = e.Metric.Mean(base), e.Metric.Mean(head)
	e.D = x.shift()
	e.Change = e.Metric.Scale.Change(worse(e.Metric) * e.D)
	e.Worse = e.D > e.sample.Floor
}

// estimate runs the test. With too few values the decision stays untested.
func (e *entry) estimate(set Settings) {
	s, err := e.test.Run(e.sample, set)
	switch {
	case errors.Is(err, ErrTooFew):
	case err != nil:
		e.settle(Invalid, err.Error())
	default:
		e.apply(s)
		if s.Restless && !e.settled() {
			e.settle(Inconclusive, "the launches of this session spread more than its history allows: the machine is noisier than it was, so "+
				"that the history cannot judge it")
		}
	}
}

// decide gives the verdict on a comparison whose p values are corrected.
func (c Comparison) decide(e *entry, set Settings) {
	e.outlook = func() { c.foresee(e, set) }
	if e.settled() {
		return
	}
	if c.Expect == ExpectImprovement {
		c.decideExpected(e)
		return
	}
	m, floor := c.Margin.On(c.Metric.Scale), e.sample.Floor
	beyond := func(x float64) bool { return x > m+floor }
	within := e.stat.Upper < m-floor
	voided := within && c.voidedMatter(m, set)
	switch {
	case voided:
		e.settle(Inconclusive, fmt.Sprintf("runs of the head were void in %s and measured again, more often than the base's; with what was "+
			"measured at first the interval does not exclude the margin", repeats(len(c.Voided))))
	case e.significantlyWorse() && e.D >= m-floor && (!c.Strict || beyond(e.stat.Lower)) && c.voidedRefute(e, m, set):
		e.settle(Inconclusive, fmt.Sprintf("runs of the base were void in %s and measured again, more often than the head's; with what was "+
			"measured at first it is not significantly worse by the margin", repeats(len(c.VoidedBase))))
	case e.significantlyWorse() && e.D >= m-floor && (!c.Strict || beyond(e.stat.Lower)):
		e.settle(Regression, "significantly worse after Holm, and the estimate is at or beyond the margin")
		if c.Strict {
			e.Reason = "significantly worse after Holm, and the lower bound is beyond the margin"
		}
	case e.significantlyBetter() && e.D <= floor-m && (!c.Strict || beyond(-e.stat.Upper)) && within:
		e.settle(Improvement, "significantly better after Holm, and the estimate is at or beyond the margin")
	case within:
		e.settle(Pass, "the interval excludes a change for the worse of the margin")
	default:
		e.settle(Inconclusive, c.undecided(e, m))
		e.undecided = true
	}
}

// voidedMatter reports whether the upper bound reaches the margin once the voided runs are put back
// in place of those that replaced them.
func (c Comparison) voidedMatter(m float64, set Settings) bool {
	if len(c.Voided) == 0 {
		return false
	}
	x, _, _, err := c.with(c.Voided).sample()
	if err != nil {
		return true
	}
	s, err := c.test().Run(x, set)
	return err != nil || s.Upper >= m-x.Floor
}

// voidedRefute reports whether a regression does not hold once the voided runs of the base are put back. The p value
// gets the factor that Holm's procedure gave to that of the comparison.
func (c Comparison) voidedRefute(e *entry, m float64, set Settings) bool {
	if len(c.VoidedBase) == 0 {
		return false
	}
	x, _, _, err := c.with(c.VoidedBase).sample()
	if err != nil {
		return true
	}
	s, err := c.test().Run(x, set)
	return err != nil || s.Shift < m-x.Floor || s.Greater*max(1, e.PHolm/max(e.P, math.SmallestNonzeroFloat64)) > e.Level
}

// with returns the comparison with other measurements of some repeats.
func (c Comparison) with(instead []Pair) Comparison {
	first := map[int]Pair{}
	for _, p := range instead {
		first[p.Repeat] = p
	}
	c.Pairs = slices.Clone(c.Pairs)
	for i, p := range c.Pairs {
		if v, ok := first[p.Repeat]; ok {
			c.Pairs[i] = v
		}
	}
	return c
}

// undecided returns the reason why a tested comparison is inconclusive.
func (c Comparison) undecided(e *entry, m float64) string {
	switch beyond := e.D >= m-e.sample.Floor; {
	case beyond && e.significantlyWorse():
		return "significantly worse, but the lower bound is not beyond the margin as strict demands"
	case beyond && e.GroupSize > 1:
		return fmt.Sprintf("the estimate is beyond the margin, but not significant after Holm over %d comparisons", e.GroupSize)
	case beyond:
		return "the estimate is beyond the margin, but not significant"
	case e.Interval != nil && e.Interval.Unbounded:
		return fmt.Sprintf("%s are too few for an interval by %s at this level", repeats(e.N), e.test)
	case e.significantlyWorse():
		return "significantly worse by less than the margin, and the interval does not exclude the margin"
	}
	return "too noisy: the interval does not exclude the margin"
}

// foresee fills in the change that as many repeats detect, and how many would decide an undecided comparison.
func (c Comparison) foresee(e *entry, set Settings) {
	if e.tested {
		found := e.beyond + e.stat.Noise.reach(e.N, e.first, Power)
		e.Interval.MDE = finite(e.Metric.Scale, found)
	}
	if e.undecided {
		c.need(e, c.Margin.On(c.Metric.Scale), set)
	}
}

// need fills in how many more repeats, sessions or questions would decide.
func (c Comparison) need(e *entry, m float64, set Settings) {
	if e.stat.Rounded {
		e.Reason += "; values with more digits would decide it"
		return
	}
	if e.test.Design == Sessions {
		if n := c.needSessions(e, m, set); n > 0 {
			e.Need = &Need{N: max(n, len(e.sample.Head)+1), Sessions: true}
			e.Reason += fmt.Sprintf("; about %d sessions of the head would decide", e.Need.N)
		}
		return
	}
	if c.Between > 0 {
		if c.needsBlocks(e, m, set) {
			e.Reason += "; more machines would decide it, more repeats on these hardly"
		} else {
			e.Reason += "; more repeats would decide it"
		}
		return
	}
	if c.Clusters.Drawn {
		e.Reason += "; more questions would decide it, more repeats hardly"
		return
	}
	n := least(e.N+1, func(n int) bool { return c.decides(e, n, m, set) >= Power })
	if level := e.step; e.Exact { // only the chance of a tie leaves it open
		if c.Expect == ExpectImprovement {
			level = e.first
		}
		n = max(e.N+1, FailingRuns(level))
	}
	if n == 0 {
		return
	}
	e.Need = &Need{N: max(n, leastRepeats(e.test, e.step))}
	e.Reason += fmt.Sprintf("; about %d repeats would decide", e.Need.N)
}

// decides returns the probability that n repeats in total decide, given the present ones. The mean
// of all n is the present mean plus an unknown part, of the truth and of the repeats to come. That
// part follows Student's t with the variance s²·(1/N − 1/n).
func (c Comparison) decides(e *entry, n int, m float64, set Settings) float64 {
	v := e.stat.Noise
	spread := v.SD * math.Sqrt(1/float64(e.N)-1/float64(n))
	bound := v.later(e.N, n, set.Alpha)
	d, worse := e.D, max(m, v.later(e.N, n, e.step))
	switch {
	case c.Expect == ExpectImprovement:
		d, worse = -e.D, m+v.later(e.N, n, e.first)
	case c.Strict:
		worse = max(worse, m+bound)
	}
	above := func(x float64) float64 { return tSurvival((x-d)/spread, v.df(e.N)) }
	return 1 - above(m-bound) + above(worse)
}

// needsBlocks reports whether more repeats on the same blocks could not decide a comparison about
// all blocks, because the error between blocks alone leaves it open.
func (c Comparison) needsBlocks(e *entry, m float64, set Settings) bool {
	width := func(alpha float64) float64 {
		return critical(e.sample.Clusters.DF, alpha) * e.sample.Clusters.SE
	}
	d, worse := e.D, max(m, width(e.step))
	switch {
	case c.Expect == ExpectImprovement:
		d, worse = -e.D, m+width(e.first)
	case c.Strict:
		worse = max(worse, m+width(set.Alpha))
	}
	return d+width(set.Alpha) >= m && d <= worse
}

// needSessions returns the number of sessions of the head that decides with Power if the estimate
// is true: for a regression if it is beyond the margin, for a pass otherwise. It returns 0 if no
// number does.
func (c Comparison) needSessions(e *entry, m float64, set Settings) int {
	h := len(e.sample.Base)
	need := func(effect, alpha float64) (int, bool) {
		return needSessions(effect, e.stat.Noise.SD, h, alpha)
	}
	n, ok := 0, false
	switch floor := e.sample.Floor; {
	case e.D < m-floor:
		n, ok = need(m-e.D, set.Alpha)
	case !c.Strict:
		n, ok = need(e.D, e.step)
	case e.D > m+floor:
		worse, ok1 := need(e.D, e.step)
		beyond, ok2 := need(e.D-m, set.Alpha)
		n, ok = max(worse, beyond), ok1 && ok2
	}
	if !ok {
		return 0
	}
	return n
}

// least returns the smallest number from first to MaxPairs for which enough is true, 0 if there is
// none. Once true, enough must stay true.
func least(first int, enough func(n int) bool) int {
	low, high := first, first
	for !enough(high) {
		if high >= MaxPairs {
			return 0
		}
		low, high = high+1, min(2*high, MaxPairs)
	}
	for low < high {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return high
}

// warn adds warnings that a reader needs beside the verdict.
func (e *entry) warn(c Comparison) {
	if e.N < c.Planned {
		e.Warnings = append(e.Warnings, fmt.Sprintf("%d of %s planned", e.N, repeats(c.Planned)))
	}
	if e.Exact {
		e.Warnings = append(e.Warnings, fmt.Sprintf("all %d repeats differ by the same amount: without spread no t-test applies, %s",
			e.N, e.taken()))
	}
	if e.stat.Rounded {
		text := "the values spread by less than their printed digits leave unknown"
		if e.sample.Rounding.Bias >= c.Margin.On(c.Metric.Scale)/100 { // less of the margin decides nothing
			text += fmt.Sprintf(": the change can be off by %s, which the interval allows for",
				strings.TrimPrefix(c.changeText(worse(c.Metric)*e.sample.Rounding.Bias), "+"))
		}
		e.Warnings = append(e.Warnings, text)
	}
	if e.stat.Correlation >= tellCorrelation {
		e.Warnings = append(e.Warnings, fmt.Sprintf("consecutive sessions of the history are correlated (about %.1f), which widens the interval",
			e.stat.Correlation))
	}
	if differs := c.between(); differs != "" {
		e.Warnings = append(e.Warnings, differs)
	}
	for _, i := range outliers(e.sample.Differences) {
		others := slices.Delete(slices.Clone(e.sample.Differences), i, i+1)
		e.Warnings = append(e.Warnings,
			fmt.Sprintf("repeat %d is far from the others, by its %s; it is kept, and widens the interval: the others show %s",
				e.sample.repeats[i], c.farther(e.sample.repeats[i]), c.changeText(metric.Mean(others))))
	}
}

// taken describes how a difference without a spread is tested.
func (e *entry) taken() string {
	if least := min(e.stat.Greater, e.stat.Less); 0 < least && least < 1 {
		return "and p is the largest chance that equal sides do so"
	}
	return "and the difference is taken as exact"
}

// farther returns the side whose value in a repeat is farther from the median of that side.
func (c Comparison) farther(repeat int) string {
	distance := func(value func(Pair) float64) float64 {
		var all []float64
		at := 0.0
		for _, p := range c.Pairs {
			all = append(all, value(p))
			if p.Repeat == repeat {
				at = value(p)
			}
		}
		middle := median(all)
		if c.Metric.Scale == metric.Log {
			return math.Abs(math.Log(at / middle))
		}
		return math.Abs(at - middle)
	}
	if distance(func(p Pair) float64 { return p.Base }) > distance(func(p Pair) float64 { return p.Head }) {
		return "base"
	}
	return "head"
}

// outliers returns the indices of values that are more than 3.5 robust standard deviations from the
// median (1.4826 times the median absolute deviation), if there are at least 5 (B. Iglewicz and D.
// Hoaglin, How to Detect and Handle Outliers, 1993). Outliers are reported, never removed.
func outliers(d []float64) []int {
	if len(d) < 5 {
		return nil
	}
	middle := median(d)
	deviations := make([]float64, len(d))
	for i, v := range d {
		deviations[i] = math.Abs(v - middle)
	}
	limit := 3.5 * 1.4826 * median(deviations)
	var far []int
	for i, v := range deviations {
		if limit > 0 && v > limit {
			far = append(far, i)
		}
	}
	return far
}
