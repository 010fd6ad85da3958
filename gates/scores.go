package gates

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Scores holds the scores of the launches of both sides in the same questions.
type Scores struct {
	Questions int
	// Repeats whose launches answered all questions on both sides, ascending.
	Repeats []int
	// Of returns the score of a launch (of the head or the base, in repeat) in a question.
	Of func(head bool, repeat, question int) float64
}

// Relate pairs the mean scores of the launches by repeat, with the error that comes from the
// questions. The questions are a sample, and the comparison is about all that could have been
// asked. Every launch answers each question, so a question counts by how much the head's mean score
// over all launches differs from the base's.
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

// Mean returns the mean score of a side's launches in a question.
func (s Scores) Mean(head bool, question int) float64 {
	sum := 0.0
	for _, repeat := range s.Repeats {
		sum += s.Of(head, repeat, question)
	}
	return sum / float64(len(s.Repeats))
}

// unseen is the number of further questions that are assumed to differ: if none of 1,000 differs,
// some of those not asked may. Bounds for small counts are then at least as wide as those of the
// Poisson distribution.
const unseen = 2

// fewest is the number of degrees of freedom if few questions differ.
const fewest = 4

// drawnFrom returns the error of clusters that were drawn from more, for a number of questions.
func drawnFrom(c Clusters, questions int) Clusters {
	n := float64(questions)
	return Clusters{SE: math.Sqrt(c.SE*c.SE*n*n+unseen) / n, DF: max(fewest, c.DF), Drawn: true}
}

// drawn adds the error over questions to that of n pairs, with Satterthwaite's degrees of freedom
// (F. E. Satterthwaite, Biometrics Bull. 2, 1946). The chance within a question is in both errors,
// so the sum errs on the safe side.
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

// NeedQuestions returns the least number of questions, each right or wrong, with which a loss can
// be found with [Power] at a level. It assumes that the sides differ in no more questions than the
// loss requires.
func NeedQuestions(loss, alpha float64) int {
	effect := mathext.NormalQuantile(Power) - mathext.NormalQuantile(alpha)
	return int(math.Ceil(effect * effect * (1 - loss) / loss))
}

// FoundLoss returns the probability that a true loss is called a regression at a level, with an
// estimate of at least the margin. Questions are right or wrong, and the sides differ in the share
// differ of them, each side alike in all launches. An expected improvement has to be beyond the
// margin by a significant amount.
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

// DetectableLoss returns the smallest loss that is found with [Power]. It returns false if the
// sides would have to differ in more questions.
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
