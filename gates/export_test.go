package gates

import "math"

// The arithmetic behind the tests, for those of gates_test.

const ModeratedCells = moderatedCells

var (
	Holm     = holmAdjust
	Moderate = fitModeration
	Check    = Family.check
	Quantile = quantile
)

func WelchT(base, head []float64, alpha float64) (Statistic, error) {
	return welch(Sample{Base: base, Head: head}, Settings{Alpha: alpha})
}

func RankSum(base, head []float64, alpha float64) (Statistic, error) {
	return rankSum(Sample{Base: base, Head: head}, Settings{Alpha: alpha})
}

func Permutations(base, head []float64, alpha float64, seed uint64) (Statistic, error) {
	return permutations(Sample{Base: base, Head: head}, Settings{Alpha: alpha, Seed: seed})
}

func PredictionT(history, sessions []float64, alpha float64) (Statistic, error) {
	return prediction(Sample{Base: history, Head: sessions}, Settings{Alpha: alpha})
}

func SignFlips(d []float64, alpha float64, seed uint64) (Statistic, error) {
	return signFlips(Sample{Differences: d}, Settings{Alpha: alpha, Seed: seed})
}

func NeedSessions(effect, sd float64, h int, alpha float64) (int, bool) {
	return needSessions(effect, sd, h, alpha)
}

// PowerPairedT is the chance that the one-sided paired t-test of n pairs at alpha finds a true
// shift effect of pairs with standard deviation sd:
//
//	P(T > t(1−α, n−1)), T noncentral t with n − 1 df and noncentrality √n·effect/sd
func PowerPairedT(n int, effect, sd, alpha float64) float64 {
	if n < 2 {
		return 0
	}
	df := float64(n - 1)
	return noncentralSurvival(tCritical(alpha, df), df, math.Sqrt(float64(n))*effect/sd)
}

// Solved returns how many of n solutions are kept, and how many of n more that are asked for again were solved again.
func Solved(n int) (kept, again int) {
	var s solutions[int]
	for i := range n {
		s.of(i, func() float64 { return float64(i) })
	}
	kept = len(s.kept)
	for i := range n {
		s.of(n-1-i, func() float64 { again++; return 0 })
	}
	return kept, again
}
