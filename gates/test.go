package gates

import "slices"

// Test is a significance test of a comparison: everything that plans, judgements, files and
// documentation need to know of it. A new test is one such value; [StandardTests] lists the
// built-in ones.
//
// A plan names its test before there are data; the data never choose.
type Test struct {
	// Name of the test in files and documents.
	Name string
	// Doc describes in a few words what the test is and when to use it.
	Doc string
	// Design is the kind of data that the test compares.
	Design Design
	// LeastRepeats is the least number of repeats that a plan with the test needs; 0 if only LeastP
	// limits it.
	LeastRepeats int
	// LeastP returns the smallest one-sided p value that n ≥ 1 repeats can have. Nil means a t
	// statistic, which has no bound from 2 repeats on.
	LeastP func(n int) float64
	// Run runs the test. It returns an error that wraps [ErrTooFew] if the sample is too small.
	Run func(x Sample, set Settings) (Statistic, error)

	// joint fills in the adjusted p values of all comparisons of a group that use the test
	// together. Nil means Holm's procedure.
	joint func(block []*entry, seed uint64)
	// moderates is set if the variance may be moderated with that of other cells.
	moderates bool
}

// Design is the kind of data that a test compares.
type Design int

// The designs of tests.
const (
	// Paired tests use the differences of the pairs.
	Paired Design = iota
	// Unpaired tests compare the runs of one side with those of the other, whatever their repeats.
	Unpaired
	// Sessions tests compare the values of sessions with those of a history. Repeats within a
	// session add nothing, so the test runs once, when the session ends.
	Sessions
)

// String returns the test's name.
func (t *Test) String() string { return t.Name }

// Joint reports whether the comparisons of a group that use the test are corrected among
// themselves, so that their number costs no power.
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

// Tests is a table of tests, in the order of the documentation. A nil table means [StandardTests].
type Tests []*Test

// StandardTests returns the built-in tests.
func StandardTests() Tests {
	return Tests{PairedTTest, SignFlip, MaxT, Welch, MannWhitney, Permutation, Prediction}
}

// Named returns the test with a name, PairedTTest for "". For an unknown name it returns a test
// that [Judge] refuses.
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

// OfRuns returns the tests of values of runs, which a gate may name. The test of sessions follows
// from the baseline.
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
