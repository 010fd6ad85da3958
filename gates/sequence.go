package gates

import (
	"errors"
	"fmt"
	"slices"
)

// Sequence is a family that is judged several times while its repeats arrive. Alpha and PassAlpha
// are those of the whole sequence; each look is judged at its [Looks.Level] of them.
//
// The family keeps every member at every look. A comparison is decided by the first look at which
// it is pass, improvement, regression or refuted. Later data are shown but not judged. The sequence
// stops when nothing waits for more repeats.
type Sequence struct {
	// Family with everything measured so far.
	Family Family
	// Looks that are planned.
	Looks Looks
	// Before holds the planned looks before each extension of the sequence. A look keeps the level
	// it was planned with. The looks of the k-th extension have the level that all of them would
	// have for Alpha·4⁻ᵏ. This is the price of more repeats for an undecided sequence: see
	// [Looks.Extendable].
	Before []Looks
	// Taken are the looks that were taken; nil means all planned looks that the measured repeats
	// allow.
	Taken []int
	// Ended is set if no more repeats will come. Repeats since the last look are then judged too,
	// in place of the next look.
	Ended bool
	// Resumable is set with Ended if repeats may still come: the session was interrupted, or its
	// budget is spent. Only planned looks are judged then, because each stop would otherwise be a
	// look without a reserved level.
	Resumable bool
}

// Progress is the state of a sequence.
type Progress struct {
	// Judgement holds the final decisions and, for the rest, those of the last look. It is empty
	// before the first look.
	Judgement Judgement
	// Taken are the numbers of repeats at the looks that were taken.
	Taken []int
	// Stop is set if further repeats would not be judged. Otherwise Next is the number of repeats
	// at the next look, and Open holds the IDs of comparisons that wait for it.
	Stop bool
	Next int
	Open []string
}

// Judge takes the looks in order and returns whether to continue. Looks count repeats with distinct
// numbers, in ascending order, and unpaired values in their order. The result depends on the
// sequence only, so judging stored data again gives the same decisions.
func (s Sequence) Judge() (Progress, error) {
	if err := errors.Join(s.Looks.check(), s.checkBefore(), s.checkTaken(), s.Family.check()); err != nil {
		return Progress{}, fmt.Errorf("sequence cannot be judged: %w", err)
	}
	c := &course{Sequence: s, repeats: s.Family.repeats(), final: map[string]Decision{}}
	p := Progress{}
	for _, n := range c.due() {
		c.look(len(p.Taken), n, false)
		p.Taken = append(p.Taken, n)
		if len(c.open) == 0 {
			break
		}
	}
	last := s.Looks[len(s.Looks)-1]
	taken := len(p.Taken) > 0
	p.Stop = s.Ended || taken && (len(c.open) == 0 || p.Taken[len(p.Taken)-1] >= last)
	switch {
	case taken && p.Stop:
		c.look(len(p.Taken)-1, p.Taken[len(p.Taken)-1], true)
	case p.Stop && s.Resumable:
		c.describe()
	case p.Stop:
		c.look(0, 0, true) // nothing was measured
	}
	if taken || p.Stop {
		p.Judgement = c.judgement(p.Stop)
	}
	if !p.Stop {
		p.Next, p.Open = c.next(p.Taken), c.open
	}
	return p, nil
}

// checkTaken returns an error for looks that the levels do not cover.
func (s Sequence) checkTaken() error {
	if s.Taken == nil {
		return nil
	}
	if len(s.Taken) > len(s.Looks) {
		return fmt.Errorf("%d looks were taken and %d are planned; plan them all before the first", len(s.Taken), len(s.Looks))
	}
	if len(s.Taken) == 0 {
		return nil
	}
	return Looks(s.Taken).check()
}

// course is the state of judging a sequence.
type course struct {
	Sequence
	repeats []int
	// final decisions, by ID.
	final map[string]Decision
	// State of the last look: what earlier looks rejected, its entries and groups, and the IDs that
	// wait for more.
	rejected map[string]Verdict
	entries  []*entry
	groups   []Group
	open     []string
}

// due returns the looks to take, as numbers of repeats.
func (c *course) due() []int {
	measured := len(c.repeats)
	planned := c.Taken
	if planned == nil {
		planned = c.Looks
	}
	var due []int
	for _, n := range planned {
		if n <= measured {
			due = append(due, n)
		}
	}
	last := c.Looks[len(c.Looks)-1]
	if c.Ended && !c.Resumable && measured > 0 && measured < last && (len(due) == 0 || due[len(due)-1] < measured) {
		due = append(due, measured)
	}
	return due
}

// next returns the first planned look after those taken.
func (c *course) next(taken []int) int {
	for _, n := range c.Looks {
		if len(taken) == 0 || n > taken[len(taken)-1] {
			return n
		}
	}
	return 0
}

