package judge

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// lanePlan is a plan of lanes whose check measures one cell, each of them alone in its turn.
func lanePlan(lanes int) *plan.Plan {
	launches := []plan.Launch{{Target: "t", Runs: []plan.Run{{Benchmark: "b", Cell: "c"}}}}
	p := &plan.Plan{
		Alpha: 0.05, Lanes: &plan.Lanes{List: make([]steps.LaneSpec, lanes), Passes: 8, LeastPasses: 4},
		Benchmarks: []plan.Benchmark{{Addr: "b", Cells: []plan.Cell{{Hash: "c"}}}},
		Gates:      []plan.Gate{{Addr: "g", Benchmark: "b", Metrics: []string{"tpot.p50"}, Margin: 0.05, Comparisons: []plan.Comparison{{Base: "c", Head: "h"}}}},
	}
	for lane := range lanes {
		p.Repeats = append(p.Repeats, plan.Repeat{Index: lane + 1, Lane: lane, Launches: launches})
	}
	return p
}

// checked plays the check of lanes that slow each other by a share, which spreads by another between them, in
// passes that spread, too.
func checked(t *testing.T, lanes int, slower, between, spread float64, seed uint64) *result.Lanes {
	t.Helper()
	p, rng := lanePlan(lanes), rand.New(rand.NewPCG(seed, 1))
	slowed, mean := make([]float64, lanes), 0.0
	for lane := range slowed {
		slowed[lane] = between * rng.NormFloat64()
		mean += slowed[lane] / float64(lanes)
	}
	var runs []LaneRun
	for pass := 1; ; pass++ {
		for _, alone := range []bool{true, false} {
			for lane := range lanes {
				value := 0.01 * math.Exp(spread/math.Sqrt2*rng.NormFloat64())
				if !alone {
					value *= 1 + slower + slowed[lane] - mean // the mean over the lanes is what pairs have
				}
				if lane == (pass-1)%lanes || !alone {
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
		lanes                   int
		slower, between, spread float64
		least, most             int // files in which they are used
	}{
		{2, 0, 0, 0.01, files * 97 / 100, files},
		{4, 0, 0.005, 0.01, files * 97 / 100, files}, // as many as there are passes at the first look
		{2, 0.025, 0, 0.01, 0, files * 7 / 100},      // 5 % are 20, and more than 28 come by chance in 1 of 30 tests
		{4, 0.025, 0.01, 0.01, 0, files * 7 / 100},
		{2, 0.06, 0, 0.01, 0, 0},
	} {
		used := 0
		for seed := range uint64(files) {
			if got := checked(t, tt.lanes, tt.slower, tt.between, tt.spread, seed); got.Shown {
				used++
			}
		}
		t.Logf("%d lanes slower by %.1f ± %.1f %%, passes spread by %.0f %%: used in %d of %d", tt.lanes, 100*tt.slower, 100*tt.between, 100*tt.spread, used, files)
		if used < tt.least || used > tt.most {
			t.Errorf("%d lanes slower by %g are used in %d of %d files", tt.lanes, tt.slower, used, files)
		}
	}
}

// A cell whose runs beside the others are all void is not shown to be left alone, however the others are; one that has
// no such metric hinders nothing.
func TestLanesAreNotShownByCellsThatDoNotCount(t *testing.T) {
	for _, tt := range []struct {
		name  string
		run   result.Run // of a second cell beside the others
		shown bool
	}{
		{"void", result.Run{Status: result.RunVoid, Reason: "the client was slow"}, false},
		{"counts", result.Run{Status: result.RunOK, Metrics: map[string]float64{"tpot.p50": 0.01}}, true},
		{"no such metric", result.Run{Status: result.RunOK, Metrics: map[string]float64{"e2el.p50": 1}}, true},
	} {
		p := lanePlan(2)
		p.Benchmarks[0].Cells = append(p.Benchmarks[0].Cells, plan.Cell{Hash: "d"})
		p.Gates[0].Comparisons = append(p.Gates[0].Comparisons, plan.Comparison{Base: "d", Head: "e"})
		for i := range p.Repeats {
			p.Repeats[i].Launches = []plan.Launch{{Target: "t", Runs: []plan.Run{{Benchmark: "b", Cell: "c"}, {Benchmark: "b", Cell: "d"}}}}
		}
		ok := result.Run{Status: result.RunOK, Metrics: map[string]float64{"tpot.p50": 0.01}}
		var runs []LaneRun
		var got *result.Lanes
		pass := 1
		for over := false; !over; pass++ {
			alone := ok
			if tt.name == "no such metric" {
				alone = tt.run
			}
			runs = append(runs,
				LaneRun{Pass: pass, Alone: true, Cell: "c", Run: ok}, LaneRun{Pass: pass, Cell: "c", Run: ok},
				LaneRun{Pass: pass, Alone: true, Cell: "d", Run: alone}, LaneRun{Pass: pass, Cell: "d", Run: tt.run})
			var err error
			if got, over, err = Lanes(p, runs); err != nil {
				t.Fatal(err)
			}
		}
		if last := got.Slowed[len(got.Slowed)-1]; !tt.shown && !strings.HasSuffix(last.Reason, "both alone and beside the others: the client was slow") {
			t.Errorf("%s: %s", tt.name, last.Reason)
		}
		if got.Shown != tt.shown || got.Passes != map[bool]int{true: 4, false: 8}[tt.shown] {
			t.Errorf("%s: shown is %v after %d passes: %+v", tt.name, got.Shown, got.Passes, got.Slowed)
		}
	}
}
