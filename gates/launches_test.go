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

// TestLevelsOfLaunches: launches have their share of the level of their group.
func TestLevelsOfLaunches(t *testing.T) {
	f := gates.Family{Success: []gates.Success{{ID: "own", Gate: "gate.own", Alpha: 0.02, CanFail: true},
		{ID: "common", Gate: "gate.g", CanFail: true}, {ID: "warned", Gate: "gate.warned"}, {ID: "also warned", Gate: "gate.also"}}}
	pairs := ratios(1, 1.01, 0.99, 1.02)
	f.Comparisons = []gates.Comparison{comparison(t, "ttft.p99", pairs), comparison(t, "ttft.p50", pairs)}
	f.Comparisons[1].CanFail, f.Comparisons[1].Alpha, f.Comparisons[1].Gate = false, 0.01, "gate.alone"
	for i := range f.Success {
		f.Success[i].Base, f.Success[i].Head = side(0, 0), side(0, 0)
	}
	j := judge(t, f)
	for i, want := range []float64{0.2 * 0.02, 0.2 * 0.03, 0.2 * 0.05, 0.2 * 0.05} {
		if got := j.Success[i].Requests.Launches.Level; math.Abs(got-want) > 1e-15 {
			t.Errorf("%s: launches at %g, want %g", j.Success[i].ID, got, want)
		}
	}
	// The rest is for the values and requests of the group.
	o := j.Comparisons[0].Outcome
	found := math.Expm1(gates.DetectableChange(3, o.SE*math.Sqrt(3), 0.8*0.03/2, gates.Power))
	if want := min(1, 2*o.P/0.8); math.Abs(o.PHolm-want) > 1e-15 || math.Abs(o.Interval.MDE-found) > 1e-12 {
		t.Errorf("adjusted %g, want %g; %g is found, want %g", o.PHolm, want, o.Interval.MDE, found)
	}
	if d := j.Comparisons[1]; d.Level != 0.01 {
		t.Errorf("a gate that only warns has the level %g of its own 0.01", d.Level)
	}
}

// TestACellWithoutACrash: a cell whose own servers failed on the other side alone has no verdict of the launches of all cells.
func TestACellWithoutACrash(t *testing.T) {
	dead, once, fine := side(-1, -1, -1, -1, -1, -1, -1, -1), side(-1, 0, 0, 0, 0, 0, 0, 0), side(0, 0, 0, 0, 0, 0, 0, 0)
	for name, sides := range map[string][2][]gates.Run{"head": {once, dead}, "base": {dead, once}} {
		f := gates.Family{Success: []gates.Success{
			{ID: "a", Gate: "gate.g", Sides: "base and head", Base: sides[0], Head: sides[1], CanFail: true},
			{ID: "b", Gate: "gate.g", Sides: "base and head", Base: fine, Head: fine, CanFail: true},
		}}
		if name == "head" {
			f.Success[1].Base = once
		} else {
			f.Success[1].Head = once
		}
		d := judge(t, f).Success[1]
		if l := d.Requests.Launches; d.Verdict != gates.Inconclusive || min(l.P, l.PBetter) > l.Level {
			t.Errorf("the %s fails in another cell: %s: %s", name, d.Verdict, d.Reason)
		}
	}
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
	// One of them in the cell of a comparison takes its pass.
	f.Success[0].Head, f.Success[1].Head, f.Success[1].Metrics = side(-1, 0, -1, -1), side(0, -1, 0, 0), []string{"ttft.p99"}
	f.Comparisons = []gates.Comparison{comparison(t, "ttft.p99", ratios(1, 1.01, 0.99, 1, 1))}
	f.Comparisons[0].Gate, f.Comparisons[0].CanFail = "gate.other", false
	if j = judge(t, f); j.Success[1].Verdict != gates.Regression || j.Comparisons[0].Verdict != gates.Inconclusive {
		t.Errorf("%s with a success rate of %s (%s)", j.Comparisons[0].Verdict, j.Success[1].Verdict, j.Success[1].Reason)
	}
	f.Comparisons, f.Success[1].Metrics = nil, nil
	f.Success[0].Head, f.Success[1].Head = side(-1, 0, -1, 0), side(0, -1, 0, -1)
	j = judge(t, f)
	for i, want := range []gates.Verdict{gates.Regression, gates.Regression, gates.Pass} {
		d := j.Success[i]
		if l := d.Requests.Launches; d.Verdict != want || l.Head != 4 || l.Base != 0 || l.Repeats != 4 || math.Abs(l.Level-0.01) > 1e-12 {
			t.Errorf("%s: %s (%s), %+v; want %s", d.ID, d.Verdict, d.Reason, l, want)
		}
	}
}
