package judge

import (
	"math"
	"slices"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
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
	ttft, _ := metric.Lookup("ttft.p50")
	base := []result.Run{passing(1, 1, 0.1), passing(1, 2, 0.4), passing(2, 1, 0.1), passing(2, 2, 0.1)}
	head := []result.Run{passing(1, 1, 0.2), passing(1, 2, 0.8), passing(2, 1, 0.3), passing(2, 2, 0.3)}
	head[3].Status = result.RunVoid
	got := pairs(ttft, &result.Cell{Runs: base}, &result.Cell{Runs: head})
	want := []gates.Pair{{Repeat: 1, Base: 0.2, Head: 0.4}, {Repeat: 2, Base: 0.1, Head: 0.3}}
	if !slices.EqualFunc(got, want, func(a, b gates.Pair) bool {
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
		if err := Judge(s.plan, s.doc, Options{}); err != nil {
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
	cells, g := s.doc.Benchmarks[0].Cells, s.plan.Gates[0]
	incomparable := func() exclusion {
		return newCollector(s.plan, s.doc, Options{}).likeness(g, &cells[0], &cells[1]).exclusion
	}
	if got := incomparable(); got != (exclusion{}) {
		t.Errorf("equal work is taken for unequal: %+v", got)
	}
	cells[1].Runs[3].Audit["work_hash"] = "another"
	if got := incomparable(); got.reason == "" {
		t.Error("unequal work of a second pass is not seen")
	}
}

func TestPassesAreOneOutcome(t *testing.T) {
	crashed := func(r result.Run) result.Run { dead(&r); return r }
	again := passing(1, 2, 0.1)
	again.Launch = "launch~2"
	for name, tt := range map[string]struct {
		runs []result.Run
		want []gates.Run
	}{
		"both well": {[]result.Run{passing(1, 1, 0.1), passing(1, 2, 0.1)}, []gates.Run{{Repeat: 1, Sent: 400}}},
		"a launch that failed": {[]result.Run{crashed(passing(1, 1, 0)), crashed(passing(1, 2, 0))},
			[]gates.Run{{Repeat: 1, ServerFailed: true}}},
		"a crash and another go": {[]result.Run{crashed(passing(1, 1, 0)), again}, []gates.Run{{Repeat: 1, ServerFailed: true},
			{Repeat: 1, Sent: 200}}},
		"two repeats": {[]result.Run{passing(1, 1, 0.1), passing(2, 1, 0.1)}, []gates.Run{{Repeat: 1, Sent: 200},
			{Repeat: 2, Sent: 200}}},
		"without passes": {[]result.Run{crashed(run(1, 0)), crashed(run(1, 0))}, []gates.Run{{Repeat: 1, ServerFailed: true},
			{Repeat: 1, ServerFailed: true}}},
	} {
		if got := outcomes(tt.runs); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
