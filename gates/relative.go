package gates

import (
	"math"
	"slices"
)

// Relative holds the pairs of a metric that relates launches to each other, such as the share of
// answers that agree with the base. Each launch is compared with the base's other launches, so each
// further repeat changes all values. The key is the last repeat that was included.
//
// A launch of the base compared with the base's others is the noise floor of the session. The
// head's launch of the same repeat is compared with the same ones. Without a change both have the
// same distribution, whatever the differences between launches of one server.
type Relative map[int]Related

// Related holds the pairs of a metric in some repeats.
type Related struct {
	Pairs []Pair
	// Clusters is the error of the mean difference from what the pairs share.
	Clusters Clusters
}

// Clusters is the error of the mean difference over independent parts of the work, such as prompts.
// The values of different repeats are compared with the same launches. If two answers are equally
// good for half of the prompts, chance decides which of them the base gave, and it is the same
// chance for all pairs. A test of the pairs alone would call up to 19 % of equal sides worse at 5
// %. Clusters detect this, but not the effect of a launch on all prompts, which the pairs detect.
// So a test requires both.
//
// If all launches answer the same questions, as in an evaluation, Drawn is set. Pairs do not show
// the effect of other questions, and clusters do not show the differences between launches, so the
// squares of both errors are added.
type Clusters struct {
	SE, DF float64
	Drawn  bool
	// Beside is set if the error is independent of the pairs'. It is added with its own degrees of
	// freedom.
	Beside bool
}

// upTo returns the values at the last of some repeats that has any.
func (r Relative) upTo(repeats []int) Related {
	for _, last := range slices.Backward(repeats) {
		if found, ok := r[last]; ok {
			return found
		}
	}
	return Related{}
}

// All returns the values over all repeats.
func (r Relative) All() Related {
	last := 0
	for repeat := range r {
		last = max(last, repeat)
	}
	return r[last]
}

// cluster also requires what the clusters show: the larger of both p values, and the wider bounds.
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
