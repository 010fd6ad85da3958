package gates

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// test returns the comparison's test, by default the one of its rule.
func (c Comparison) test() *Test {
	if c.Test != nil {
		return c.Test
	}
	return Tests(nil).Named(c.TestName)
}

// check returns errors that make a family impossible to judge, whatever the data.
func (f Family) check() error {
	var problems []error
	if !(f.Alpha > 0 && f.Alpha < 0.5) {
		problems = append(problems, fmt.Errorf("alpha is %g; it must be above 0 and below 0.5, for example 0.05", f.Alpha))
	}
	if !(f.PassAlpha >= 0 && f.PassAlpha < 0.5) {
		problems = append(problems, fmt.Errorf("pass alpha is %g; it must be below 0.5, or 0 for alpha itself", f.PassAlpha))
	}
	ids := map[string]bool{}
	for _, c := range f.Comparisons {
		problems = append(problems, unique(ids, c.ID), c.check())
	}
	for _, s := range f.Success {
		for _, id := range s.Metrics {
			if !ids[id] {
				problems = append(problems, fmt.Errorf("%s guards %q, which the family does not contain", s.ID, id))
			}
		}
	}
	for _, s := range f.Success {
		problems = append(problems, unique(ids, s.ID), s.check())
	}
	problems = append(problems, f.checkShares())
	return errors.Join(problems...)
}

// unique records an ID and returns an error if it was recorded before.
func unique(ids map[string]bool, id string) error {
	if ids[id] {
		return fmt.Errorf("the family contains %s twice; give every comparison its own ID", id)
	}
	ids[id] = true
	return nil
}

// check returns the errors of a single comparison.
func (c Comparison) check() error {
	var problems []error
	refuse := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: "+format, append([]any{c.ID}, args...)...))
	}
	switch t := c.test(); {
	case t.Run == nil:
		refuse("unknown test %q; use %q", t, PairedTTest)
	case t.Design == Paired && c.Unpaired != nil:
		unpaired := StandardTests().where(func(t *Test) bool { return t.Design == Unpaired })
		refuse("%s needs pairs; use one of %s for values without partners", t, strings.Join(unpaired.Names(), ", "))
	case t.Design == Unpaired && c.Unpaired != nil && len(c.Pairs) > 0:
		refuse("has pairs and unpaired values; give one of them")
	case t.Design == Sessions && len(c.Pairs) > 0:
		refuse("%s sets sessions against sessions; give their values unpaired", t)
	}
	if t := c.test(); c.Metric.Quality && t != PairedTTest {
		refuse("%s cannot judge what is answered; use %q", t, PairedTTest)
	}
	if c.Known != nil {
		if c.test() != PairedTTest || c.Metric.Quality {
			refuse("%s of %s has no use for a known spread", c.test(), c.Metric.ID)
		}
		if err := c.Known.check(); err != nil {
			refuse("%w", err)
		}
	}
	expects := c.Expect == ExpectImprovement
	if expects && (c.test().Design == Sessions || c.Metric.Mutual) {
		refuse("%s of %s cannot show an improvement that is expected", c.test(), c.Metric.ID)
	}
	if !(c.Margin > 0 || expects && c.Margin == 0) || math.IsInf(float64(c.Margin), 0) {
		refuse("margin is %g; it must be above 0, for example 0.05 for 5 %%", c.Margin)
	}
	if c.Metric.ID == "" {
		refuse("has no metric")
	}
	if c.Metric.Informational {
		refuse("%s is shown for information and cannot be gated", c.Metric.ID)
	}
	seen := map[int]bool{}
	for _, p := range c.Pairs {
		if seen[p.Repeat] {
			refuse("repeat %d has more than one pair", p.Repeat)
		}
		seen[p.Repeat] = true
	}
	return errors.Join(problems...)
}

// check returns the errors in the runs of a success comparison.
func (s Success) check() error {
	var problems []error
	for _, side := range []struct {
		name string
		runs []Run
	}{{"base", s.Base}, {"head", s.Head}} {
		seen := map[int]bool{}
		for _, r := range side.runs {
			if seen[r.Repeat] && !r.ServerFailed {
				problems = append(problems, fmt.Errorf("%s: repeat %d has more than one run of the %s", s.ID, r.Repeat, side.name))
			}
			seen[r.Repeat] = seen[r.Repeat] || !r.ServerFailed
			if r.Failed < 0 || r.Failed > r.Sent {
				problems = append(problems, fmt.Errorf("%s: repeat %d of the %s has %d failures of %d requests", s.ID, r.Repeat,
					side.name, r.Failed, r.Sent))
			}
		}
	}
	return errors.Join(problems...)
}
