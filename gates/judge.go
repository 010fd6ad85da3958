package gates

import "fmt"

// Judge decides on a family. The decisions are in the order of the family's
// comparisons and do not depend on the order of pairs or runs. An error means that the
// family itself is wrong (see Validate), never that the data are.
func Judge(f Family) (Judgement, error) {
	if err := f.check(); err != nil {
		return Judgement{}, fmt.Errorf("family cannot be judged: %w", err)
	}
	plan := newPlanner()
	entries := make([]*entry, 0, len(f.Comparisons)+len(f.Success))
	for _, c := range f.Comparisons {
		entries = append(entries, measure(c, f.passAlpha(), plan))
	}
	for _, s := range f.Success {
		entries = append(entries, count(s, f.passAlpha()))
	}

	groups := correct(f, entries)
	for i, c := range f.Comparisons {
		c.decide(entries[i], f.passAlpha(), plan)
	}
	for i, s := range f.Success {
		s.decide(entries[len(f.Comparisons)+i])
	}

	j := Judgement{Groups: groups}
	for i, e := range entries {
		if i < len(f.Comparisons) {
			j.Comparisons = append(j.Comparisons, e.Decision)
		} else {
			j.Success = append(j.Success, e.Decision)
		}
	}
	guard(f, &j)
	return j, nil
}

// entry is a decision in the making. Its p values are 1 until a test has set them, so
// that a comparison without data still takes its place in the family.
type entry struct {
	Decision
	// share of the gate, 0 for the common group.
	share float64
	// inFamily says that the p values are corrected over the group.
	inFamily bool
	// test is what Tested refers to, lower and upper are the bounds that decide; floor
	// is what counts as rounding. All are on the scale of the test, worse positive.
	test         TTest
	lower, upper float64
	floor        float64
	// fisher is the p value of the head's failed requests before anything that a
	// success comparison demands beside it.
	fisher float64
	// step is the uncorrected level that this entry would have to reach next in
	// Holm's procedure, given those of its group that are rejected already.
	step float64
}

// settled says that the verdict does not wait for a test.
func (e *entry) settled() bool { return e.Verdict != "" }

// settle gives the verdict.
func (e *entry) settle(v Verdict, reason string) { e.Verdict, e.Reason = v, reason }

// significantlyWorse says that d ≤ 0 is rejected at the group's level.
func (e *entry) significantlyWorse() bool { return e.PHolm <= e.Level }

// significantlyBetter says that d ≥ 0 is rejected at the group's level.
func (e *entry) significantlyBetter() bool { return e.PBetterHolm <= e.Level }

// correct forms the Holm groups and fills in the adjusted p values, both directions.
func correct(f Family, entries []*entry) []Group {
	var names []string // of groups, in order of appearance; "" is the common one
	members := map[string][]*entry{}
	for _, e := range entries {
		if !e.inFamily {
			e.alone(f.Alpha)
			continue
		}
		name := ""
		if e.share > 0 {
			name = e.Gate
		}
		if members[name] == nil && name != "" {
			names = append(names, name)
		}
		members[name] = append(members[name], e)
	}
	if members[""] != nil {
		names = append([]string{""}, names...)
	}

	groups := make([]Group, len(names))
	for i, name := range names {
		groups[i] = Group{Gate: name, Alpha: f.rest()}
		if name != "" {
			groups[i].Alpha = members[name][0].share
		}
		groups[i].IDs = adjust(members[name], groups[i].Alpha)
	}
	return groups
}

// alone gives an entry outside the family its own level, without correction.
func (e *entry) alone(alpha float64) {
	e.PHolm, e.PBetterHolm = e.P, e.PBetter
	e.Level, e.GroupSize = alpha, 1
	if e.share > 0 {
		e.Level = e.share
	}
	e.step = e.Level
}

// adjust applies Holm to one group and returns the members' IDs.
func adjust(members []*entry, alpha float64) []string {
	p, better := make([]float64, len(members)), make([]float64, len(members))
	for i, e := range members {
		p[i], better[i] = e.P, e.PBetter
	}
	p, better = Holm(p), Holm(better)

	ids := make([]string, len(members))
	open := 0
	for i, e := range members {
		ids[i] = e.ID
		e.PHolm, e.PBetterHolm, e.Level, e.GroupSize = p[i], better[i], alpha, len(members)
		if !e.significantlyWorse() {
			open++
		}
	}
	for _, e := range members {
		e.step = alpha / float64(max(open, 1))
	}
	return ids
}

// guard takes back every pass and improvement of a cell whose head fails more often: the
// requests that failed are missing from the latencies, often the slow ones.
func guard(f Family, j *Judgement) {
	byID := make(map[string]*Decision, len(j.Comparisons))
	for i := range j.Comparisons {
		byID[j.Comparisons[i].ID] = &j.Comparisons[i]
	}
	for i, s := range f.Success {
		success := j.Success[i]
		for _, id := range s.Metrics {
			d := byID[id]
			if d.Verdict != Pass && d.Verdict != Improvement {
				continue
			}
			switch success.Verdict {
			case Regression:
				d.Verdict, d.NeedPairs = Inconclusive, 0
				d.Reason = fmt.Sprintf("the head fails where the base does not (%s), and a failure never looks like a speed-up", s.ID)
			case Inconclusive, Invalid:
				d.Warnings = append(d.Warnings, fmt.Sprintf("success rates are %s (%s): %s", success.Verdict, s.ID, success.Reason))
			}
		}
	}
}
