package judge

import (
	"fmt"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// Look is where a session with several looks stands.
type Look struct {
	// Stop is set where further repeats would not be judged.
	Stop bool
	// Open are the comparisons that wait for more repeats, of All; Next is the number of
	// repeats at the next look.
	Open, All, Next int
	// Settled is set where no further repeat changes the verdict of a gate, and Hopeless where
	// none of the comparisons that matter is likely to be decided by the repeats that are left.
	// They count where a run has a budget.
	Settled, Hopeless bool
}

// TakeLook judges what a document holds so far, and returns whether to go on. It is a function
// of the plan and of what was measured, so that a resumed session gets the same answer.
// The document is not changed.
func TakeLook(p *plan.Plan, doc *result.Document, opt Options) (Look, error) {
	partial := *doc
	c := newCollector(p, &partial, opt)
	if err := c.collect(); err != nil {
		return Look{}, err
	}
	all := len(c.family.Comparisons) + len(c.family.Success)
	if all == 0 {
		return Look{Stop: true}, nil
	}
	progress, err := c.sequence(false).Judge()
	if err != nil {
		return Look{}, fmt.Errorf("looking at the repeats so far: %w", err)
	}
	look := Look{Stop: progress.Stop, Open: len(progress.Open), All: all, Next: progress.Next}
	if p.Budget != nil {
		look.Settled, look.Hopeless = progress.Settled(), c.sequence(false).Hopeless(progress)
	}
	return look, nil
}

// sequence is the family with its looks.
func (c *collector) sequence(ended bool) gates.Sequence {
	looks, before := c.plan.SessionLooks()
	return gates.Sequence{
		Family: c.family, Looks: looks, Before: before, Ended: ended, Resumable: ended && resumable(c.doc),
	}
}

// judgement judges the family: at its looks, or once.
func (c *collector) judgement() (gates.Judgement, error) {
	if len(c.plan.Looks) < 2 {
		return gates.Judge(c.family)
	}
	progress, err := c.sequence(true).Judge()
	c.doc.Looks, c.doc.LooksTaken, c.doc.LooksBefore = c.plan.Looks, progress.Taken, c.plan.Before
	return progress.Judgement, err
}
