package gates

import "slices"

// Expectation is the claim that the head of a gate must prove.
type Expectation string

// NoRegression requires that the head is not worse by the margin.
const NoRegression Expectation = ""

// ExpectImprovement requires that the head is better by more than the margin, which may be 0. The
// null hypothesis is then an improvement of at most the margin.
const ExpectImprovement Expectation = "improvement"

// beyondMargin returns the sample with the head made worse by the margin. A test against "not
// better" of it is a test against "not better by more than the margin".
func (x Sample) beyondMargin(m float64) Sample {
	x.Differences, x.Head = slices.Clone(x.Differences), slices.Clone(x.Head)
	for i := range x.Differences {
		x.Differences[i] += m
	}
	for i := range x.Head {
		x.Head[i] += m
	}
	return x
}

// expectImprovement replaces the p value against "not better" by the one against an improvement of
// at most the margin. If runs of the head were voided more often than the base's, it takes the
// larger of the p values with the first and with the repeated measurements.
func (c Comparison) expectImprovement(e *entry, set Settings) {
	if c.Expect != ExpectImprovement || !e.tested {
		return
	}
	e.beyond = c.Margin.On(c.Metric.Scale)
	e.PBetter = c.notBeyond(e.sample, e.beyond, set)
	if len(c.Voided) > 0 {
		p := 1.0
		if x, _, _, err := c.with(c.Voided).sample(); err == nil {
			p = c.notBeyond(x, e.beyond, set)
		}
		e.voidedMatters = p > e.PBetter
		e.PBetter = max(e.PBetter, p)
	}
}

// notBeyond returns the p value against an improvement of at most m.
func (c Comparison) notBeyond(x Sample, m float64, set Settings) float64 {
	s, err := c.test().Run(x.beyondMargin(m), set)
	if err != nil {
		return 1
	}
	return s.Less
}

// decideExpected gives the verdict on a comparison that must show an improvement.
func (c Comparison) decideExpected(e *entry) {
	m, floor := c.Margin.On(c.Metric.Scale), e.sample.Floor
	switch {
	case e.significantlyWorse():
		e.settle(Regression, "significantly worse after Holm, and an improvement is expected")
	case e.significantlyBetter():
		e.settle(Improvement, "better by more than the margin, significantly after Holm")
	case e.stat.Lower > floor-m:
		e.settle(Inconclusive, "the interval excludes the improvement that is expected")
		e.Refuted = true
	default:
		e.settle(Inconclusive, c.unshown(e, m))
		e.undecided = true
	}
}

// unshown returns the reason why an expected improvement was not shown.
func (c Comparison) unshown(e *entry, m float64) string {
	switch {
	case e.D < -m-e.sample.Floor && e.voidedMatters:
		return "runs of the head were void and measured again, more often than the base's; with what was measured at first the improvement is " +
			"not significant"
	case e.D < -m-e.sample.Floor:
		return "the estimate is better by more than the margin, but not significantly"
	}
	return "the estimate is not better by more than the margin, and the interval does not exclude that it is"
}
