// Package trend finds the points at which a metric's history changed: one value per
// session in, change points out.
//
// Change points are found by the hierarchical divisive estimation of D. Matteson and
// N. James (E-divisive, J. Am. Statist. Assoc. 109, 2014): the split with the largest
// energy distance is tested by permutations, and the parts are searched again until no
// split is significant. It assumes no distribution.
//
// Nightly values are not independent: a machine that is warm tonight is warm tomorrow.
// Permutations would take that for change points (in 68 % of unchanged series with a
// correlation of 0.5). So the series is whitened first: the correlation φ of
// neighbours is estimated with the candidate split taken out, corrected for its bias, and
// x(t) − φ·x(t−1) is searched and permuted in place of x(t).
//
// Example: a history of 60 nights that became 10 % slower three nights ago.
//
//	ttft, _ := metric.Lookup("ttft.p99")
//	s, err := trend.Detect(ttft, values, trend.Options{})
//	// s.ChangePoints[0].Index == 60, .Change ≈ 0.10, .Worse, .State == trend.Confirmed
//
// Correlated points say less, so changes of a correlated series are found later: at a
// standard deviation of 2 % and a correlation of 0.5 a step of +5 % is found within one
// place by five points in about half of the series (86 % without correlation), and one of
// +10 % by three points in about 84 % (99 %), by ten in 95 %. Searching the series as it is
// would find them sooner, and alarm in two of three series that did not change.
//
// [Otava] finds the change points that Apache Otava would, for those who compare.
//
// A change point says that something changed between two sessions, not what. Out of scope:
// the last point of a series cannot be told from an outlier (it is at most Suspected),
// values of different fingerprints are different series, which the caller separates, and
// missing sessions are left out, not filled in. Gates do not use this package: the
// verdict on a change comes from package gates.
package trend
