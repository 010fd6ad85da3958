package judge

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// lanePlan is a plan of two lanes whose check measures one cell.
func lanePlan() *plan.Plan {
	launches := []plan.Launch{{Target: "t", Runs: []plan.Run{{Benchmark: "b", Cell: "c"}}}}
	return &plan.Plan{
		Alpha: 0.05, Lanes: &plan.Lanes{List: make([]steps.LaneSpec, 2), Passes: 8},
		Benchmarks: []plan.Benchmark{{Addr: "b", Cells: []plan.Cell{{Hash: "c"}}}},
		Gates:      []plan.Gate{{Addr: "g", Benchmark: "b", Metrics: []string{"tpot.p50"}, Margin: 0.05, Comparisons: []plan.Comparison{{Base: "c", Head: "h"}}}},
		Repeats:    []plan.Repeat{{Index: 1, Launches: launches}, {Index: 2, Lane: 1, Launches: launches}},
	}
}

// checked plays the check of two lanes that slow each other by a share, in passes that spread by
// another.
func checked(t *testing.T, slower, spread float64, seed uint64) *result.Lanes {
	t.Helper()
	p, rng := lanePlan(), rand.New(rand.NewPCG(seed, 1))
	var runs []LaneRun
	for pass := 1; ; pass++ {
		for _, alone := range []bool{true, false} {
			for lane := range 2 {
				value := 0.01 * math.Exp(spread/math.Sqrt2*rng.NormFloat64())
				if !alone {
					value *= 1 + slower
				}
				if lane == (pass-1)%2 || !alone {
					runs = append(runs, LaneRun{Lane: lane, Pass: pass, Alone: alone, Cell: "c", Run: result.Run{Status: result.RunOK, Metrics: map[string]float64{"tpot.p50": value}}})
				}
			}
		}
		got, over, err := Lanes(p, runs)
		if err != nil {
			t.Fatal(err)
		}
		if over {
			return got
		}
	}
}

// Lanes that slow each other by the limit are used in no more than alpha of the runs, and those that do
// not in nearly all.
func TestLanesThatSlowEachOtherAreRefused(t *testing.T) {
	const files = 400
	for _, tt := range []struct {
		slower, spread float64
		least, most    int // files in which they are used
	}{
		{0, 0.01, files * 97 / 100, files},
		{0.025, 0.01, 0, files * 7 / 100}, // 5 % are 20, and more than 28 come by chance in 1 of 30 tests
		{0.06, 0.01, 0, 0},
	} {
		used := 0
		for seed := range uint64(files) {
			if got := checked(t, tt.slower, tt.spread, seed); got.Shown {
				used++
			}
		}
		t.Logf("slower by %.1f %%, passes spread by %.0f %%: used in %d of %d", 100*tt.slower, 100*tt.spread, used, files)
		if used < tt.least || used > tt.most {
			t.Errorf("lanes slower by %g are used in %d of %d files", tt.slower, used, files)
		}
	}
}
