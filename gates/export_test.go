package gates

import "math"

// The arithmetic behind the tests, for those of gates_test.

const ModeratedCells = moderatedCells

type (
	Refusal = refusal
)

var (
	Holm           = holmAdjust
	ClopperPearson = clopperPearson
	RankSum        = rankSum
	Moderate       = fitModeration
	Check          = Family.check
	Quantile       = quantile
)

func WelchT(base, head []float64, alpha float64) (twoSample, error) {
	return welchT(base, head, 0, alpha)
}

func PredictionT(history, sessions []float64, alpha float64) (twoSample, error) {
	return predictionT(history, sessions, 0, alpha)
}

func SignFlips(d []float64, alpha float64, seed uint64) (flips, error) {
	return flipSigns(d, 0, alpha, seed)
}

func NeedSessions(effect, sd float64, h int, alpha float64) (int, bool) {
	return newPlanner().needSessions(effect, sd, h, alpha)
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
