package gates

import (
	"cmp"
	"math"
)

// Alike is what two answers to one prompt have in common.
type Alike struct {
	// Tokens before the first in which they differ, all of them if Equal, and the end that both
	// have.
	Tokens int
	Equal  bool
	// Nats is the mean absolute difference of the log-probabilities of these tokens, NaN where
	// there are none.
	Nats float64
}

// Closer reports whether an answer is closer to another one by x than by y.
func (x Alike) Closer(y Alike) bool {
	if x.Equal != y.Equal {
		return x.Equal
	}
	if c := cmp.Compare(x.Tokens, y.Tokens); c != 0 {
		return c > 0
	}
	return x.Nats < y.Nats || math.IsNaN(y.Nats) && !math.IsNaN(x.Nats)
}

// Answers are what launches of two sides answered to the same prompts.
type Answers struct {
	Prompts int
	// Repeats whose launches of both sides answered, ascending.
	Repeats []int
	// Alike compares the answer of a launch, the head's or the base's of a repeat, with that of the base's
	// launch of another one. It reports false where one of the two is missing.
	Alike func(head bool, repeat, against, prompt int) (Alike, bool)
}

// AnswerValues are the values of answers that are compared.
type AnswerValues struct {
	Agreement, FirstDivergence, LogprobDifference Relative
}

// Relate sets each answer of a launch against the closest that the base's other launches gave to
// the prompt. Where a prompt has two answers, because two tokens are as good as each other, both
// are soon among those of the base, and neither counts as a difference. What is left is what
// a launch says that no other one of the base does: in a launch of the base the noise
// floor, in one of the head the noise floor and the change.
func (a Answers) Relate() AnswerValues {
	out := AnswerValues{Relative{}, Relative{}, Relative{}}
	closest := [2][][]best{}
	for last, repeat := range a.Repeats {
		for side := range closest {
			for r := range last {
				a.improve(closest[side][r], side == 1, a.Repeats[r], repeat)
			}
			own := make([]best, a.Prompts)
			for s := range last {
				a.improve(own, side == 1, repeat, a.Repeats[s])
			}
			closest[side] = append(closest[side], own)
		}
		if last == 0 {
			continue // there are no others
		}
		out.Agreement[repeat] = a.related(closest, func(x Alike) float64 {
			if x.Equal {
				return 1
			}
			return 0
		})
		out.FirstDivergence[repeat] = a.related(closest, func(x Alike) float64 { return float64(x.Tokens) })
		out.LogprobDifference[repeat] = a.related(closest, func(x Alike) float64 { return x.Nats })
	}
	return out
}

// best is the closest answer so far, if there is one.
type best struct {
	Alike
	known bool
}

// improve takes a further launch of the base among those that a launch is compared with.
func (a Answers) improve(closest []best, head bool, repeat, against int) {
	for p := range closest {
		if x, ok := a.Alike(head, repeat, against, p); ok && (!closest[p].known || x.Closer(closest[p].Alike)) {
			closest[p] = best{x, true}
		}
	}
}

// related are the means over prompts of one figure of the closest answers, launch by launch, and
// what the differences of the prompts say of their error. Prompts without a figure are left out.
func (a Answers) related(closest [2][][]best, figure func(Alike) float64) Related {
	var out Related
	sums, counts := make([]float64, a.Prompts), make([]float64, a.Prompts)
	for i := range closest[0] {
		var total [2]float64
		n := 0
		for p := range a.Prompts {
			b, h := closest[0][i][p], closest[1][i][p]
			base, head := figure(b.Alike), figure(h.Alike)
			if !b.known || !h.known || math.IsNaN(base) || math.IsNaN(head) {
				continue
			}
			total[0], total[1], n = total[0]+base, total[1]+head, n+1
			sums[p] += head - base
			counts[p]++
		}
		if n > 0 {
			out.Pairs = append(out.Pairs, Pair{Repeat: a.Repeats[i], Base: total[0] / float64(n), Head: total[1] / float64(n)})
		}
	}
	out.Clusters = clustersOf(sums, counts)
	return out
}

// clustersOf is the error of a mean of clusters by their spread: the standard error, and as
// many degrees of freedom as clusters of one size that are not zero. Of a thousand prompts of
// which three differ, three say how far chance goes; where all differ by much the same, all do.
func clustersOf(sums, counts []float64) Clusters {
	n, total := 0, 0.0
	for p, c := range counts {
		if c > 0 {
			sums[p] /= c
			total += sums[p]
			n++
		}
	}
	mean, spread, squares, fourth := total/float64(max(n, 1)), 0.0, 0.0, 0.0
	for p, c := range counts {
		if c > 0 {
			spread += (sums[p] - mean) * (sums[p] - mean)
			square := sums[p] * sums[p]
			squares, fourth = squares+square, fourth+square*square
		}
	}
	if n < 2 || fourth == 0 {
		return Clusters{}
	}
	return Clusters{SE: math.Sqrt(spread) / float64(n), DF: max(1, min(squares*squares/fourth, float64(n-1)))}
}
