package gates

import "github.com/servegate/pipeline/gates/metric"

// Pair holds the two values of one metric in one repeat, in the metric's unit.
type Pair struct {
	Repeat     int
	Base, Head float64
}

// Run is the outcome of one side in one repeat, used to compare success rates.
type Run struct {
	Repeat int
	// Sent counts the requests, Failed those that failed.
	Sent, Failed int
	// ServerFailed is set if the server did not start, never became ready or crashed. Requests of
	// such a run are not counted, because they would count the crash again. A repeat can have
	// several such runs beside one that succeeded.
	ServerFailed bool
}

// Samples holds unpaired values of both sides. Welch, MannWhitney and Permutation take one value per
// run. Prediction takes one per session: the geometric mean over its repeats, or the arithmetic mean
// if the scale is not logarithmic.
type Samples struct {
	Base, Head []float64
	// Launches are the values of the launches of a single session that Prediction compares.
	Launches []float64
}

// Comparison is one metric of one cell, head against base.
type Comparison struct {
	// ID is unique in the family. It names the decision; this package does not interpret it.
	ID string
	// Gate of the comparison. Comparisons of one gate share its Alpha.
	Gate   string
	Metric metric.Metric
	Claim
	Rule
	// Test to run; nil means the standard test named by Rule.TestName.
	Test *Test
	// CanFail is false if a regression does not fail the file. Such a comparison is judged at its
	// own level without correction and does not belong to the family.
	CanFail bool
	// Pairs in any order. Planned is the planned number, 0 if unknown.
	Pairs   []Pair
	Planned int
	// Step is the step of the last printed digit, in the unit of the values. 0 derives it from
	// their decimal digits.
	Step float64
	// Unrounded is set if all digits of the values were measured: equal ones are then equal, and not
	// rounded.
	Unrounded bool
	// Clusters is the error of the mean difference over parts of the work, zero if pairs share
	// nothing.
	Clusters Clusters
	// Relative holds Pairs and Clusters for a metric that relates repeats to each other. Pairs and
	// Clusters are then its values for all repeats.
	Relative Relative
	// Known is the spread of the differences known from earlier measurements; nil if there are
	// none. It requires the test PairedTTest.
	Known *Known
	// Blocks names, by repeat, the conditions that only some pairs share, such as the node; nil if
	// all conditions are alike. Both values of a pair belong to one block.
	Blocks map[int]string
	// Between is the standard deviation, between blocks, of the effect of a change, on the scale of
	// the test. It makes the decision one about all such blocks. With 0 it is about the mean over
	// the measured blocks.
	Between float64
	// Voided holds the first measurements of repeats that were measured again because the head's
	// run was void for a cause that can depend on the side, if this happened to the head more often
	// than to the base. A pass must also hold with these values; otherwise slow runs could be
	// measured until they are fast. A Head of NaN was not measured, and no pass holds with it.
	Voided []Pair
	// VoidedBase holds those of repeats in which the base's run was void, if this happened to the base more often than
	// to the head. A regression must also hold with these values; otherwise slow runs of the base could be measured
	// until they are fast.
	VoidedBase []Pair
	// Unpaired values instead of Pairs, in the order of measurement, for tests without pairs. If it
	// is nil, Welch, MannWhitney and Permutation use the two sides of Pairs.
	Unpaired *Samples
	// Missing or Invalid, if not empty, is the reason why there is nothing to decide.
	Missing, Invalid string
	// InvalidFrom is the first repeat that Invalid concerns. Looks of a [Sequence] before it are
	// not affected. 0 means all repeats.
	InvalidFrom int
	// Descriptive, if not empty, is the reason why the comparison is described but never decided
	// (one launch for all repeats, a baseline from a file). Its verdict is at most inconclusive and
	// it does not belong to the family.
	Descriptive string
}

// Success compares how often the two sides fail in one cell. Every gate has one for each cell, even
// if the file does not name it.
type Success struct {
	// ID is unique in the family, across comparisons and successes.
	ID, Gate string
	// Runs of both sides, in any order. Runs of the same repeat are paired, unless Unpaired is set:
	// then the repeats of the two sides are unrelated.
	Base, Head []Run
	Unpaired   bool
	// Sides identifies the launches of the runs, "" for those of the gate. Comparisons with the
	// same Sides are other cells of the same launches, and their servers are compared together (see
	// Launches).
	Sides string
	// Alpha and CanFail as in Comparison.
	Alpha   float64
	CanFail bool
	// Metrics holds the IDs of the comparisons of the same cell. If the success rates regress,
	// these can be neither pass nor improvement.
	Metrics []string
}

// Family holds everything that is decided together: all comparisons of all gates of a file.
type Family struct {
	// Alpha is the one-sided probability that any comparison is called a regression if none is
	// worse (d ≤ 0 for all). The same holds for improvements.
	Alpha float64
	// PassAlpha is the one-sided level of the interval, and so of pass; 0 means Alpha. An attempt
	// whose predecessors are not counted uses [AttemptAlpha].
	PassAlpha float64
	// Moderate shares the variances of paired t-tests between comparisons of the same metric, if
	// there are at least 8 (see Moderation).
	Moderate bool
	// Seed of the random sign flips that replace the full set from 17 pairs on.
	Seed        uint64
	Comparisons []Comparison
	Success     []Success
}

// passAlpha returns the one-sided level of the interval.
func (f Family) passAlpha() float64 {
	if f.PassAlpha > 0 {
		return f.PassAlpha
	}
	return f.Alpha
}
