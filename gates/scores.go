package gates

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Scores are what launches of two sides scored in the same questions.
type Scores struct {
	Questions int
	// Repeats whose launches of both sides answered all questions, ascending.
	Repeats []int
	// Of is the score of a launch, the head's or the base's of a repeat, in a question.
	Of func(head bool, repeat, question int) float64
}

// Relate pairs the mean scores of the launches by repeat, with the error that comes from the
// questions. They are a sample of those that could have been asked, and the comparison is about
// all of these. Each question is asked of every launch, so what counts of it is by how much
// the head's mean score over all launches differs from the base's.
func (s Scores) Relate() Relative {
	out := Relative{}
	sums, counts := make([]float64, s.Questions), make([]float64, s.Questions)
	var pairs []Pair
	for _, repeat := range s.Repeats {
		pair := Pair{Repeat: repeat}
		for q := range s.Questions {
			base, head := s.Of(false, repeat, q), s.Of(true, repeat, q)
			pair.Base, pair.Head = pair.Base+base, pair.Head+head
			sums[q] += head - base
			counts[q]++
		}
		pair.Base, pair.Head = pair.Base/float64(s.Questions), pair.Head/float64(s.Questions)
		pairs = append(pairs, pair)
		out[repeat] = Related{Pairs: slices.Clone(pairs), Clusters: drawnFrom(clustersOf(slices.Clone(sums), counts), s.Questions)}
	}
	return out
}

// Mean is the mean score of a side's launches in a question.
func (s Scores) Mean(head bool, question int) float64 {
	sum := 0.0
	for _, repeat := range s.Repeats {
		sum += s.Of(head, repeat, question)
	}
	return sum / float64(len(s.Repeats))
}

// unseen is how many more questions are assumed to differ than do: of a thousand of which none
// does, not all of those that could have been asked are alike. Bounds are then those of Poisson's
// distribution, or further out, for small counts.
const unseen = 2

// fewest are the degrees of freedom of few questions that differ.
const fewest = 4

// drawnFrom is the error of clusters of which so many were drawn.
func drawnFrom(c Clusters, questions int) Clusters {
	n := float64(questions)
	return Clusters{SE: math.Sqrt(c.SE*c.SE*n*n+unseen) / n, DF: max(fewest, c.DF), Drawn: true}
}

// drawn adds the error over questions to that of n pairs, with the degrees of freedom of
// Satterthwaite (F. E. Satterthwaite, Biometrics Bull. 2, 1946). What is left of a question by
// chance is in both, so that the sum errs on the safe side.
func (s *Statistic) drawn(c Clusters, n int, set Settings) {
	pairs, questions := s.SE*s.SE, c.SE*c.SE
	s.SE = math.Sqrt(pairs + questions)
	s.DF = (pairs + questions) * (pairs + questions) / (pairs*pairs/float64(max(n-1, 1)) + questions*questions/c.DF)
	s.T = s.Shift / s.SE
	s.Greater, s.Less = tSurvival(s.T, s.DF), tSurvival(-s.T, s.DF)
	s.bound(0, set.Critical(s.DF)*s.SE)
	s.Exact = false
	s.Noise = paired(s.SE * math.Sqrt(float64(n)))
}

// NeedQuestions is the least number of questions, each right or wrong, with which a loss can be
// found with [Power] at a level, however few of them the sides differ in: they differ in the
// loss at least.
func NeedQuestions(loss, alpha float64) int {
	effect := mathext.NormalQuantile(Power) - mathext.NormalQuantile(alpha)
	return int(math.Ceil(effect * effect * (1 - loss) / loss))
}

// FoundLoss is the chance that a true loss is called a regression at a level, where its estimate
// has to be at least the margin: of questions that are right or wrong, and of which the
// sides differ in a share, each side the same in all launches. An improvement is found as a loss
// is that has to be beyond the margin by as much as is significant.
func FoundLoss(questions int, differ, loss, margin, alpha float64, expect Expectation) float64 {
	n := float64(questions)
	sd := math.Sqrt(max(differ-loss*loss, 0) / n)
	if sd == 0 {
		return 0
	}
	significant := tCritical(alpha, max(fewest, differ*n)) * math.Sqrt(sd*sd+unseen/n/n)
	least := max(margin, significant)
	if expect == ExpectImprovement {
		least = margin + significant
	}
	return math.Erfc((least-loss)/sd/math.Sqrt2) / 2
}

// DetectableLoss is the smallest loss that is found with [Power]; false where the sides would
// have to differ in more.
func DetectableLoss(questions int, differ, margin, alpha float64, expect Expectation) (loss float64, ok bool) {
	found := func(loss float64) bool { return FoundLoss(questions, differ, loss, margin, alpha, expect) >= Power }
	low, high := 0.0, differ
	if !found(high) {
		return 0, false
	}
	for range 40 {
		if middle := (low + high) / 2; found(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high, true
}
