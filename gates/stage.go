package gates

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// stage is a look of a plan of looks, from 0, with the plan's part of alpha: 1 as it was
// planned before there were data, less where repeats were added afterwards.
type stage struct {
	Looks
	look int
	part float64
}

// single is the one look of a judgement without a sequence.
var single = stage{Looks{1}, 0, 1}

// Level is the nominal level of the look.
func (s stage) Level(alpha float64, members int) float64 {
	return s.Looks.Level(s.look, alpha*s.part, members)
}

// stage is the k-th look that is taken, after n repeats: a look of the first plan that has
// it.
func (s Sequence) stage(k, n int) stage {
	for i, looks := range s.Before {
		if slices.Contains(looks, n) {
			return stage{looks, min(k, len(looks)-1), part(i)}
		}
	}
	last := s.last()
	last.look = min(k, len(s.Looks)-1)
	return last
}

// last is the last look of the plan as it is now.
func (s Sequence) last() stage {
	return stage{s.Looks, len(s.Looks) - 1, part(len(s.Before))}
}

// part of alpha that the looks of the i-th extension have, 0 for those planned before there
// were data. These spend all but a tenth of it, so what is added has little.
func part(i int) float64 { return math.Pow(4, -float64(i)) }

// Extendable returns an error if no repeats may be added to a sequence with these looks after
// its data were seen. A sequence of several looks spends less than alpha on a wrong pass or a
// false alarm, because a comparison that is decided one way can no longer be decided the
// other, and what is left pays for the looks that are added (see Sequence.Before). A single
// look spends all of it.
func (l Looks) Extendable() error {
	if len(l) > 1 {
		return nil
	}
	return errors.New("a single judgement at the end has spent all of alpha, so no repeats can be added; plan several looks (min below " +
		"max), or run again as another attempt")
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
