package gates

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// predictSession is the test of a single session against a history. The prediction interval assumes that sessions are
// independent, and that this one is as noisy as those of the history. The test also has to hold
//
//   - if consecutive sessions are correlated as those of the history are, and
//   - with the spread of this session's own launches in place of that of the history.
//
// It does not decide if the launches of this session spread significantly more than the history allows.
func predictSession(x Sample, set Settings) (Statistic, error) {
	s, err := prediction(x, set)
	if err != nil || len(x.Head) != 1 || s.Exact || s.Rounded {
		return s, err
	}
	h := float64(len(x.Base))
	_, sd := meanSD(x.Base)
	if phi := correlationOf(x.Base); phi > 0 {
		ratio := predictionRatio(phi, len(x.Base))
		df := max(leastSessionDF, (h-1)*(1-phi*phi)/(1+phi*phi))
		s.andWith(sd*math.Sqrt(ratio), df, set)
		s.Correlation = phi
	}
	if n := float64(len(x.Launches)); n > 1 {
		_, today := meanSD(x.Launches)
		past, now := sd*sd/h, today*today/n
		if now > 0 {
			s.andWith(math.Sqrt(past+now), min(h, n)-1, set) // Satterthwaite's would be more, and too many in the tails
			s.Restless = distuv.F{D1: n - 1, D2: h - 1}.Survival(now/(sd*sd)) < restless
		}
	}
	return s, nil
}

const (
	// tellCorrelation is the correlation from which on a decision names it.
	tellCorrelation = 0.3
	// restless is the level at which the launches of a session contradict its history.
	restless = 0.05
	// leastSessionDF is the least number of degrees of freedom of correlated sessions.
	leastSessionDF = 2
	// mostCorrelation keeps correlated sessions stationary.
	mostCorrelation = 0.9
)

// andWith makes a statistic hold with a second standard error, too: the larger p values and the wider bounds count.
func (s *Statistic) andWith(se, df float64, set Settings) {
	second := *s
	second.DF = df
	second.student(se)
	second.bound(0, set.Critical(df)*se)
	if second.Upper > s.Upper {
		s.SE, s.DF, s.T = second.SE, second.DF, second.T
	}
	s.Greater, s.Less = max(s.Greater, second.Greater), max(s.Less, second.Less)
	s.Lower, s.Upper = min(s.Lower, second.Lower), max(s.Upper, second.Upper)
}

// correlationOf estimates the correlation of neighbours in time, corrected for the bias from the estimated mean
// (M. Kendall, Biometrika 41, 1954). The result is from 0 to mostCorrelation.
func correlationOf(x []float64) float64 {
	n := float64(len(x))
	if n < 4 {
		return 0
	}
	mean, sd := meanSD(x)
	products := 0.0
	for i := range x[1:] {
		products += (x[i] - mean) * (x[i+1] - mean)
	}
	return max(0, min((n*products/(sd*sd*(n-1))+1)/(n-3), mostCorrelation))
}

// predictionRatio returns the variance of the next value about the mean of the n before it, in expected sample
// variances of these, for an autoregressive series.
func predictionRatio(phi float64, n int) float64 {
	h := float64(n)
	mean, covariance, power := 1/h, 0.0, 1.0
	for k := 1; k <= n; k++ {
		power *= phi
		mean += 2 / h * (1 - float64(k)/h) * power
		covariance += power / h
	}
	return (1 + mean - 2*covariance) / ((1 - mean) * h / (h - 1))
}
