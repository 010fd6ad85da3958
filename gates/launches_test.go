package gates_test

import (
	"math"
	"testing"

	"github.com/servegate/pipeline/gates"
)

func outcomes(n, failed int) []bool {
	out := make([]bool, n)
	for i := range failed {
		out[i] = true
	}
	return out
}

func TestLaunchTest(t *testing.T) {
	for _, tt := range []struct {
		repeats, base, head int
		least, most         float64
	}{
		{0, 0, 0, 1, 1},
		{4, 0, 0, 1, 1},
		{1, 0, 1, 0.25, 1},
		{3, 0, 3, 0.01, 0.05},
		{4, 0, 4, 0.0039, 0.01}, // enough for LaunchShare of 0.05
		{5, 0, 5, 0.00097, 0.005},
		{6, 0, 5, 0.004, 0.01},
		{12, 0, 7, 0.003, 0.01},
		{12, 1, 12, 0, 0.001},
		{12, 12, 12, 1, 1},
		{4, 4, 0, 1, 1},
	} {
		p := gates.LaunchTest(outcomes(tt.repeats, tt.base), outcomes(tt.repeats, tt.head))
		if p < tt.least || p > tt.most {
			t.Errorf("head failed in %d of %d, base in %d: p = %g, want %g to %g", tt.head, tt.repeats, tt.base, p, tt.least, tt.most)
		}
	}
}

// The chance that equal sides ever reach p ≤ level, at any repeat, is computed exactly by
// the counts of outcomes, for any common rate.
func TestLaunchTestHoldsItsLevelHoweverOftenItIsLookedAt(t *testing.T) {
	const repeats, level = 24, 0.01
	worst := 0.0
	for rate := 0.05; rate < 1; rate += 0.05 {
		if crossed := launchesCross(repeats, level, rate); crossed > worst {
			worst = crossed
		}
	}
	t.Logf("at most %.4f of equal sides are ever called worse", worst)
	if worst > level || worst < level/4 {
		t.Errorf("%.4f of equal sides are ever called worse, at most %g may be", worst, level)
	}
}

// launchesCross is the chance of p ≤ level after any of n repeats at a common rate. p
// depends on how often each of the four outcomes of a repeat was seen, not on their order.
func launchesCross(n int, level, rate float64) float64 {
	type seen struct{ both, head, base int }
	chances := map[seen]float64{{}: 1}
	crossed := 0.0
	for i := range n {
		next := map[seen]float64{}
		for s, c := range chances {
			next[seen{s.both + 1, s.head, s.base}] += c * rate * rate
			next[seen{s.both, s.head + 1, s.base}] += c * rate * (1 - rate)
			next[seen{s.both, s.head, s.base + 1}] += c * rate * (1 - rate)
			next[s] += c * (1 - rate) * (1 - rate)
		}
		for s, c := range next {
			base, head := make([]bool, i+1), make([]bool, i+1)
			for k := range s.both {
				base[k], head[k] = true, true
			}
			for k := range s.head {
				head[s.both+k] = true
			}
			for k := range s.base {
				base[s.both+s.head+k] = true
			}
			if gates.LaunchTest(base, head) <= level {
				crossed += c
				delete(next, s)
			}
		}
		chances = next
	}
	return crossed
}

// Cells of one target are launched together: a server that dies in the one cell and then in
// the other has failed twice.
func TestLaunchesAreComparedOverAllCells(t *testing.T) {
	f := gates.Family{Success: []gates.Success{
		{ID: "a", Gate: "gate.g", Sides: "base and head", Base: side(0, 0, 0, 0), Head: side(-1, 0, -1, 0), CanFail: true},
		{ID: "b", Gate: "gate.g", Sides: "base and head", Base: side(0, 0, 0, 0), Head: side(0, -1, 0, -1), CanFail: true},
		{ID: "c", Gate: "gate.g", Sides: "base and head", Base: side(0, 0, 0, 0), Head: side(0, 0, 0, 0), CanFail: true},
		{ID: "d", Gate: "gate.g", Sides: "base and another", Base: side(0, 0, 0, 0), Head: side(0, 0, 0, 0), CanFail: true},
	}}
	j := judge(t, f)
	if v := j.Success[0].Verdict; v == gates.Regression {
		t.Errorf("two pairs of sides share the level, so four failures are not enough: %s", v)
	}
	f.Success = f.Success[:3]
	j = judge(t, f)
	for i, want := range []gates.Verdict{gates.Regression, gates.Regression, gates.Pass} {
		d := j.Success[i]
		if l := d.Requests.Launches; d.Verdict != want || l.Head != 4 || l.Base != 0 || l.Repeats != 4 || math.Abs(l.Level-0.01) > 1e-12 {
			t.Errorf("%s: %s (%s), %+v; want %s", d.ID, d.Verdict, d.Reason, l, want)
		}
	}
}
