// Package trend finds the points at which a metric's history changed: one value per session in,
// change points out.
//
// Two searches alternate. E-divisive (hierarchical divisive estimation, D. Matteson and N. James,
// J. Am. Statist. Assoc. 109, 2014) splits the series where the energy distance of the parts is
// largest, tests the split by permutations, and searches the parts again. It assumes no
// distribution and finds episodes: changes that were undone. The other search scans the newest
// segment for a step by the likelihood ratio. It finds single and recent changes with few points.
//
// Nightly values are not independent: a machine that is warm tonight is warm tomorrow. Permutations
// would report this as change points (in 68 % of unchanged series with a correlation of 0.5). So
// both searches estimate the correlation φ of neighbours with the candidate change removed,
// corrected for its bias, and work on the innovations x(t) − φ·x(t−1). E-divisive searches and
// permutes these instead of x(t). The scan fits a first-order autoregressive series with and
// without a step by generalized least squares. It compares the ratio with those of series made of
// the same innovations in another order.
//
// Example: a history of 60 nights that became 10 % slower three nights ago.
//
//	ttft, _ := metric.Lookup("ttft.p99")
//	s, err := trend.Detect(ttft, values)
//	// s.ChangePoints[0].Index == 60, .Change ≈ 0.10, .Worse, .State == trend.Confirmed
//
// At a standard deviation of 2 %, five points find a step of +5 % within one place in 88 % of
// series, and three points find a step of +10 % in 99 %. 4 % of unchanged series of 90 points raise
// an alarm.
//
// Correlated points hold less information. At a correlation of 0.5, 9 % of unchanged series raise
// an alarm (the limit is 10 %). Three points find +10 % in 99 %, and five find +5 % in 65 %. The
// second cannot be much better: a likelihood-ratio scan that knows the correlation and the spread,
// with the same rate of alarms, finds 76 % (80 % if it also knows the level before the step). If 2
// % is the spread of the innovations, so that the values spread by 2.3 %, it finds 60 % (67 %), and
// this package 46 %. Only a scan of just the newest ten points reaches 85 %. TestAgainstTheOracle
// prints the bounds and requires a share of them.
//
// A small loss each night has no change point. [Stand] therefore also compares the newest values
// with the first ones of the reference level. It accepts a finding only if it is significant among
// all series that are judged together. TestFleetWithoutAChange and TestLossesStayFound print the
// rates, with -full over ten times as many nights.
//
// What makes most cells of a machine worse together for some sessions, such as a neighbour, is no
// change of the code. [SharedMoves] finds these sessions, and the caller leaves them out.
//
// A change point shows that something changed between two sessions, not what. Out of scope: the
// last point of a series cannot be distinguished from an outlier (it is at most Suspected); values
// of different fingerprints are different series, which the caller separates; missing sessions are
// left out, not filled in. Gates do not use this package: the verdict on a change comes from
// package gates.
package trend
