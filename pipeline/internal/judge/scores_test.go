package judge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// evaluated is a session with a gate of speed, whose head is faster, and one of an evaluation of
// a thousand questions, of which the base answers 800 and the head loses some.
func evaluated(lost int) session {
	s := newSession()
	s.each(1, func(r *result.Run) { r.Metrics["ttft.p50"] *= 0.9 })
	b, g := s.plan.Benchmarks[0], s.plan.Gates[0]
	b.Addr, b.Cells = "benchmark.e", slices.Clone(b.Cells)
	b.Cells[0].Hash, b.Cells[1].Hash = "ebase", "ehead"
	g.Addr, g.Benchmark, g.Metrics, g.Margin = "gate.e", b.Addr, []string{"evaluation.score"}, 0.02
	g.Comparisons = []plan.Comparison{{Head: "ehead", Base: "ebase", HeadValue: "head", BaseValue: "base"}}
	s.plan.Benchmarks, s.plan.Gates = append(s.plan.Benchmarks, b), append(s.plan.Gates, g)
	bm := result.Benchmark{Addr: b.Addr}
	for side, right := range []int{800, 800 - lost} {
		cell := result.Cell{Hash: b.Cells[side].Hash, Target: b.Cells[side].Target}
		for r := 1; r <= repeats; r++ {
			run := result.Run{Repeat: r, Status: result.RunOK, Sent: 1000, Scores: map[string]float64{},
				Metrics: map[string]float64{"evaluation.score": float64(right) / 1000}}
			for q := range 1000 {
				run.Scores[fmt.Sprint("q", q)] = 0
				if q < right {
					run.Scores[fmt.Sprint("q", q)] = 1
				}
			}
			cell.Runs = append(cell.Runs, run)
		}
		bm.Cells = append(bm.Cells, cell)
	}
	s.doc.Benchmarks = append(s.doc.Benchmarks, bm)
	return s
}

func TestScoresAreComparedByQuestion(t *testing.T) {
	for _, tt := range []struct {
		lost  int
		score result.Verdict
		speed result.Verdict
	}{{0, result.Pass, result.Improvement}, {16, result.Inconclusive, result.Inconclusive}, {50, result.Regression, result.Inconclusive}} {
		s := evaluated(tt.lost)
		s.plan.Gates[0].Expect, s.plan.Gates[0].Margin = gates.ExpectImprovement, 0
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		d, speed := s.doc.Gates[1].Decisions[0], s.doc.Gates[0].Decisions[0]
		if d.Verdict != tt.score || speed.Verdict != tt.speed {
			t.Errorf("%d lost: %s (%s), speed %s (%s)", tt.lost, d.Verdict, d.Reason, speed.Verdict, speed.Reason)
		}
		if *d.Lower >= *d.Change || *d.Upper <= *d.Change {
			t.Errorf("%d lost: the launches are alike, and the questions are not all: %g … %g", tt.lost, *d.Lower, *d.Upper)
		}
		if withheld := slices.Equal(speed.WithheldBy, []string{"gate.e"}); withheld != (tt.score != result.Pass) {
			t.Errorf("%d lost: speed is withheld by %q", tt.lost, speed.WithheldBy)
		}
		if err := judge.Verify(s.doc, nil); err != nil {
			t.Errorf("%d lost: %v", tt.lost, err)
		}
		s.doc.Benchmarks[1].Cells[1].Runs[0].Scores["q0"] = 0.5
		if err := judge.Verify(s.doc, nil); err == nil {
			t.Errorf("%d lost: a score that was changed is not noticed", tt.lost)
		}
	}
}

// inFamilies states a family of each question in all runs.
func inFamilies(s session, of func(question int) string) {
	for i := range s.doc.Benchmarks[1].Cells {
		for r := range s.doc.Benchmarks[1].Cells[i].Runs {
			families := map[string]string{}
			for q := range 1000 {
				families[fmt.Sprint("q", q)] = of(q)
			}
			s.doc.Benchmarks[1].Cells[i].Runs[r].Families = families
		}
	}
}

// Fifty questions that the head loses are a regression where each was drawn by itself, and none where they are one
// passage of twenty.
func TestFamiliesOfQuestionsAreJudged(t *testing.T) {
	for size, want := range map[int]result.Verdict{1: result.Regression, 50: result.Inconclusive} {
		s := evaluated(50)
		inFamilies(s, func(q int) string { return fmt.Sprint(q / size) })
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		if d := s.doc.Gates[1].Decisions[0]; d.Verdict != want || s.doc.Evaluations[0].Families != 1000/size {
			t.Errorf("families of %d: %s (%s), %+v", size, d.Verdict, d.Reason, s.doc.Evaluations[0])
		}
		if err := judge.Verify(s.doc, nil); err != nil {
			t.Errorf("families of %d: %v", size, err)
		}
		s.doc.Evaluations[0].Families++
		if err := judge.Verify(s.doc, nil); err == nil {
			t.Errorf("families of %d: another number of families is not noticed", size)
		}
	}
}

func TestScoresThatCannotBeCompared(t *testing.T) {
	for want, change := range map[string]func(s session){
		"not all runs were asked the same questions": func(s session) {
			scores := s.doc.Benchmarks[1].Cells[1].Runs[2].Scores
			delete(scores, "q7")
			scores["another"] = 1
		},
		"all questions are of one family": func(s session) { inFamilies(s, func(int) string { return "x" }) },
		"the runs state different families": func(s session) {
			inFamilies(s, func(q int) string { return fmt.Sprint(q / 10) })
			s.doc.Benchmarks[1].Cells[1].Runs[1].Families["q0"] = "other"
		},
		"has no family, but others have": func(s session) {
			inFamilies(s, func(q int) string { return fmt.Sprint(q / 10) })
			for i := range s.doc.Benchmarks[1].Cells {
				for _, r := range s.doc.Benchmarks[1].Cells[i].Runs {
					delete(r.Families, "q0")
				}
			}
		},
		"a loss of the margin is not possible": func(s session) {
			for i := range s.doc.Benchmarks[1].Cells {
				for _, r := range s.doc.Benchmarks[1].Cells[i].Runs {
					for q := range r.Scores {
						r.Scores[q] = 0
					}
				}
			}
		},
	} {
		s := evaluated(0)
		change(s)
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		if d := s.doc.Gates[1].Decisions[0]; d.Verdict != result.Invalid || !strings.Contains(d.Reason, want) {
			t.Errorf("%s: %s: %s", want, d.Verdict, d.Reason)
		}
		if speed := s.doc.Gates[0].Decisions[0]; speed.Verdict != result.Pass || len(speed.WithheldBy) != 1 {
			t.Errorf("%s: speed is %s, withheld by %q", want, speed.Verdict, speed.WithheldBy)
		}
	}
}
