package gates

import (
	"errors"
	"fmt"
	"math"
)

// MinSessions is the least number of sessions of a stored baseline that a session may be
// judged by.
const MinSessions = 10

// Prediction is the prediction interval over the sessions of a stored baseline.
var Prediction = &Test{
	Name: "prediction", Design: Sessions, Run: prediction,
	Doc:    "whether a session comes from the distribution of those of a history",
	LeastP: func(int) float64 { return 0 },
}

// predictionT tests whether new sessions come from the distribution of the sessions of a
// history: T = (mean of the new − mean of the history)/SE with
//
//	SE = s·√(1/k + 1/h), h − 1 degrees of freedom
//
// for k new sessions and h of the history with standard deviation s; for one session the
// prediction interval s·√(1 + 1/h) (G. Hahn and W. Meeker, Statistical Intervals, 1991,
// section 4.7). A value is a session's, because sessions differ by more than their
// repeats do: repeats make a session's value better and the interval no narrower. It
// needs two sessions of the history; decisions want [MinSessions]. Differences up to floor
// are rounding.
func predictionT(history, sessions []float64, floor, alpha float64) (twoSample, error) {
	r := twoSample{NBase: len(history), NHead: len(sessions)}
	if r.NBase < 2 || r.NHead < 1 {
		return r, fmt.Errorf("%w with %d sessions of history and %d new; measure at least 2 and 1", ErrTooFew, r.NBase, r.NHead)
	}
	centre, sd := meanSD(history)
	r.Shift = mean(sessions) - centre
	if math.IsNaN(sd+r.Shift) || math.IsInf(sd+r.Shift, 0) {
		return r, errors.New("a session's value is not a finite number; leave it out")
	}
	if sd <= math.Max(floor, rounding*math.Abs(centre)) {
		r.exact(floor)
		return r, nil
	}
	r.SE, r.DF = sd*math.Sqrt(1/float64(r.NHead)+1/float64(r.NBase)), float64(r.NBase-1)
	r.T = r.Shift / r.SE
	r.Greater, r.Less = tSurvival(r.T, r.DF), tSurvival(-r.T, r.DF)
	width := tCritical(alpha, r.DF) * r.SE
	r.Lower, r.Upper = r.Shift-width, r.Shift+width
	return r, nil
}

// needSessions returns the smallest number of sessions of the head that finds a true shift
// effect with 80 % power, against a history of h sessions with standard deviation sd, both on
// the scale of the test, one-sided at alpha: it solves c·sd·√(1/k + 1/h) ≤ effect for k, c
// being the noncentrality of 80 % power. No number is enough where the history is too short:
// its own mean is known to sd/√h only.
func (p planner) needSessions(effect, sd float64, h int, alpha float64) (int, bool) {
	if h < 2 || !(effect > 0) {
		return 0, false
	}
	ratio := effect / (sd * p.noncentrality(float64(h-1), alpha, Power))
	k := math.Ceil(1 / (ratio*ratio - 1/float64(h)) * (1 - rounding))
	if !(k > 0 && k <= MaxPairs) {
		return 0, false
	}
	return int(k), true
}

// shortHistory reports whether the comparison has too few sessions for a decision.
func (c Comparison) shortHistory() bool {
	return c.test().Design == Sessions && c.Unpaired != nil && len(c.Unpaired.Base) < MinSessions
}

// prediction is the test of a sample of sessions.
func prediction(x Sample, set Settings) (Statistic, error) {
	r, err := predictionT(x.Base, x.Head, x.Floor, set.Alpha)
	if err != nil {
		return Statistic{}, err
	}
	s := r.statistic()
	// sd is the spread of sessions; the smaller side's number is no measure here.
	sd := r.SE / math.Sqrt(1/float64(r.NHead)+1/float64(r.NBase))
	s.Noise = Noise{SD: sd, Prior: r.DF}
	return s, nil
}
