package gates

import (
	"errors"
	"fmt"
	"math"

	"github.com/servegate/pipeline/gates/metric"
)

// MinSessions is the least number of sessions in a stored baseline for a decision.
const MinSessions = 10

// Prediction is the prediction interval over the sessions of a stored baseline.
var Prediction = &Test{
	Name: "prediction", Design: Sessions, Run: predictSession,
	Doc:    "whether a session comes from the distribution of those of a history",
	LeastP: func(int) float64 { return 0 },
}

// prediction tests whether new sessions come from the distribution of the sessions of a history: T
// = (mean of the new − mean of the history)/SE with
//
//	SE = s·√(1/k + 1/h), h − 1 degrees of freedom
//
// for k new sessions and h of the history with standard deviation s; for one session this is the
// prediction interval s·√(1 + 1/h) (G. Hahn and W. Meeker, Statistical Intervals, 1991, section
// 4.7). Each value is of a session, because sessions differ by more than their repeats do: more
// repeats improve the value of a session, but do not narrow the interval. It needs two sessions of
// the history; decisions need [MinSessions].
//
// Values printed with few digits spread by at least the rounding, as in paired tests. [Rounding]
// describes a difference of two sessions; the test has the error of n pairs of them.
func prediction(x Sample, set Settings) (Statistic, error) {
	h, k := float64(len(x.Base)), float64(len(x.Head))
	if h < 2 || k < 1 {
		return Statistic{}, fmt.Errorf("%w with %g sessions of history and %g new; measure at least 2 and 1", ErrTooFew, h, k)
	}
	centre, sd := meanSD(x.Base)
	s := Statistic{Shift: metric.Mean(x.Head) - centre, DF: h + k - 2, Noise: Noise{SD: math.Sqrt2 * sd}}
	if math.IsNaN(sd+s.Shift) || math.IsInf(sd+s.Shift, 0) {
		return s, errors.New("a session's value is not a finite number; leave it out")
	}
	spread := math.Sqrt(1/k + 1/h)
	constant := sd <= math.Max(x.Floor, rounding*math.Abs(centre))
	if constant {
		s.exact(x.Floor)
	} else {
		s.DF = h - 1
	}
	if bias := s.rounded(x.Rounding, 2/(spread*spread)); s.Rounded {
		s.bound(bias, tCritical(set.Alpha, s.DF)*s.SE)
	} else if !constant {
		s.student(sd * spread)
		s.bound(0, tCritical(set.Alpha, s.DF)*s.SE)
	}
	s.tied(x, len(x.Base), len(x.Head))
	// The spread of sessions; the size of the smaller side does not apply here.
	s.Noise = Noise{SD: s.SE / spread, Prior: s.DF}
	return s, nil
}

// needSessions returns the smallest number of sessions of the head that finds a true shift effect
// with 80 % power, against a history of h sessions with standard deviation sd, both on the scale of
// the test, one-sided at alpha. It solves c·sd·√(1/k + 1/h) ≤ effect for k, where c is the
// noncentrality for 80 % power. If the history is too short, no number is enough, because its own
// mean has the error sd/√h.
func needSessions(effect, sd float64, h int, alpha float64) (int, bool) {
	if h < 2 || !(effect > 0) {
		return 0, false
	}
	ratio := effect / (sd * noncentrality(float64(h-1), alpha, Power))
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
