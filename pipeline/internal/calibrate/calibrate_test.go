package calibrate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/calibrate"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// pipeline is a plan of one gate on two sides with one cell each.
func pipeline(repeats int, looks ...int) *plan.Plan {
	cell := func(side string) plan.Cell {
		return plan.Cell{Hash: side, WorkKey: "w", Target: "server.vllm." + side, Values: []result.AxisValue{{Name: "side", Value: side}}}
	}
	p := &plan.Plan{
		File: "f", Alpha: 0.05, Looks: looks,
		Targets: []plan.Target{{Addr: "server.vllm.base"}, {Addr: "server.vllm.head"}},
		Benchmarks: []plan.Benchmark{{Addr: "benchmark.b", RepeatMin: repeats, RepeatMax: repeats, Seed: 3,
			Cells: []plan.Cell{cell("base"), cell("head")}}},
		Gates: []plan.Gate{{
			Addr: "gate.g", Benchmark: "benchmark.b", BaselineKind: "paired", Metrics: []string{"ttft.mean"},
			Terms:       gates.Terms{Claim: gates.Claim{Margin: 0.05}, Rule: gates.Rule{TestName: "paired_t"}},
			Actions:     result.Actions{OnRegression: "fail"},
			Comparisons: []plan.Comparison{{Head: "head", Base: "base"}},
		}},
	}
	p.Reschedule()
	return p
}

