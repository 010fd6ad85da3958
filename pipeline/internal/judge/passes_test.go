package judge_test

import (
	"math"
	"slices"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// passing is a run of one pass with a value.
func passing(repeat, pass int, ttft float64) result.Run {
	r := run(repeat, ttft)
	r.Pass, r.Launch = pass, "launch"
	r.Audit["work_hash"] = [2]int{repeat, pass}
	return r
}

// The launch is what a comparison has many of: passes are averaged, not counted.
func TestPassesMakeOnePair(t *testing.T) {
	base := []result.Run{passing(1, 1, 0.1), passing(1, 2, 0.4), passing(2, 1, 0.1), passing(2, 2, 0.1)}
	head := []result.Run{passing(1, 1, 0.2), passing(1, 2, 0.8), passing(2, 1, 0.3), passing(2, 2, 0.3)}
	head[3].Status = result.RunVoid
	s := newSession()
	s.doc.Benchmarks[0].Cells[0].Runs, s.doc.Benchmarks[0].Cells[1].Runs = base, head
	s.plan.Benchmarks[0].RepeatMax, s.plan.Benchmarks[0].Passes = 2, 2
	if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
		t.Fatal(err)
	}
	got := s.doc.Gates[0].Decisions[0].Pairs
	want := []result.Pair{{Repeat: 1, Base: 0.2, Head: 0.4}, {Repeat: 2, Base: 0.1, Head: 0.3}}
	if !slices.EqualFunc(got, want, func(a, b result.Pair) bool {
		return a.Repeat == b.Repeat && math.Abs(a.Base-b.Base)+math.Abs(a.Head-b.Head) < 1e-12
	}) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// More passes of the same launches do not make a comparison surer than its launches are.
func TestPassesAreNoRepeats(t *testing.T) {
	var n [3]int
	var change [3]float64
	for i, passes := range []int{1, 2, 5} {
		s := newSession()
		for cell := range 2 {
			s.doc.Benchmarks[0].Cells[cell].Runs = nil
			for repeat := 1; repeat <= repeats; repeat++ {
				for pass := 1; pass <= passes; pass++ {
					s.add(cell, passing(repeat, pass, 0.1*(1+0.1*float64(cell)*float64(repeat))))
				}
			}
		}
		s.plan.Benchmarks[0].Passes = passes
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		d := s.doc.Gates[0].Decisions[0]
		n[i], change[i] = d.N, *d.P
		if len(d.Pairs) != repeats {
			t.Errorf("%d passes: %d pairs", passes, len(d.Pairs))
		}
	}
	if n != [3]int{repeats, repeats, repeats} || math.Abs(change[0]-change[2]) > 1e-12 || math.Abs(change[0]-change[1]) > 1e-12 {
		t.Errorf("%v pairs, p %v: want the same whatever the passes", n, change)
	}
}

// What a pass sent is compared with the same pass of the other side.
func TestPassesDoTheSameWork(t *testing.T) {
	s := newSession()
	for cell := range 2 {
		s.doc.Benchmarks[0].Cells[cell].Runs = nil
		for repeat := 1; repeat <= repeats; repeat++ {
			s.add(cell, passing(repeat, 1, 0.1))
			s.add(cell, passing(repeat, 2, 0.1))
		}
	}
	s.plan.Benchmarks[0].Passes = 2
	for _, want := range []result.Verdict{result.Pass, result.Invalid} {
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		if d := s.doc.Gates[0].Decisions[0]; d.Verdict != want {
			t.Errorf("%s (%s), want %s", d.Verdict, d.Reason, want)
		}
		s.doc.Benchmarks[0].Cells[1].Runs[3].Audit["work_hash"] = "another" // in a second pass
	}
}
