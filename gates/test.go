package gates

import "slices"

// Test is a significance test of a comparison: all that plans, judgements, files and
// documentation know of it. A new test is one such value; [StandardTests] lists those that
// come with the program.
//
// A plan names its test before there are data; the data never choose.
type Test struct {
	// Name of the test in files and documents.
	Name string
	// Doc describes in a few words what the test is and when it is the right one.
	Doc string
	// Design is what the test compares.
	Design Design
	// LeastRepeats is the least number of repeats that a plan may have with the test; 0 where
	// LeastP alone is the limit.
	LeastRepeats int
	// LeastP returns the smallest one-sided p value that n ≥ 1 repeats can have. Nil is that
	// of a t statistic, which has no bound from 2 repeats on.
	LeastP func(n int) float64
	// Run carries the test out. It returns an error that wraps [ErrTooFew] if the sample is
	// too small for a test.
	Run func(x Sample, set Settings) (Statistic, error)

	// joint fills in the adjusted p values of all comparisons of a group that have the test,
	// together. Nil means that Holm's procedure does.
	joint func(block []*entry, seed uint64)
	// moderates is set where the variance may be drawn towards that of other cells.
	moderates bool
}

// Design is what a test compares.
type Design int

// The designs of tests.
const (
	// Paired tests take the differences of the pairs.
	Paired Design = iota
	// Unpaired tests set the runs of one side against those of the other, whatever their
	// repeats.
	Unpaired
	// Sessions sets the values of sessions against those of a history. Repeats within a
	// session add nothing, so the test is carried out once, when the session ends.
	Sessions
)

// String returns the test's name.
func (t *Test) String() string { return t.Name }

// Joint reports whether the comparisons of a group that have the test are corrected among
// themselves, so that their number costs each of them nothing.
func (t *Test) Joint() bool { return t.joint != nil }

// leastP is LeastP for any n.
func (t *Test) leastP(n int) float64 {
	switch {
	case n < 1:
		return 1
	case t.LeastP != nil:
		return t.LeastP(n)
	case n < 2:
		return 1
	}
	return 0
}

// Tests is a table of tests, in the order in which they are documented. A nil table stands
// for [StandardTests].
type Tests []*Test

// StandardTests returns the tests that come with the program.
func StandardTests() Tests {
	return Tests{PairedTTest, SignFlip, MaxT, Welch, MannWhitney, Permutation, Prediction}
}

// Named returns the test with a name, PairedTTest for "". Where there is none it returns one
// that can only be named, and that [Judge] refuses.
func (t Tests) Named(name string) *Test {
	if name == "" {
		return PairedTTest
	}
	for _, test := range t.OfRuns() {
		if test.Name == name {
			return test
		}
	}
	return &Test{Name: name}
}

// OfRuns returns the tests of values of runs: those that a gate may name. What compares
// sessions follows from the baseline.
func (t Tests) OfRuns() Tests {
	if t == nil {
		t = StandardTests()
	}
	return t.where(func(t *Test) bool { return t.Design != Sessions })
}

// Paired returns the tests of pairs.
func (t Tests) Paired() Tests {
	return t.OfRuns().where(func(t *Test) bool { return t.Design == Paired })
}

func (t Tests) where(keep func(*Test) bool) Tests {
	return slices.DeleteFunc(slices.Clone(t), func(t *Test) bool { return !keep(t) })
}

// Names lists the names of the tests.
func (t Tests) Names() []string {
	names := make([]string, len(t))
	for i, test := range t {
		names[i] = test.Name
	}
	return names
}
