package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// looksAfter reports whether a round of repeats is followed by a look that can end the run:
// the last look is the judgement of what was measured, and ends nothing. A look that falls
// into a round is taken when all of it is there.
func (r *runner) looksAfter(round []plan.Repeat) bool {
	last := round[len(round)-1].Index
	return r.o.Look != nil && len(r.plan.Looks) > 1 && last < len(r.plan.Repeats) &&
		slices.ContainsFunc(round, func(rep plan.Repeat) bool { return slices.Contains(r.plan.Looks, rep.Index) })
}

// look asks whether everything is decided after a repeat, and takes what is left off the
// schedule if it is. It comes after void runs were measured again, so that a look has all
// the pairs that it will ever have.
func (r *runner) look(repeat int, left []plan.Repeat) (decided bool, err error) {
	l, err := r.o.Look(r.out)
	if err != nil {
		return false, err
	}
	text := fmt.Sprintf("look after %d of %d repeats: %d of %d comparisons are decided", repeat, len(r.plan.Repeats), l.All-l.Open, l.All)
	if l.Stop {
		text += ", so the run ends here"
	} else {
		text += fmt.Sprintf(", the next look is after %d", l.Next)
	}
	r.bus.Emit(event.Event{Type: event.Look, Repeat: repeat, Repeats: len(r.plan.Repeats), Text: text})
	if !l.Stop {
		return false, r.bus.Err()
	}
	for _, rep := range left {
		for _, launch := range rep.Launches {
			r.eta.skip(launch)
		}
	}
	r.early = fmt.Sprintf("ended after repeat %d of at most %d: every comparison is decided", repeat, len(r.plan.Repeats))
	return true, errors.Join(r.bus.Err(), r.stopAtTheEnd())
}
