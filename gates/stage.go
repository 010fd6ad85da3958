package gates

import (
	"errors"
	"fmt"
	"slices"
)

// stage is a plan of looks with its part of alpha: 1 as it was planned before there were
// data, less where repeats were added afterwards.
type stage struct {
	Looks
	part float64
}

// Level is the nominal level of each look of the stage.
func (s stage) Level(alpha float64, members int) float64 {
	return s.Looks.Level(alpha*s.part, members)
}

// stage is the plan that a look belongs to: the first one that has it.
func (s Sequence) stage(n int) stage {
	for k, looks := range s.Before {
		if slices.Contains(looks, n) {
			return stage{looks, 1 / float64(k+1)}
		}
	}
	return s.last()
}

// last is the plan as it is now.
func (s Sequence) last() stage { return stage{s.Looks, 1 / float64(len(s.Before)+1)} }

// Extendable says whether repeats may be added to a sequence with these looks after its
// data were seen. A sequence of several looks spends less than alpha on a wrong pass or a
// false alarm, because a comparison that is decided one way can no longer be decided the
// other, and what is left pays for the looks that are added (see Sequence.Before). A single
// look spends all of it.
func (l Looks) Extendable() error {
	if len(l) > 1 {
		return nil
	}
	return errors.New("a single judgement at the end has spent all of alpha, so no repeats can be added; plan several looks (min below max), or run again as another attempt")
}

// checkBefore refuses extensions that are none.
func (s Sequence) checkBefore() error {
	for k, looks := range s.Before {
		next := s.Looks
		if k+1 < len(s.Before) {
			next = s.Before[k+1]
		}
		if err := errors.Join(looks.check(), looks.Extendable()); err != nil {
			return err
		}
		if len(next) <= len(looks) || !slices.Equal(next[:len(looks)], looks) {
			return fmt.Errorf("looks %v do not extend %v: looks are added at the end", []int(next), []int(looks))
		}
	}
	return nil
}
