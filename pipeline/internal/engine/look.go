package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// looksAfter reports whether a round of repeats is followed by a look that can end the run. The last look is the
// judgement and ends nothing. A look within a round is taken when the round is complete.
func (r *runner) looksAfter(round []plan.Repeat) bool {
	last := round[len(round)-1].Index
	return len(r.plan.Looks) > 1 && last < len(r.plan.Repeats) &&
		slices.ContainsFunc(round, func(rep plan.Repeat) bool { return slices.Contains(r.plan.Looks, rep.Index) })
}

// look removes the remaining repeats from the schedule if a look has decided everything.
func (r *runner) look(l judge.Look, repeat int) (decided bool, err error) {
	text := fmt.Sprintf("look after %d of %d repeats: %d of %d comparisons are decided", repeat, len(r.plan.Repeats), l.All-l.Open, l.All)
	why, cause := "every comparison is decided", result.StoppedBy("")
	switch {
	case l.Stop:
		text += ", so the run ends here"
	case l.Settled:
		why, cause = "every gate has its verdict, and the budget is spared what is left", result.StoppedSettled
		text += " and every gate has its verdict, so the run ends here"
	case l.Hopeless:
		why, cause = "the comparisons that are left are not likely to be decided by the repeats that are left, and the budget is spared them",
			result.StoppedHopeless
		text += ", and the others are not likely to be, so the run ends here"
	default:
		text += fmt.Sprintf(", the next look is after %d", l.Next)
	}
	r.bus.Emit(event.Event{Type: event.Look, Repeat: repeat, Repeats: len(r.plan.Repeats), Text: text})
	if !l.Stop && !l.Settled && !l.Hopeless {
		return false, r.bus.Err()
	}
	r.leave(r.plan.Repeats[repeat:], cause, fmt.Sprintf("ended after repeat %d of at most %d: %s", repeat, len(r.plan.Repeats), why))
	return true, errors.Join(r.bus.Err(), r.stopAtTheEnd())
}

// leave removes the remaining repeats from the schedule.
func (r *runner) leave(left []plan.Repeat, cause result.StoppedBy, why string) {
	for _, rep := range left {
		for _, launch := range rep.Launches {
			r.eta.skip(launch)
		}
	}
	r.early, r.out.StoppedBy = why, cause
}
