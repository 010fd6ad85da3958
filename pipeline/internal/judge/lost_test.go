package judge_test

import (
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// TestLostQuestions: a document lists what the head loses by how much, the most lost first, and another
// list does not follow from its runs.
func TestLostQuestions(t *testing.T) {
	s := evaluated(50)
	head := s.doc.Benchmarks[1].Cells[1].Runs
	for _, r := range head {
		r.Scores["q900"] = 1 // which the base has wrong
	}
	head[0].Scores["q749"] = 0 // in one launch of six
	if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
		t.Fatal(err)
	}
	if len(s.doc.Evaluations) != 1 {
		t.Fatalf("%+v", s.doc.Evaluations)
	}
	e := &s.doc.Evaluations[0]
	if e.Benchmark != "benchmark.e" || e.Questions != 1000 || e.Repeats != repeats || e.Worse != 51 || e.Better != 1 ||
		len(e.Lost) != 20 {
		t.Errorf("%+v", e)
	}
	if q := e.Lost[0]; q != (result.LostQuestion{ID: "q750", BaseScore: 1}) {
		t.Errorf("%+v", q)
	}
	tests := gates.Tests{gates.PairedTTest}
	if err := judge.Verify(s.doc, tests); err != nil {
		t.Error(err)
	}
	e.Lost[3].ID = "q1"
	if err := judge.Verify(s.doc, tests); err == nil {
		t.Error("a question is said to be lost that is not")
	}
}
