package plan

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// Continue makes a plan the continuation of the one with which a run began: the same, or the same with more
// repeats at most. Looks that were planned then keep their levels. Added looks are judged more strictly (see
// gates.Sequence.Before), so that a session that is extended until it passes still holds its error rate.
//
// It returns false, and does not change the plan, if anything else differs. It returns an error if only repeats
// differ but cannot be added.
func (p *Plan) Continue(before *Plan) (bool, error) {
	p.asBought(before)
	switch planned, now := len(before.Repeats), len(p.Repeats); {
	case p.Fingerprint == before.Fingerprint, planned == now && p.begins(before):
		p.Looks, p.Before = before.Looks, before.Before
	case now <= planned || !p.begins(before):
		return false, nil
	default:
		if err := gates.Looks(before.Looks).Extendable(); err != nil {
			return false, fmt.Errorf("%d repeats were planned and %d are now: %w", planned, now, err)
		}
		last := before.Looks[len(before.Looks)-1]
		added := slices.DeleteFunc(slices.Clone(p.Looks), func(n int) bool { return n <= last })
		p.Looks = slices.Concat(before.Looks, added)
		p.Before = append(slices.Clone(before.Before), before.Looks)
	}
	p.keepVariance(before)
	p.Again(before.Attempt, before.Red)
	p.Seal()
	return true, nil
}

// keepVariance keeps the spread with which the run began, or none if there was none. A spread that is chosen
// after data were seen holds no error rate.
func (p *Plan) keepVariance(before *Plan) {
	was, now := before.Variance, p.Variance
	p.Variance = was
	switch {
	case was == nil && now != nil:
		p.Notes = append(slices.Clone(p.Notes), fmt.Sprintf("the calibration %s has no part in the verdict: the run began without it",
			now.Calibration))
	case was != nil && (now == nil || now.Calibration != was.Calibration || now.Within != was.Within):
		p.Notes = append(slices.Clone(p.Notes),
			fmt.Sprintf("the spread stays that of the calibration %s, within %g times: the run began with it", was.Calibration, was.Within))
	}
}

// asBought restores the repeats with which a run began, if its budget would buy fewer now because more is known
// of their cost. The run then continues as far as the budget allows.
func (p *Plan) asBought(before *Plan) {
	if p.Budget == nil || len(p.Repeats) >= len(before.Repeats) || p.Budget.Repeats < len(before.Repeats) {
		return
	}
	again := *p
	again.Benchmarks = slices.Clone(p.Benchmarks)
	for i := range again.Benchmarks {
		bm := &again.Benchmarks[i]
		was := before.benchmark(bm.Addr)
		bm.RepeatMin, bm.RepeatMax = was.RepeatMin, was.RepeatMax
	}
	again.Repeats, again.Looks = schedule(&again), before.Looks
	again.Estimate = estimate(&again)
	if again.begins(before) {
		*p = again
	}
}

// begins reports whether a plan equals another one up to the other's repeats.
func (p *Plan) begins(before *Plan) bool {
	if len(p.Looks) == 0 || len(before.Looks) > 1 && p.Looks[0] != before.Looks[0] {
		return false
	}
	cut := *p
	cut.Repeats = p.Repeats[:len(before.Repeats)]
	cut.Looks = before.Looks
	return fingerprint(&cut) == fingerprint(before)
}

// SessionLooks returns the looks of the plan, and those planned before each extension.
func (p *Plan) SessionLooks() (looks gates.Looks, before []gates.Looks) {
	for _, b := range p.Before {
		before = append(before, b)
	}
	return p.Looks, before
}

// JudgedOnce reports whether a part of the verdict spends all of alpha whenever the session ends: in a plan
// without looks, or against sessions of the history. No repeats can be added after it.
func (p *Plan) JudgedOnce() bool {
	return len(p.Looks) < 2 || slices.ContainsFunc(p.Gates, func(g Gate) bool { return g.BaselineKind == result.BaselineStored })
}

// extension describes what was added to a session afterwards, "" for nothing.
func (p *Plan) extension() string {
	if len(p.Before) == 0 {
		return ""
	}
	first := p.Before[0]
	return fmt.Sprintf("extended from at most %s to %d after its data were seen: looks after more than %d repeats are judged at a part of "+
		"alpha, so that the error rate holds",
		humanize.Count(first[len(first)-1], "repeat"), len(p.Repeats), first[len(first)-1])
}

// Again makes the plan a further attempt at the same change. red lists the gates that an earlier attempt saw
// regress. If the plan lacks one of them, all of its gates count as red, because that gate may have another
// name now.
func (p *Plan) Again(attempt int, red []string) {
	p.Attempt, p.Red = attempt, red
	has := func(addr string) bool {
		return slices.ContainsFunc(p.Gates, func(g Gate) bool { return g.Addr == addr })
	}
	if slices.ContainsFunc(red, func(addr string) bool { return !has(addr) }) {
		p.Red = p.addresses()
	}
	p.Warnings = warnings(p)
}

// AgainUnknown makes the plan a further attempt if the outcome of the earlier ones is unknown: each gate may
// have been red.
func (p *Plan) AgainUnknown(attempt int) { p.Again(attempt, p.addresses()) }

// addresses returns the addresses of the gates.
func (p *Plan) addresses() []string {
	var out []string
	for _, g := range p.Gates {
		out = append(out, g.Addr)
	}
	return out
}

// OnInconclusive returns what a gate does if it cannot decide. After a regression it fails: a change that was
// found slower must not pass because another attempt saw too little.
func (p *Plan) OnInconclusive(g Gate) result.Action {
	if slices.Contains(p.Red, g.Addr) {
		return result.Fail
	}
	return g.OnInconclusive
}

// Essence returns the fingerprint of a plan without its largest number of repeats. Plans that can continue each
// other share it.
func (p *Plan) Essence() string {
	cut := *p
	if len(p.Looks) > 0 {
		cut.Looks = p.Looks[:1]
		cut.Repeats = p.Repeats[:min(p.Looks[0], len(p.Repeats))]
	}
	return fingerprint(&cut)
}
