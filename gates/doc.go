// Package gates decides whether a change made a server slower: samples in, decisions out. It knows
// neither files nor servers nor reports.
//
// The samples are pairs. One repeat launches every side and runs every cell once. A metric's value
// on the base and on the head in that repeat form one [Pair]. Requests are never pooled across
// repeats for a test, because the requests of one launch share the peculiarities of that launch.
//
// For each comparison, d is the difference of a pair, signed so that worse is positive: ln(head) −
// ln(base) for times, its negative for rates, head − base for quantities that can be zero. A paired
// t-test on the d of all repeats gives two one-sided p values and an interval. With the margin m
// (ln(1 + M) on the log scale) the verdict is
//
//   - [Regression] if d ≤ 0 is rejected after Holm over the family and the estimate is at least m
//     (strict: the lower bound is beyond m),
//   - [Improvement] if the mirror image holds,
//   - [Pass] if the one-sided upper bound of d at 1 − α, not corrected, is below m,
//   - [Inconclusive] otherwise, with the number of repeats that would decide,
//   - [Missing] or [Invalid] if there is nothing to decide on.
//
// Corrections differ because the claims differ. The file is red if any comparison is red, so the
// family shares α (S. Holm, Scand. J. Statist. 6, 1979). The file is green only if every comparison
// is green, so each may use the whole α (R. L. Berger, Technometrics 24, 1982: intersection-union
// test).
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
// Repeats cost hours, so a [Sequence] looks at the data as they arrive and stops once everything is
// decided. Each look has a nominal level from the joint distribution of the looks ([Looks.Level]),
// so that α holds for all looks together. The first crossing is final.
//
// Failures have units too. A regression needs more failed requests both in the pool and run by run
// ([Success]). Failed launches are compared by a test that is valid at any time ([LaunchTest]); it
// uses [LaunchShare] of each group's level. A [Prospect] simulates the looks to come and computes
// what a plan can detect.
//
// A [Test] is one value, and [StandardTests] lists them. Besides the t-test there are [SignFlip]
// and [MaxT] for differences that are symmetric but not normal; [Welch], [MannWhitney] and
// [Permutation] for unpaired data; and [Prediction] for a baseline stored by earlier sessions.
// [Suite] compares the geometric means of many cells. [Family.Moderate] lets the cells of a session
// share information about their variances.
//
// TestOperatingCharacteristics simulates these promises. docs/evidence/error-rates.md has the numbers, which
// every test run checks. To see all of them:
//
//	go test ./gates -run OperatingCharacteristics -v -full
//
// Out of scope: this package does not know which pairs are valid. Callers leave out pairs that were
// voided by a cause outside the system under test. It decides on sessions; package trend searches
// their history.
package gates
