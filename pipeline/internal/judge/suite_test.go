package judge_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// suiteSession is a session of several cells whose heads are all a little slower.
func suiteSession(cells int, slower float64) session {
	s := session{plan: newSession().plan, doc: &result.Document{Status: result.StatusComplete,
		Benchmarks: []result.Benchmark{{Addr: "benchmark.b"}}}}
	g := &s.plan.Gates[0]
	g.Comparisons, g.SuiteMargin = nil, 0.02
	s.plan.Benchmarks[0].Cells = nil
	for i := range cells {
		values := []result.AxisValue{{Name: "rate", Value: fmt.Sprint(i)}}
		c := plan.Comparison{Head: fmt.Sprint("head", i), Base: fmt.Sprint("base", i), HeadValue: "head", BaseValue: "base", Values: values}
		g.Comparisons = append(g.Comparisons, c)
		for k, hash := range []string{c.Base, c.Head} {
			target := s.plan.Targets[k].Addr
			s.plan.Benchmarks[0].Cells = append(s.plan.Benchmarks[0].Cells, plan.Cell{Hash: hash, WorkKey: "w", Target: target})
			s.doc.Benchmarks[0].Cells = append(s.doc.Benchmarks[0].Cells, result.Cell{Hash: hash, Target: target})
			for r := 1; r <= repeats; r++ {
				value := 0.1 * float64(i+1) * (1 + 0.02*math.Sin(float64(7*i+3*r+k)))
				if k == 1 {
					value *= 1 + slower
				}
				s.add(len(s.doc.Benchmarks[0].Cells)-1, run(r, value))
			}
		}
	}
	return s
}

// A change that every cell shares and none shows is found over all of them, on a share of
// alpha of its own, while the cells are tested with the rest.
func TestASuiteIsJudgedBesideItsCells(t *testing.T) {
	s := suiteSession(12, 0.03)
	if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
		t.Fatal(err)
	}
	suites := 0
	for _, d := range s.doc.Gates[0].Decisions {
		switch {
		case d.SuiteCells > 0:
			suites++
			if d.Verdict != result.Regression || d.Label != "TTFT p50 over 12 cells" || d.Cell != "" || len(d.Pairs) != repeats ||
				d.Margin != 0.02 || math.Abs(*d.Change-0.03) > 0.005 {
				t.Errorf("%+v", d)
			}
		case d.Verdict == result.Regression:
			t.Errorf("%s: %s", d.ID, d.Verdict)
		}
	}
	if suites != 1 || s.doc.FamilySize != 12+12+1 || s.doc.Verdict != result.Regression || s.doc.ExitCode != 1 {
		t.Errorf("%d suites in a family of %d: %s, exit %d", suites, s.doc.FamilySize, s.doc.Verdict, s.doc.ExitCode)
	}
}

func TestASuiteNeedsItsCells(t *testing.T) {
	s := suiteSession(3, 0)
	s.each(3, func(r *result.Run) { r.Failed = 100 }) // the head of the second cell
	if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
		t.Fatal(err)
	}
	d := s.doc.Gates[0].Decisions
	if suite := d[len(d)-1]; suite.SuiteCells != 3 || suite.Verdict != result.Inconclusive ||
		!strings.Contains(suite.Reason, "never looks like a speed-up") {
		t.Errorf("%s: %s", suite.Verdict, suite.Reason)
	}
}

// TestVerifyOfASuiteWithoutOneCell: the reason of a suite is the one that its look had, though a void
// run was seen later.
func TestVerifyOfASuiteWithoutOneCell(t *testing.T) {
	s := suiteSession(2, 0.01)
	s.plan.Looks = []int{2, 4}
	for cell := range 2 {
		for i := 2; i < repeats; i++ {
			dead(&s.doc.Benchmarks[0].Cells[cell].Runs[i])
		}
		s.each(2+cell, dead)
		s.each(cell, func(r *result.Run) {
			if r.Metrics != nil { // decided at the first look
				r.Metrics["ttft.p50"] = 0.1*(1-0.1*float64(cell)) + 1e-5*float64(r.Repeat*cell)
			}
		})
	}
	last := &s.doc.Benchmarks[0].Cells[3].Runs[repeats-1]
	last.Status, last.Reason, last.Sent = result.RunVoid, "the client was late", 200
	for i := range s.doc.Benchmarks[0].Cells {
		c := &s.doc.Benchmarks[0].Cells[i]
		c.Summary = judge.GeoMeans(c)
	}
	if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := judge.Verify(s.doc, nil); err != nil {
		t.Error(err)
	}
}
