// Package gates decides whether a change made a server slower: samples in, decisions
// out. It knows of no files, servers or reports.
//
// The samples are pairs. One repeat launches every side and passes every cell once; a
// metric's value on the base and on the head in that repeat are one [Pair]. Requests
// are never pooled across repeats to make a test, because requests of one launch share
// what is special about that launch.
//
// For each comparison d is the difference of a pair, signed so that worse is positive:
// ln(head) − ln(base) for times, the negative of that for rates, head − base for
// quantities that can be zero. A paired t-test on the d of all repeats gives two
// one-sided p values and an interval. With the margin m (ln(1 + M) on the log scale)
// the verdict is
//
//   - [Regression] if d ≤ 0 is rejected after Holm over the family and the estimate is
//     at least m (strict: the lower bound is beyond m),
//   - [Improvement] if the mirror image holds,
//   - [Pass] if the one-sided upper bound of d at 1 − α, not corrected, is below m,
//   - [Inconclusive] otherwise, with the number of repeats that would decide,
//   - [Missing] or [Invalid] if there is nothing to decide on.
//
// Corrections differ because the claims differ. The file is red if any comparison is,
// so the family shares α (S. Holm, Scand. J. Statist. 6, 1979). The file is green only
// if every comparison is, so each may use the whole α (R. L. Berger, Technometrics 24,
// 1982: intersection-union test).
//
// Example: one metric, six repeats of +10 %.
//
//	ttft, _ := metric.Lookup("ttft.p99")
//	j, err := gates.Judge(gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{{
//		ID: "chat/ttft.p99", Gate: "latency", Metric: ttft, Claim: gates.Claim{Margin: 0.05}, Test: gates.PairedTTest,
//		CanFail: true, Pairs: pairs, Planned: 6,
//	}}})
//	// j.Comparisons[0].Verdict == gates.Regression
//
// Repeats cost hours, so a [Sequence] looks at the data while they come in and stops when
// all is decided. Each look has a nominal level from the joint law of the looks
// ([Looks.Level]), so that α holds for all looks together; the first crossing is final.
//
// Failures have units too. Requests that fail must be more in the pool and run by run
// ([Success]); launches that fail are compared by a test that may be looked at any time
// ([LaunchTest]) and has [LaunchShare] of each group's level. A [Prospect] computes what a
// plan can find, by simulation of the looks to come.
//
// A [Test] is one value, and [StandardTests] lists those for other data: [SignFlip] and [MaxT]
// where differences are symmetric but not normal, [Welch], [MannWhitney] and [Permutation] where
// nothing is paired, and [Prediction] for a baseline stored by earlier sessions. [Suite] compares the geometric
// means of many cells. [Family.Moderate] lets the cells of a session share what they know
// of their variances.
//
// What these promise is simulated by TestOperatingCharacteristics, and docs/statistics.md carries
// the numbers, which every run of the tests checks. To see all of it:
//
//	go test ./gates -run OperatingCharacteristics -v -full
//
// Out of scope: this package does not know which pairs are valid. Pairs that a cause
// outside the system under test has voided are not passed in. It decides on sessions;
// package trend searches a history of them.
package gates