func TestPlanSetsTheBaseAgainstItself(t *testing.T) {
	p := pipeline(5)
	aa, err := calibrate.Plan(p, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(aa.Repeats) != 6 || len(aa.Gates) != 0 || len(aa.Targets) != 1 || aa.Fingerprint == p.Fingerprint || aa.Fingerprint == "" {
		t.Fatalf("%d repeats, %d gates, targets %+v", len(aa.Repeats), len(aa.Gates), aa.Targets)
	}
	ids := map[string]bool{}
	for k := 0; k < 6; k += 2 {
		first, second := aa.Repeats[k].Launches[0], aa.Repeats[k+1].Launches[0]
		if first.Target != "server.vllm.base" || first.Runs[0].Cell != "base" || !slices.Equal(first.Runs, second.Runs) {
			t.Errorf("pair %d: %+v and %+v", k/2+1, first, second)
		}
		if k > 0 && first.Runs[0].Seed == aa.Repeats[k-2].Launches[0].Runs[0].Seed {
			t.Errorf("pair %d has the content of the one before", k/2+1)
		}
		ids[first.ID], ids[second.ID] = true, true
	}
	if len(ids) != 6 {
		t.Errorf("launches are named %v: noise and logs need a name for each", ids)
	}
	two, err := calibrate.Plan(p, 3, func(own int) int { return own + 1 })
	if err != nil || len(two.Repeats[0].Launches[0].Runs) != 2 || two.Fingerprint == aa.Fingerprint {
		t.Errorf("two passes: %+v, %v", two, err)
	}
	p.Cluster = &plan.Cluster{Nodes: 4, Lanes: 2, LaneNodes: 2}
	alone, err := calibrate.Plan(p, 3, nil)
	if err != nil || slices.ContainsFunc(alone.Repeats, func(r plan.Repeat) bool { return r.Lane != 0 }) || p.Cluster.Lanes != 2 {
		t.Errorf("launches of a pair are on different nodes: %+v, %v", alone.Repeats, err)
	}
	p.Cluster, p.Machines = nil, &plan.Machines{Count: 2, Width: 1}
	alone, err = calibrate.Plan(p, 3, nil)
	if err != nil || slices.ContainsFunc(alone.Repeats, func(r plan.Repeat) bool { return r.Lane != 0 }) || p.Machines == nil {
		t.Errorf("launches of a pair are on different machines: %+v, %v", alone.Repeats, err)
	}
	p.Gates = nil
	if _, err := calibrate.Plan(p, 3, nil); err == nil {
		t.Error("a file without a paired gate has no base")
	}
}

// Each benchmark has passes of its own.
func TestPassesOfEachBenchmark(t *testing.T) {
	p := pipeline(5)
	more := p.Benchmarks[0]
	more.Addr, more.Passes, more.Cells = "benchmark.more", 4, slices.Clone(more.Cells)
	for i := range more.Cells {
		more.Cells[i].Hash, more.Cells[i].WorkKey = "more-"+more.Cells[i].Hash, "more"
	}
	p.Benchmarks = append(p.Benchmarks, more)
	g := p.Gates[0]
	g.Addr, g.Benchmark, g.Comparisons = "gate.more", more.Addr, []plan.Comparison{{Head: "more-head", Base: "more-base"}}
	p.Gates = append(p.Gates, g)
	for name, tt := range map[string]struct {
		passes func(int) int
		few    int
		many   int
	}{
		"the file's": {nil, 1, 4},
		"at least 2": {func(own int) int { return max(own, 2) }, 2, 4},
		"3":          {func(int) int { return 3 }, 3, 3},
	} {
		aa, err := calibrate.Plan(p, 2, tt.passes)
		if err != nil {
			t.Fatal(err)
		}
		runs := map[string]int{}
		for _, run := range aa.Repeats[0].Launches[0].Runs {
			runs[run.Cell]++
		}
		if runs["base"] != tt.few || runs["more-base"] != tt.many || len(runs) != 2 {
			t.Errorf("%s: a launch has %v runs, want %d and %d", name, runs, tt.few, tt.many)
		}
	}
}

// measured is a document of n pairs whose launches vary by sd.
func measured(n int, sd float64, seed uint64) *result.Document {
	rng := rand.New(rand.NewPCG(seed, 1))
	cell := result.Cell{Hash: "base", Values: []result.AxisValue{{Name: "side", Value: "base"}}}
	for k := range n {
		content := 0.1 * rng.NormFloat64() // shared by both launches of a pair, so no noise
		for side := range 2 {
			value := 0.2 * math.Exp(content+sd*rng.NormFloat64())
			cell.Runs = append(cell.Runs, result.Run{Repeat: 2*k + side + 1, Status: result.RunOK, Sent: 400,
				Metrics: map[string]float64{"ttft.mean": value, "ttft.std": 0.2 * value}})
		}
	}
	return &result.Document{Benchmarks: []result.Benchmark{{Addr: "benchmark.b", Cells: []result.Cell{cell}}}}
}

func TestNoiseIsFound(t *testing.T) {
	r, err := calibrate.Analyse(pipeline(5, 5), measured(200, 0.02, 1))
	if err != nil {
		t.Fatal(err)
	}
	n := r.Noise[0]
	if n.Metric != "ttft.mean" || n.Pairs != 200 || math.Abs(n.PairSD/0.02/math.Sqrt2-1) > 0.1 || math.Abs(n.Launch/0.02-1) > 0.1 {
		t.Errorf("noise %+v, want a launch SD of 0.02 and √2 of it between pairs", n)
	}
	if want := 0.2 / math.Sqrt(400); math.Abs(n.Request-want) > 1e-9 {
		t.Errorf("requests cause at most %g, want %g", n.Request, want)
	}
	if r.Files != 40 || r.PerFile != 5 || r.Alarms > 6 { // 5 % each way of 40, and more than 6 with a chance below 2 %
		t.Errorf("%d false alarms in %d sessions of %d", r.Alarms, r.Files, r.PerFile)
	}
	g := r.Gates[0]
	if g.Repeats < 4 || g.Repeats > 8 || g.Detectable < 0.03 || g.Detectable > 0.07 || g.FewRequests {
		t.Errorf("advice %+v", g)
	}
}

func TestAnalyseNeedsPairs(t *testing.T) {
	doc := measured(2, 0.02, 1)
	doc.Benchmarks[0].Cells[0].Runs[0].Status = result.RunVoid
	if _, err := calibrate.Analyse(pipeline(5, 5), doc); err == nil {
		t.Error("one pair says nothing about noise")
	}
}

// Looks of the file are looks of its false alarms.
func TestFalseAlarmsAtLooks(t *testing.T) {
	alarms, files := 0, 0
	for seed := range 20 {
		r, err := calibrate.Analyse(pipeline(12, 4, 6, 8, 10, 12), measured(120, 0.04, uint64(seed)))
		if err != nil {
			t.Fatal(err)
		}
		alarms, files = alarms+r.Alarms, files+r.Files
	}
	if rate := float64(alarms) / float64(files); files != 200 || rate > 0.15 {
		t.Errorf("%d alarms in %d sessions, both directions at 5 %%", alarms, files)
	}
}

// What varies between launches is separated from what varies between the passes of a launch.
func TestNoiseOfLaunchesAndPasses(t *testing.T) {
	const pairs, launch, run = 400, 0.03, 0.02
	for _, passes := range []int{2, 5} {
		rng := rand.New(rand.NewPCG(9, uint64(passes)))
		cell := result.Cell{Hash: "base"}
		for k := range 2 * pairs {
			level := launch * rng.NormFloat64()
			for pass := range passes {
				content := 0.1 * math.Sin(float64(1+k/2*passes+pass)) // shared by both launches of a pair
				cell.Runs = append(cell.Runs, result.Run{
					Repeat: k + 1, Pass: pass + 1, Launch: fmt.Sprint(k), Status: result.RunOK, Sent: 400, Duration: 10,
					Metrics: map[string]float64{"ttft.mean": 0.2 * math.Exp(content+level+run*rng.NormFloat64())},
				})
			}
		}
		doc := &result.Document{
			Benchmarks: []result.Benchmark{{Addr: "benchmark.b", Cells: []result.Cell{cell}}},
			Launches:   []result.Launch{{Startup: 300}, {Startup: 400}},
		}
		r, err := calibrate.Analyse(pipeline(5, 5), doc)
		if err != nil {
			t.Fatal(err)
		}
		n := r.Noise[0]
		if !n.Split || math.Abs(n.Launch/launch-1) > 0.1 || math.Abs(n.Pass/run-1) > 0.1 || n.Pairs != pairs {
			t.Errorf("%d passes: noise %+v, want %g and %g", passes, n, launch, run)
		}
		if want := math.Sqrt2 * math.Hypot(launch, run); math.Abs(n.PairSD/want-1) > 0.1 {
			t.Errorf("%d passes: pairs of single runs spread by %g, want %g", passes, n.PairSD, want)
		}
		g := r.Gates[0]
		if math.Abs(g.Between-9.0/13) > 0.1 {
			t.Errorf("%d passes: %g of the variance is between launches, want 9/13", passes, g.Between)
		}
		// A launch costs as much as 35 passes, so that several of them pay.
		if g.Cheapest == nil || g.Cheapest.Passes < 2 || g.Cheapest.Repeats >= g.Repeats {
			t.Errorf("%d passes: %+v is the cheapest, and %d repeats of one pass do", passes, g.Cheapest, g.Repeats)
		}
	}
}

// The passes that a calibration adds are no passes of the file: its false alarms are those
// of its own.
func TestFamilyHasThePassesOfTheFile(t *testing.T) {
	doc := measured(4, 0, 1)
	cell := &doc.Benchmarks[0].Cells[0]
	once := cell.Runs
	cell.Runs = nil
	for _, run := range once {
		for pass, value := range []float64{1, 100} {
			run.Pass, run.Metrics = pass+1, map[string]float64{"ttft.mean": value}
			cell.Runs = append(cell.Runs, run)
		}
	}
	p := pipeline(4)
	for passes, want := range map[int]float64{0: 1, 2: 10} { // geometric mean
		p.Benchmarks[0].Passes = passes
		found, err := calibrate.Planted(p, doc)
		if err != nil {
			t.Fatal(err)
		}
		if d := found.Judgement.Comparisons[0].Difference; d == nil || math.Abs(d.Base-want) > 1e-9 {
			t.Errorf("%d passes: %+v, want base %g", passes, d, want)
		}
	}
}
