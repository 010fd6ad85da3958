package gates

import (
	"errors"
	"fmt"
)

// Looks are the numbers of repeats after which a sequence is judged, ascending.
type Looks []int

// LooksBetween are the looks of a sequence of least to most repeats: at the even numbers
// between them, and at most. The order of the sides alternates from repeat to repeat, so
// that only an even number of repeats has each side first equally often. With least =
// most there is one look.
func LooksBetween(least, most int) Looks {
	var l Looks
	for n := least + least%2; n < most; n += 2 {
		l = append(l, n)
	}
	return append(l, most)
}

// check refuses looks that cannot be taken in this order.
func (l Looks) check() error {
	if len(l) == 0 {
		return errors.New("a sequence without looks decides nothing; use LooksBetween")
	}
	for k, n := range l {
		if n < 1 || k > 0 && n <= l[k-1] {
			return fmt.Errorf("looks %v must be positive and ascending", []int(l))
		}
	}
	return nil
}

// Level is the nominal one-sided level of each look for members comparisons that share
// the overall level alpha by Holm's procedure: with it the chance that one of them, which
// is no worse, is ever called worse is at most alpha, over all looks together. It is the
// level to compare with Holm's adjusted p value.
//
// The level is alpha over a divisor that depends on the number of looks and, because
// smaller levels make looks less alike, on alpha/members. Divisors come from the joint
// law of the t statistics after 4, 6, 8, … pairs; sequences that begin later or look
// closer together make looks more alike and err on the safe side. One look needs no
// correction. Sequences that begin below 4 pairs, more than ten looks and levels
// below 1e-4 are divided by the number of looks (Bonferroni).
//
// For 0.05 and five looks the level is 0.0125 for up to 20 comparisons.
func (l Looks) Level(alpha float64, members int) float64 {
	return alpha / l.divisor(alpha/float64(max(members, 1)))
}

// divisor is the α of one comparison over the nominal level of its looks.
func (l Looks) divisor(alpha float64) float64 {
	looks := len(l)
	if looks <= 1 {
		return 1
	}
	if l[0] >= 4 && looks <= len(divisors[0].byLooks) {
		for _, row := range divisors {
			if alpha >= row.least {
				return row.byLooks[looks-1]
			}
		}
	}
	return float64(looks)
}

// divisors are the quotients of the overall and the nominal level after 4, 6, 8, … pairs,
// rounded up, for overall levels from least on. TestDivisorsFollowFromTheJointLaw derives
// them; testdata/looks.py checks that law by simulation.
var divisors = []struct {
	least   float64
	byLooks [10]float64
}{
	{0.0025, [10]float64{1, 1.9, 2.65, 3.35, 4, 4.5, 5, 5.5, 5.9, 6.3}},
	{0.0005, [10]float64{1, 1.95, 2.8, 3.6, 4.3, 4.9, 5.5, 6, 6.5, 6.95}},
	{0.0001, [10]float64{1, 2, 2.95, 3.75, 4.5, 5.2, 5.85, 6.45, 7, 7.5}},
}
