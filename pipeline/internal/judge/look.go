package judge

import (
	"fmt"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// Look holds the state of a session with several looks.
type Look struct {
	// Stop reports that further repeats would not be judged.
	Stop bool
	// Open is the number of comparisons that wait for more repeats, out of All. Next is the number of repeats at the
	// next look.
	Open, All, Next int
	// Settled reports that no further repeat changes the verdict of a gate. Hopeless reports that the remaining repeats
	// are unlikely to decide any comparison that matters. Both are set only for runs with a budget.
	Settled, Hopeless bool
}

// TakeLook judges what a document holds so far, and returns whether to continue. The result depends only on the plan
// and the measurements, so a resumed session gets the same one. The document stays unchanged.
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

// sequence returns the family with its looks.
func (c *collector) sequence(ended bool) gates.Sequence {
	looks, before := c.plan.SessionLooks()
	return gates.Sequence{
		Family: c.family, Looks: looks, Before: before, Ended: ended, Resumable: ended && resumable(c.doc),
	}
}

// judgement judges the family, at its looks or once.
func (c *collector) judgement() (gates.Judgement, error) {
	if len(c.plan.Looks) < 2 {
		return gates.Judge(c.family)
	}
	progress, err := c.sequence(true).Judge()
	c.doc.Looks, c.doc.LooksTaken, c.doc.LooksBefore = c.plan.Looks, progress.Taken, c.plan.Before
	return progress.Judgement, err
}
