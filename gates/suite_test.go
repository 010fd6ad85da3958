package gates_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// cells are comparisons of one metric whose heads differ by shift with deviation sd.
func (s *simulator) cells(number, n int, shift, sd float64) []gates.Comparison {
	cells := s.session(number, n, constant(sd), 0, shift).Comparisons
	for i := range cells {
		cells[i].ID, cells[i].Planned = fmt.Sprint("cell ", i), n
	}
	return cells
}

// withSuite is the family of cells and their suite.
func withSuite(tb testing.TB, cells []gates.Comparison) gates.Family {
	tb.Helper()
	suite, err := gates.Suite("suite/ttft.p99", 0.05, 0.02, cells)
	if err != nil {
		tb.Fatal(err)
	}
	return gates.Family{Alpha: 0.05, Comparisons: append(cells, suite)}
}

func TestASuiteFindsWhatAllCellsShare(t *testing.T) {
	s := newSimulator(41)
	j := judge(t, withSuite(t, s.cells(30, 6, math.Log(1.025), 0.02)))
	suite := j.Comparisons[30]
	if suite.Verdict != gates.Regression || math.Abs(suite.Difference.Change-0.025) > 0.005 {
		t.Errorf("suite: %s, %+.3f: %s", suite.Verdict, suite.Difference.Change, suite.Reason)
	}
	if math.Abs(suite.Level-0.01) > 1e-15 || suite.GroupSize != 1 {
		t.Errorf("level %g of %d", suite.Level, suite.GroupSize)
	}
	for _, d := range j.Comparisons[:30] {
		if d.Verdict == gates.Regression {
			t.Errorf("%s: %s with %+.3f", d.ID, d.Verdict, d.Difference.Change)
		}
		if math.Abs(d.Level-0.04) > 1e-15 || d.GroupSize != 30 {
			t.Errorf("%s: level %g of %d", d.ID, d.Level, d.GroupSize)
		}
	}
}

func TestTheRatioOfASuiteIsTheRatioOfGeometricMeans(t *testing.T) {
	a := comparison(t, "ttft.p99", []gates.Pair{{1, 1, 1.1}, {2, 1, 1.2}, {3, 1, 1.3}})
	b := comparison(t, "ttft.p99", []gates.Pair{{1, 100, 100}, {2, 200, 190}, {4, 100, 500}})
	b.ID = "other cell"
	d := judge(t, withSuite(t, []gates.Comparison{a, b})).Comparisons[2]
	want := math.Sqrt(math.Sqrt(1.1*1.0)*math.Sqrt(1.2*0.95)) - 1
	if d.N != 2 || math.Abs(d.Difference.Change-want) > 1e-12 {
		t.Errorf("%+.6f of %d repeats, want %+.6f of the 2 that both have", d.Difference.Change, d.N, want)
	}
}

func TestASuiteWithoutACellIsNotJudged(t *testing.T) {
	cells := newSimulator(42).cells(3, 4, 0, 0.01)
	cells[1].Missing = "the head has no valid run"
	d := judge(t, withSuite(t, cells)).Comparisons[3]
	if d.Verdict != gates.Missing || d.Reason != "cell 1: the head has no valid run" {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
}

// TestASuiteInheritsFromItsCells: it plans the most repeats, fails if each of them can, and is invalid from the first repeat that one is.
func TestASuiteInheritsFromItsCells(t *testing.T) {
	cells := newSimulator(42).cells(3, 4, 0, 0.01)
	cells[0].Planned, cells[0].Invalid, cells[0].InvalidFrom = 9, "void", 5
	cells[1].CanFail, cells[1].Invalid, cells[1].InvalidFrom, cells[1].Descriptive = false, "other work", 3, "one launch"
	s, err := gates.Suite("suite", 0.05, 0.02, cells)
	if err != nil || s.Planned != 9 || s.CanFail || s.InvalidFrom != 3 || s.Invalid != "cell 1: other work" || s.Descriptive != "one launch" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestSuitesAreRefused(t *testing.T) {
	cells := newSimulator(43).cells(2, 4, 0, 0.01)
	other := comparison(t, "ttft.p50", nil)
	unpaired := cells[1]
	unpaired.Test = gates.Welch
	for name, tt := range map[string]struct {
		cells []gates.Comparison
		want  string
	}{
		"one cell":    {cells[:1], "at least 2"},
		"two metrics": {[]gates.Comparison{cells[0], other}, "a suite for each metric"},
		"unpaired":    {[]gates.Comparison{cells[0], unpaired}, "by repeat"},
	} {
		if _, err := gates.Suite("suite", 0.05, 0.02, tt.cells); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