// look judges the first n repeats, as the k-th look. Sessions are judged only at the end, when the
// last look is repeated with them. Both count as one look, so rejected keeps its earlier state.
func (c *course) look(k, n int, end bool) {
	if !end {
		c.rejected = map[string]Verdict{}
		for id, d := range c.final {
			c.rejected[id] = d.Verdict
		}
	}
	f := c.Family.upTo(c.repeats[:n], end)
	c.open = nil
	c.entries, c.groups = f.look(c.stage(k, n), c.rejected)
	for i, e := range c.entries {
		if _, decided := c.final[e.ID]; decided {
			continue
		}
		if n > 0 {
			e.Look = &Look{Repeats: n}
		}
		isMetric := i < len(f.Comparisons)
		switch {
		case e.Verdict == Regression, e.Refuted, isMetric && (e.Verdict == Pass || e.Verdict == Improvement):
			c.final[e.ID] = e.decision()
		case e.Verdict == Inconclusive && (!isMetric || f.Comparisons[i].waits()):
			c.open = append(c.open, e.ID)
		}
	}
}

// describe shows what was measured before the first look. It decides nothing.
func (c *course) describe() {
	c.look(0, len(c.repeats), true)
	for _, e := range c.entries {
		e.Look = nil
		if _, decided := c.final[e.ID]; decided {
			e.Verdict, e.Refuted, e.Need = Inconclusive, false, nil
			e.Reason = fmt.Sprintf("the first look is after %s, and %d were measured", repeats(c.Looks[0]), len(c.repeats))
		}
	}
	c.final = map[string]Decision{}
}

// waits reports whether more repeats may decide the comparison.
func (c Comparison) waits() bool { return c.Descriptive == "" && c.test().Design != Sessions }

// judgement puts the final decisions in order. At the end no more repeats can follow.
func (c *course) judgement(end bool) Judgement {
	all, _ := c.Family.upTo(c.repeats, true).look(c.last(), nil)
	decisions := make([]Decision, len(c.entries))
	for i, e := range c.entries {
		d, decided := c.final[e.ID]
		switch {
		case !decided:
			d = e.decision()
		case i < len(c.Family.Comparisons):
			d.warnOfInvalid(c.Family.Comparisons[i].Invalid)
		}
		if now := all[i]; now.N > d.N && d.Look != nil && d.Requests == nil {
			now.foresee()
			d.Look.Later = &Estimate{N: now.N, Difference: now.Difference, Interval: now.Interval}
		}
		decisions[i] = d
	}
	j := assemble(c.Family, decisions, c.groups)
	if end {
		refuseFewRuns(j.Success)
	}
	guard(c.Family, &j)
	return j
}

// warnOfInvalid adds a warning on what was found after the look that decided.
func (d *Decision) warnOfInvalid(invalid string) {
	if invalid != "" {
		d.Warnings = append(slices.Clone(d.Warnings), fmt.Sprintf("decided after %s, before this was seen: %s", repeats(d.Look.Repeats), invalid))
	}
}

// repeats returns the numbers of the measured repeats, ascending. Unpaired values count as many
// repeats as the longer side has.
func (f Family) repeats() []int {
	var all []int
	for _, c := range f.Comparisons {
		for _, p := range c.Pairs {
			all = append(all, p.Repeat)
		}
	}
	for _, s := range f.Success {
		runs := s.Head
		if !s.Unpaired { // the base's repeats are those of this session
			runs = slices.Concat(s.Base, s.Head)
		}
		for _, r := range runs {
			all = append(all, r.Repeat)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for _, c := range f.Comparisons {
		if c.Unpaired == nil || c.test().Design == Sessions {
			continue
		}
		for n := max(len(c.Unpaired.Base), len(c.Unpaired.Head)); len(all) < n; {
			next := 1
			if len(all) > 0 {
				next = all[len(all)-1] + 1
			}
			all = append(all, next)
		}
	}
	return all
}

// upTo returns the family with the data of some repeats only.
func (f Family) upTo(repeats []int, end bool) Family {
	among := map[int]bool{}
	for _, r := range repeats {
		among[r] = true
	}
	keep := func(runs []Run) []Run {
		return slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return !among[r.Repeat] })
	}
	f.Comparisons, f.Success = slices.Clone(f.Comparisons), slices.Clone(f.Success)
	for i := range f.Comparisons {
		c := &f.Comparisons[i]
		c.Pairs = slices.DeleteFunc(slices.Clone(c.Pairs), func(p Pair) bool { return !among[p.Repeat] })
		c.Voided = slices.DeleteFunc(slices.Clone(c.Voided), func(p Pair) bool { return !among[p.Repeat] })
		c.VoidedBase = slices.DeleteFunc(slices.Clone(c.VoidedBase), func(p Pair) bool { return !among[p.Repeat] })
		if c.Relative != nil {
			related := c.Relative.upTo(repeats)
			c.Pairs, c.Clusters = related.Pairs, related.Clusters
		}
		switch {
		case c.test().Design == Sessions && !end && c.Missing == "":
			c.Missing = "sessions are judged once, when the session ends"
		case c.Unpaired != nil && c.test().Design != Sessions:
			n := len(repeats)
			c.Unpaired = &Samples{Base: first(n, c.Unpaired.Base), Head: first(n, c.Unpaired.Head)}
		}
		if c.Planned > 0 {
			c.Planned = len(repeats)
		}
		if c.InvalidFrom > 0 && !slices.ContainsFunc(repeats, func(r int) bool { return r >= c.InvalidFrom }) {
			c.Invalid = ""
		}
	}
	for i := range f.Success {
		s := &f.Success[i]
		s.Head = keep(s.Head)
		if !s.Unpaired {
			s.Base = keep(s.Base)
		}
	}
	return f
}

// first returns the first n values.
func first(n int, x []float64) []float64 { return x[:min(n, len(x))] }
