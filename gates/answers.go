package gates

import (
	"cmp"
	"math"
)

// Alike holds how far two answers to one prompt agree.
type Alike struct {
	// Tokens counts the leading tokens that agree, with the end of the answer as one token. It is
	// the whole answer if Equal.
	Tokens int
	Equal  bool
	// Nats is the mean absolute difference of the log-probabilities of these tokens, NaN without
	// any.
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

// Answers holds what the launches of both sides answered to the same prompts.
type Answers struct {
	Prompts int
	// Repeats whose launches answered on both sides, ascending.
	Repeats []int
	// Alike compares one answer of a launch (of the head or the base, in repeat) with the answer of
	// the base's launch in the repeat against. It reports false if either answer is missing.
	Alike func(head bool, repeat, against, prompt int) (Alike, bool)
}

// AnswerValues holds the metrics that are computed from answers.
type AnswerValues struct {
	Agreement, FirstDivergence, LogprobDifference Relative
}

// Relate compares each answer of a launch with the closest answer that the base's other launches
// gave to the same prompt. A prompt can have two answers because two tokens are equally likely. The
// base soon gives both, and then neither counts as a difference. What remains are answers that no
// other launch of the base gave. For a launch of the base this is the noise floor; for a launch of
// the head it is the noise floor plus the change.
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
			continue // no other launches
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

// best is the closest answer so far; known is false before the first.
type best struct {
	Alike
	known bool
}

// improve updates the closest answers of a launch with those of one more launch of the base.
func (a Answers) improve(closest []best, head bool, repeat, against int) {
	for p := range closest {
		if x, ok := a.Alike(head, repeat, against, p); ok && (!closest[p].known || x.Closer(closest[p].Alike)) {
			closest[p] = best{x, true}
		}
	}
}

// related returns, for each repeat, the mean over prompts of one figure of the closest answers. It
// estimates the error of the difference from the spread between prompts. Prompts without a figure
// are left out.
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

// clustersOf returns the standard error of a mean over clusters, computed from their spread, and
// its degrees of freedom: as many as clusters of equal size that are not zero. If 3 of 1,000
// prompts differ, only these 3 inform about chance; if all differ by about the same, all do.
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
