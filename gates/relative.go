package gates

import (
	"math"
	"slices"
)

// Relative are the pairs of a metric that no launch has by itself, such as the share of its
// answers that are as those of the base: they are against the base's other launches, so that
// each further repeat changes the values of all. They are listed by the last repeat that there
// is.
//
// A launch of the base against the base's others is the noise floor of the session, and the
// head's launch of the same repeat is against the same ones: without a change both are drawn
// alike, whatever the launches of one server differ by.
type Relative map[int]Related

// Related are the pairs of a metric in some repeats.
type Related struct {
	Pairs []Pair
	// Clusters say how far the mean of the differences is off by what the pairs share.
	Clusters Clusters
}

// Clusters are the error of the mean difference over parts of the work that are independent of
// each other, such as prompts. Values of a repeat share what they are against with those of the
// others: where two answers are equally good to half of the prompts, it is luck which of them
// the base has given, and the luck is the same for all pairs. A test of the pairs alone
// would call up to 19 % of equal sides worse at 5 %. The clusters see that, and do not see what
// a launch does to all prompts, which the pairs do. So a test demands both.
//
// Where all launches answer the same questions, as in an evaluation, Drawn is set: pairs know
// nothing of what other questions would have shown, and clusters nothing of what launches differ
// by, so that the squares of both errors add up.
type Clusters struct {
	SE, DF float64
	Drawn  bool
	// Beside says that the error is none of the pairs', and is added to theirs with degrees of freedom of its own.
	Beside bool
}

// upTo returns what is known at the last of some repeats that has anything.
func (r Relative) upTo(repeats []int) Related {
	for _, last := range slices.Backward(repeats) {
		if found, ok := r[last]; ok {
			return found
		}
	}
	return Related{}
}

// All returns what is known of all repeats.
func (r Relative) All() Related {
	last := 0
	for repeat := range r {
		last = max(last, repeat)
	}
	return r[last]
}

// cluster demands of the test of n pairs what the clusters say, too: the larger p value of
// both, and the bounds that are further out.
func (s *Statistic) cluster(c Clusters, n int, bias float64, set Settings) {
	if c.Beside {
		s.beside(c, n, bias, set)
		return
	}
	if c.Drawn {
		s.drawn(c, n, set)
		return
	}
	t, width := s.Shift/c.SE, set.Critical(c.DF)*c.SE
	s.Greater, s.Less = max(s.Greater, tSurvival(t, c.DF)), max(s.Less, tSurvival(-t, c.DF))
	s.Lower, s.Upper = min(s.Lower, s.Shift-width), max(s.Upper, s.Shift+width)
	if c.SE > s.SE {
		s.SE, s.DF, s.T, s.Noise = c.SE, c.DF, t, paired(c.SE*math.Sqrt(float64(n)))
	}
	s.Exact = false
}
