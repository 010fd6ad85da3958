package gates

import "fmt"

// Judge decides on a family. The decisions are in the order of the family's comparisons and do not
// depend on the order of pairs or runs. It returns an error only if the family itself is wrong,
// never because of the data.
func Judge(f Family) (Judgement, error) {
	if err := f.check(); err != nil {
		return Judgement{}, fmt.Errorf("family cannot be judged: %w", err)
	}
	entries, groups := f.look(single, nil)
	decisions := make([]Decision, len(entries))
	for i, e := range entries {
		decisions[i] = e.decision()
	}
	j := assemble(f, decisions, groups)
	refuseFewRuns(j.Success)
	guard(f, &j)
	return j, nil
}

// look judges the family once, as one look of a stage. rejected holds the comparisons that an
// earlier look called regressions or improvements; they stay so.
func (f Family) look(l stage, rejected map[string]Verdict) ([]*entry, []Group) {
	set := Settings{Alpha: l.Level(f.passAlpha(), 1), Seed: f.Seed, overruled: f.overruled()}
	once := set // for tests that run once for all looks together
	once.Alpha = f.passAlpha()
	of := func(c Comparison) Settings {
		if c.test().Design == Sessions {
			return once
		}
		return set
	}
	entries := make([]*entry, 0, len(f.Comparisons)+len(f.Success))
	for _, c := range f.Comparisons {
		entries = append(entries, measure(c, of(c)))
	}
	for _, s := range f.Success {
		entries = append(entries, count(s, set.Alpha))
	}
	if f.Moderate {
		moderate(entries, set)
	}
	for i, c := range f.Comparisons {
		c.expectImprovement(entries[i], set)
	}
	for _, e := range entries {
		e.rejected = rejected[e.ID]
	}
	f.launches(entries)
	groups := f.correct(l, entries)
	for i, c := range f.Comparisons {
		if c.Expect == ExpectImprovement { // a further attempt has less of alpha, as for a pass
			entries[i].PBetterHolm = min(1, entries[i].PBetterHolm*f.Alpha/f.passAlpha())
		}
		c.decide(entries[i], of(c))
	}
	for i, s := range f.Success {
		s.decide(entries[len(f.Comparisons)+i])
	}
	return entries, groups
}

// assemble returns the judgement with all decisions, in the order of the family.
func assemble(f Family, decisions []Decision, groups []Group) Judgement {
	n := len(f.Comparisons)
	return Judgement{Comparisons: decisions[:n:n], Success: decisions[n:], Groups: groups}
}

// entry is a decision being made. Its p values are 1 until a test has set them, so that a
// comparison without data still counts in the family.
type entry struct {
	Decision
	// Difference and Outcome belong to the decision once described and tested are set.
	Difference
	Outcome
	described, tested bool
	// test of a comparison of values, nil for success rates.
	test *Test
	// share of alpha of the gate, 0 for the common group.
	share float64
	// inFamily is set if the p values are corrected over the group.
	inFamily bool
	// sample is the tested data, stat the result.
	sample Sample
	stat   Statistic
	// fisher is the p value of the head's failed requests alone, before the other conditions of a
	// success comparison.
	fisher float64
	// launched holds the launches behind a success comparison.
	launched *launched
	// step is the uncorrected level that this entry must reach next in Holm's procedure, given the
	// members of its group that are rejected already.
	step float64
	// first is the uncorrected level that suffices for this entry whatever the other members do.
	first float64
	// beyond is the required improvement on the scale of the test, if one is expected.
	// voidedMatters is set if void runs weaken it.
	beyond        float64
	voidedMatters bool
	// rejected is Regression or Improvement if an earlier look decided so.
	rejected Verdict
	// outlook fills in what more repeats would show. It is called once, for entries that become decisions:
	// most looks at a comparison are followed by others. undecided is set if data, not a rule, left it open.
	outlook   func()
	undecided bool
}

// untested returns the outcome of a comparison without a test. It counts in the family and rejects
// nothing.
func untested(alpha float64) Outcome {
	return Outcome{P: 1, PHolm: 1, PBetter: 1, PBetterHolm: 1, Confidence: 1 - 2*alpha}
}

// decision returns the decision with the parts that were computed.
func (e *entry) decision() Decision {
	e.foresee()
	d := e.Decision
	if e.described {
		difference := e.Difference
		d.Difference = &difference
	}
	if e.tested {
		outcome := e.Outcome
		d.Outcome = &outcome
	}
	return d
}

// foresee calls outlook once.
func (e *entry) foresee() {
	if e.outlook != nil {
		e.outlook()
		e.outlook = nil
	}
}

// ofSessions reports whether the entry is decided once, when the session ends.
func (e *entry) ofSessions() bool { return e.test != nil && e.test.Design == Sessions }

// settled reports whether the verdict is given without a test.
func (e *entry) settled() bool { return e.Verdict != "" }

// settle gives the verdict.
func (e *entry) settle(v Verdict, reason string) { e.Verdict, e.Reason = v, reason }

// significantlyWorse reports whether d ≤ 0 is rejected at the group's level.
func (e *entry) significantlyWorse() bool { return e.PHolm <= e.Level }

// significantlyBetter reports whether d ≥ 0 is rejected at the group's level.
func (e *entry) significantlyBetter() bool { return e.PBetterHolm <= e.Level }

// guard withdraws every pass and improvement of a cell whose head fails more often. The latencies
// lack the failed requests, which are often the slow ones.
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
			switch {
			case success.Verdict == Regression, success.Requests.HeadSuspect:
				d.Verdict, d.Need = Inconclusive, nil
				d.Reason = "the head fails where the base does not (see its success rate), and a failure never looks like a speed-up"
			case success.Verdict == Inconclusive, success.Verdict == Invalid:
				d.Warnings = append(d.Warnings, fmt.Sprintf("success rates are %s (%s): %s", success.Verdict, s.ID, success.Reason))
			}
		}
	}
}
