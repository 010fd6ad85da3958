package gates

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Scores holds the scores of the launches of both sides in the same questions.
type Scores struct {
	Questions int
	// Families holds the number of each question's family, such as those about one passage; nil if each question was
	// drawn by itself. The error is then that over families.
	Families []int
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
		out[repeat] = Related{Pairs: slices.Clone(pairs), Clusters: s.drawn(slices.Clone(sums), counts)}
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

// drawn returns the error of the mean difference of questions that were drawn from more. sums are
// the sums of each question's differences, counts the number of its differences.
func (s Scores) drawn(sums, counts []float64) Clusters {
	n := float64(s.Questions)
	if s.Families == nil {
		c := clustersOf(sums, counts)
		return Clusters{SE: math.Sqrt(c.SE*c.SE*n*n+unseen) / n, DF: max(fewest, c.DF), Drawn: true}
	}
	mean := 0.0
	for q, count := range counts {
		sums[q] /= count
		mean += sums[q] / n
	}
	families := slices.Max(s.Families) + 1
	totals, sizes := make([]float64, families), make([]float64, families)
	for q, f := range s.Families {
		totals[f] += sums[q]
		sizes[f]++
	}
	return overFamilies(totals, sizes, mean)
}

// overFamilies returns the error of a mean difference over the questions of families that were
// drawn from more, by the sandwich estimator (K.-Y. Liang and S. L. Zeger, Biometrika 73, 1986)
// with the correction for few families. totals are sums of the differences of a family's questions.
//
// Families that were not drawn may differ, too, and in all of their questions: those that were drawn
// need not show it, if such a family is rare.
func overFamilies(totals, sizes []float64, mean float64) Clusters {
	n, spread, squares, fourth, whole := 0.0, 0.0, 0.0, 0.0, 0.0
	for f, total := range totals {
		rest := total - sizes[f]*mean
		spread += rest * rest
		squares, fourth = squares+total*total, fourth+total*total*total*total
		n, whole = n+sizes[f], whole+sizes[f]*sizes[f]
	}
	g, differ := float64(len(totals)), 0.0
	if fourth > 0 {
		differ = squares * squares / fourth
	}
	return Clusters{SE: math.Sqrt(spread*g/(g-1)+unseen*whole/g) / n, DF: max(1, min(max(fewest, differ), g-1)), Drawn: true}
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
	if differ*n <= countable {
		return foundByCounts(questions, differ, loss, margin, alpha, expect)
	}
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

// countable is the number of questions that differ up to which power is computed from their
// counts. The normal distribution overstates it where few differ, because the error varies with
// their number.
const countable = 100

// foundByCounts returns what FoundLoss does, summed over how many questions differ and how many of
// these are lost.
func foundByCounts(questions int, differ, loss, margin, alpha float64, expect Expectation) float64 {
	n := float64(questions)
	lost := (1 + loss/differ) / 2 // share of the questions that differ
	if differ <= 0 || lost > 1 {
		return 0
	}
	expected := n * differ
	reach := 10 + 8*math.Sqrt(expected)
	found := 0.0
	for k := max(0, int(expected-reach)); k <= min(questions, int(expected+reach)); k++ {
		critical := tCritical(alpha, max(fewest, min(float64(k), n-1)))
		here := 0.0
		for l := k; 2*l > k; l-- {
			mean := float64(2*l-k) / n
			width := critical * math.Sqrt(float64(k)-mean*mean*n+unseen) / n
			if least := max(margin, width); expect != ExpectImprovement && mean < least || expect == ExpectImprovement && mean < margin+width {
				break
			}
			here += binomial(k, l, lost)
		}
		found += here * binomial(questions, k, differ)
	}
	return found
}

// binomial returns the probability of k successes in n trials.
func binomial(n, k int, p float64) float64 {
	switch {
	case p >= 1:
		return float64(k / max(n, 1))
	case p <= 0:
		return float64(1 - min(k, 1))
	}
	choose := func(x int) float64 { l, _ := math.Lgamma(float64(x + 1)); return l }
	return math.Exp(choose(n) - choose(k) - choose(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
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
