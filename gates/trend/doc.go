// Package trend finds the points at which a metric's history changed: one value per
// session in, change points out.
//
// Two searches take turns. E-divisive (hierarchical divisive estimation, D. Matteson and
// N. James, J. Am. Statist. Assoc. 109, 2014) splits the series where the energy distance
// of the parts is largest, tests the split by permutations, and searches the parts again.
// It assumes no distribution, and finds episodes: changes that were undone. The other scans
// the newest segment for a step by the likelihood ratio, and finds single and recent
// changes with few points.
//
// Nightly values are not independent: a machine that is warm tonight is warm tomorrow.
// Permutations would take that for change points (in 68 % of unchanged series with a
// correlation of 0.5). So both searches estimate the correlation φ of neighbours with the
// candidate change taken out, corrected for its bias, and work on the innovations
// x(t) − φ·x(t−1). E-divisive searches and permutes these in place of x(t). The scan fits a
// first-order autoregressive series with and without a step by generalized least squares, and
// compares the ratio with those of series made of the same innovations in another order.
//
// Example: a history of 60 nights that became 10 % slower three nights ago.
//
//	ttft, _ := metric.Lookup("ttft.p99")
//	s, err := trend.Detect(ttft, values)
//	// s.ChangePoints[0].Index == 60, .Change ≈ 0.10, .Worse, .State == trend.Confirmed
//
// At a standard deviation of 2 % a step of +5 % is found within one place by five points in
// 88 % of series, and one of +10 % by three points in 99 %. 4 % of unchanged series of 90
// points alarm.
//
// Correlated points hold less information. At a correlation of 0.5, where 9 % of unchanged series alarm
// and 10 % may, +10 % is found by three points in 99 %, and +5 % by five in 65 %. The second cannot
// be much better: a likelihood-ratio scan that knows the correlation and the spread, and
// alarms as often, finds 76 % (80 % if it knows the level before the step as well); with
// 2 % as the spread of the innovations, so that the values spread by 2.3 %, 60 % (67 %), and
// this package 46 %. Only a scan of nothing but the newest ten points reaches 85 %.
// TestAgainstTheOracle prints the bounds and holds the search to a share of them.
//
// A loss of a little each night has no change point. [Stand] therefore also compares the
// newest values with the first ones of the level that counts, and takes a finding only if
// it is significant among all the series that are judged together. TestFleetWithoutAChange
// and TestLossesStayFound print the rates, with -full over ten times as many nights.
//
// A change point shows that something changed between two sessions, not what. Out of scope:
// the last point of a series cannot be distinguished from an outlier (it is at most Suspected),
// values of different fingerprints are different series, which the caller separates, and
// missing sessions are left out, not filled in. Gates do not use this package: the
// verdict on a change comes from package gates.
package trend
