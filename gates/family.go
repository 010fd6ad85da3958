package gates

import "github.com/servegate/pipeline/gates/metric"

// Pair is one repeat's two values of one metric, in the metric's unit.
type Pair struct {
	Repeat     int
	Base, Head float64
}

// Run is the outcome of one side's launch and pass in one repeat, for the comparison of
// success rates.
type Run struct {
	Repeat int
	// Sent requests, and those of them that failed.
	Sent, Failed int
	// ServerFailed is set where the server did not start, never became ready or crashed.
	// The requests of such a run are not counted: they would count the crash again. A
	// repeat can have several such runs beside one that went well.
	ServerFailed bool
}

// Samples are the values of both sides where no value of one belongs to a value of the
// other. For Welch, MannWhitney and Permutation a value is a run's, for Prediction a session's (the
// geometric mean over its repeats, or the arithmetic one off the log scale).
type Samples struct {
	Base, Head []float64
}

// Comparison is one metric of one cell, head against base.
type Comparison struct {
	// ID is unique in the family. It names the decision and is not interpreted.
	ID string
	// Gate that the comparison is of. Comparisons of one gate share its Alpha.
	Gate   string
	Metric metric.Metric
	Claim
	Rule
	// Test that is carried out; nil means the standard one of Rule.TestName.
	Test *Test
	// CanFail is false where a regression does not fail the file. Such a comparison is
	// judged at its own level without correction and is not part of the family.
	CanFail bool
	// Pairs measured, in any order, and the number planned (0: not known).
	Pairs   []Pair
	Planned int
	// Step is that of the last digit that the values were printed with, in their unit. 0 leaves it to their
	// decimal digits.
	Step float64
	// Clusters are the error of the mean difference over parts of the work, zero where pairs
	// have nothing in common.
	Clusters Clusters
	// Relative gives Pairs and Clusters for a metric whose values are against those of other
	// repeats: these are then what it has for all repeats.
	Relative Relative
	// Known is what earlier measurements say of the spread of the differences; nil where only
	// these pairs do. The test of the comparison must be PairedTTest.
	Known *Known
	// Blocks name, by repeat, the conditions that the pair was measured under and others were
	// not, such as its node; nil where all are alike. Both values of a pair are of one block.
	Blocks map[int]string
	// Between is the standard deviation, from block to block, of what a change does, on the scale of
	// the test: it makes the decision one about all such blocks. 0 makes it one about the mean over
	// those that were there.
	Between float64
	// Voided is what was measured at first in repeats whose pair was measured again because
	// the head's run was void for a cause that can depend on the side, where that befell the
	// head more often than the base. A pass must hold with these in place of what replaced
	// them, or slow runs could be measured until they are fast. A Head that is NaN was not
	// measured, and no pass holds with it.
	Voided []Pair
	// Unpaired values in place of Pairs, for tests that pair nothing, in the order of
	// measurement. Welch, MannWhitney and Permutation without it take the two sides of Pairs
	// apart.
	Unpaired *Samples
	// Missing or Invalid, if not empty, is the reason why there is nothing to decide.
	Missing, Invalid string
	// InvalidFrom is the repeat from which on Invalid holds: looks of a [Sequence] at
	// earlier repeats only are not touched by it. 0 means all.
	InvalidFrom int
	// Descriptive, if not empty, is the reason why the comparison is described but
	// never decided (one launch for all repeats, a baseline from a file). Its verdict is
	// at most inconclusive and it is not part of the family.
	Descriptive string
}

// Success compares how often the two sides fail in one cell. Every gate has one for each
// cell, whether or not the file names it.
type Success struct {
	// ID is unique in the family, comparisons included.
	ID, Gate string
	// Runs of both sides, in any order. Runs of the same repeat are paired, unless Unpaired:
	// then the repeats of one side have nothing to do with those of the other.
	Base, Head []Run
	Unpaired   bool
	// Sides name what the runs are launches of, "" for those of the gate. Comparisons with
	// the same Sides are other cells of the same launches, and their servers are compared
	// together (see Launches).
	Sides string
	// Alpha and CanFail as in Comparison.
	Alpha   float64
	CanFail bool
	// Metrics are the IDs of the comparisons of the same cell. If the success rates
	// regress they can be neither pass nor improvement.
	Metrics []string
}

// Family is everything that is decided together: all comparisons of all gates of a file.
type Family struct {
	// Alpha is the chance that any comparison is called a regression when none is
	// worse (d ≤ 0 for all), one-sided. The same for improvements.
	Alpha float64
	// PassAlpha is the one-sided level of the interval, and so of pass; 0 means Alpha.
	// A repeated attempt whose predecessors are not counted uses [AttemptAlpha].
	PassAlpha float64
	// Moderate the variance of a paired t-test across the comparisons of the same
	// metric, where there are at least 8 of them (see Moderation).
	Moderate bool
	// Seed of the random sign flips that stand for all of them from 17 pairs on.
	Seed        uint64
	Comparisons []Comparison
	Success     []Success
}

// passAlpha is the one-sided level of the interval.
func (f Family) passAlpha() float64 {
	if f.PassAlpha > 0 {
		return f.PassAlpha
	}
	return f.Alpha
}
