package gates

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// stage is a look of a plan, from 0, with the plan's part of alpha: 1 as planned before there were
// data, less if repeats were added afterwards.
type stage struct {
	Looks
	look int
	part float64
}

// single is the one look of a judgement without a sequence.
var single = stage{Looks{1}, 0, 1}

// Level returns the nominal level of the look.
func (s stage) Level(alpha float64, members int) float64 {
	return s.Looks.Level(s.look, alpha*s.part, members)
}

// stage returns the k-th look taken, after n repeats, in the first plan that contains it.
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

// last returns the last look of the current plan.
func (s Sequence) last() stage {
	return stage{s.Looks, len(s.Looks) - 1, part(len(s.Before))}
}

// part returns the part of alpha for the looks of the i-th extension, 0 for those planned before
// there were data. The first plan spends all but a tenth of alpha, so little is left for
// extensions.
func part(i int) float64 { return math.Pow(4, -float64(i)) }

// Extendable returns an error if no repeats may be added to a sequence with these looks after its
// data were seen. A sequence of several looks spends less than alpha on a wrong pass or a false
// alarm, because a comparison that is decided one way can no longer be decided the other way. The
// rest pays for added looks (see Sequence.Before). A single look spends all of it.
func (l Looks) Extendable() error {
	if len(l) > 1 {
		return nil
	}
	return errors.New("a single judgement at the end has spent all of alpha, so no repeats can be added; plan several looks (min below " +
		"max), or run again as another attempt")
}

// checkBefore returns an error if a plan does not extend the one before it.
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
