package gates

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// share is the part of a family's alpha that the gate of one comparison claims.
type share struct {
	id, gate string
	alpha    float64
	canFail  bool
	// decided is false for comparisons that are only described.
	decided bool
}

// shares returns the claims of all comparisons, successes included.
func (f Family) shares() []share {
	var all []share
	for _, c := range f.Comparisons {
		all = append(all, share{c.ID, c.Gate, c.Alpha, c.CanFail, c.Descriptive == "" && !c.shortHistory()})
	}
	for _, s := range f.Success {
		all = append(all, share{s.ID, s.Gate, s.Alpha, s.CanFail, true})
	}
	return all
}

// rest returns the level that the gates' own shares leave for the common group.
func (f Family) rest() float64 {
	gates := map[string]float64{}
	for _, s := range f.shares() {
		if s.canFail {
			gates[s.gate] = s.alpha
		}
	}
	// Sum in a fixed order, so that rounding does not depend on the order of the map.
	rest := f.Alpha
	claims := make([]float64, 0, len(gates))
	for _, alpha := range gates {
		claims = append(claims, alpha)
	}
	slices.Sort(claims)
	for _, alpha := range claims {
		rest -= alpha
	}
	if math.Abs(rest) < rounding {
		return 0
	}
	return rest
}

// sizes returns the sizes of the Holm groups by gate; the common group is "".
func (f Family) sizes() map[string]int {
	size := map[string]int{}
	for _, s := range f.shares() {
		switch {
		case !s.canFail || !s.decided:
		case s.alpha > 0:
			size[s.gate]++
		default:
			size[""]++
		}
	}
	return size
}

// checkShares returns an error if the shares do not add up.
func (f Family) checkShares() error {
	var problems []error
	claimed := map[string]float64{}
	for _, s := range f.shares() {
		if !(s.alpha >= 0 && s.alpha < 0.5) {
			problems = append(problems, fmt.Errorf("%s: alpha is %g; it must be above 0 and below 0.5, or left out", s.id, s.alpha))
			continue
		}
		if s.alpha > 0 && s.gate == "" {
			problems = append(problems, fmt.Errorf("%s: has a share of alpha but no gate to share it in", s.id))
		}
		if alpha, ok := claimed[s.gate]; ok && alpha != s.alpha {
			problems = append(problems, fmt.Errorf("%s: gate %s has the shares %g and %g; a gate has one", s.id, s.gate, alpha, s.alpha))
		}
		claimed[s.gate] = s.alpha
	}
	rest := f.rest()
	if rest < 0 {
		problems = append(problems, fmt.Errorf("the gates' own alphas sum to %.3g, more than the family's %.3g; lower one of them by %.3g",
			f.Alpha-rest, f.Alpha, -rest))
	}
	if rest <= 0 && f.sizes()[""] > 0 {
		problems = append(problems,
			fmt.Errorf("the gates' own alphas use up the family's %.3g and leave nothing for the gates without one; give each gate an alpha, or "+
				"lower them", f.Alpha))
	}
	return errors.Join(problems...)
}
