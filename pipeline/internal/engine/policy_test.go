package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
	"pgregory.net/rapid"
)

// planOf returns a plan of sides, the first of which is the base, with a cell for each rate.
func planOf(t *testing.T, sides []string, rates []float64, repeats int) *plan.Plan {
	t.Helper()
	cfg := &config.Config{Settings: config.Settings{Alpha: 0.05}}
	bm := &config.Benchmark{
		Addr: "benchmark.serve", RepeatMin: repeats, RepeatMax: repeats, Timeout: 10 * time.Minute,
		Axes: []config.Axis{{Name: "side", Values: sides}, {Name: "rate"}},
	}
	m, _ := metric.Lookup("ttft.p50")
	gate := &config.Gate{
		Addr: "gate.ttft", Benchmark: bm.Addr, Baseline: "baseline.paired.base", Metrics: []metric.Metric{m},
		Terms:   gates.Terms{Claim: gates.Claim{Margin: 0.05}, Rule: gates.Rule{TestName: "paired_t"}},
		Actions: result.Actions{OnRegression: result.Fail, OnInconclusive: result.Warn, OnMissing: result.Fail, OnInvalid: result.Fail},
	}
	cfg.Baselines = []*config.Baseline{{Addr: gate.Baseline, Kind: "paired", Axis: "side", Value: sides[0]}}
	for _, side := range sides {
		cfg.Servers = append(cfg.Servers, &config.Server{
			Addr: side, Kind: steps.Kind{Name: "fake"},
			Spec: steps.ServerSpec{Addr: side, Engine: "fake", Executable: []string{"fake"}, Model: "m"},
		})
		for _, rate := range rates {
			gate.Cells = append(gate.Cells, len(bm.Cells))
			bm.Cells = append(bm.Cells, config.Cell{
				Values: []result.AxisValue{{Name: "side", Value: side}, {Name: "rate", Value: fmt.Sprint(rate)}},
				Target: side,
				Workload: steps.Workload{
					Endpoint: "completions", Dataset: steps.Dataset{Kind: "random", InputMin: 8, InputMax: 8, OutputMin: 2, OutputMax: 2},
					Load: steps.Load{Arrival: "poisson", Rate: rate, Requests: 4},
				},
			})
		}
	}
	cfg.Benchmarks, cfg.Gates = []*config.Benchmark{bm}, []*config.Gate{gate}
	p, diags := plan.Build(cfg, plan.Options{File: "test.hcl"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return p
}

// carryOut is the engine's loop over replacements, with runs whose status is drawn.
func carryOut(p *plan.Plan, status func() result.RunStatus) (done []Launched, replaced int) {
	measure := func(rep plan.Repeat, replaces int) {
		for _, l := range rep.Launches {
			out := Launched{ID: l.ID, Repeat: rep.Index, Target: l.Target}
			for _, run := range l.Runs {
				out.Runs = append(out.Runs, CellRun{run.Cell, result.Run{Repeat: rep.Index, Replaces: replaces, Status: status()}})
			}
			done = append(done, out)
		}
	}
	for _, rep := range p.Repeats {
		measure(rep, 0)
	}
	for {
		rep, replaces, ok := replacement(p, done)
		if !ok {
			return done, replaced
		}
		replaced++
		measure(rep, replaces)
	}
}

func TestReplacementProperty(t *testing.T) {
	plans := map[int]*plan.Plan{}
	for repeats := 1; repeats <= 5; repeats++ {
		plans[repeats] = planOf(t, []string{"base", "same", "head"}, []float64{2, 4}, repeats)
	}
	rapid.Check(t, func(t *rapid.T) {
		p := plans[rapid.IntRange(1, 5).Draw(t, "repeats")]
		voidShare := rapid.IntRange(0, 100).Draw(t, "void %")
		done, replaced := carryOut(p, func() result.RunStatus {
			if rapid.IntRange(0, 99).Draw(t, "status") < voidShare {
				return result.RunVoid
			}
			return result.RunOK
		})
		groups := ComparedTogether(p)
		open, spent := voids(groups, done)
		most := replaceCap(p, groups)
		if spent > most || replaced > spent {
			t.Fatalf("%d cells were measured again in %d replacements, the cap is %d", spent, replaced, most)
		}
		if len(open) > 0 && spent < most {
			t.Fatalf("void runs are left (%v) though only %d of %d cells were measured again", open, spent, most)
		}
		checkOrientation(t, p, done)
	})
}

// checkOrientation: a replacement has all sides, in the order of what it replaces.
func checkOrientation(t *rapid.T, p *plan.Plan, done []Launched) {
	byRepeat := map[int][]Launched{}
	for _, l := range done {
		byRepeat[l.Repeat] = append(byRepeat[l.Repeat], l)
	}
	for repeat, launches := range byRepeat {
		if repeat <= len(p.Repeats) {
			continue
		}
		replaces := launches[0].Runs[0].Run.Replaces
		planned := byRepeat[replaces]
		if len(launches) != len(planned) {
			t.Fatalf("repeat %d has %d sides, repeat %d has %d", repeat, len(launches), replaces, len(planned))
		}
		for i, l := range launches {
			if l.Target != planned[i].Target || len(l.Runs) != len(launches[0].Runs) {
				t.Fatalf("launch %d of repeat %d is %s with %d runs, that of repeat %d is %s", i, repeat, l.Target, len(l.Runs),
					replaces, planned[i].Target)
			}
		}
	}
}

func TestAttemptNames(t *testing.T) {
	for _, id := range []string{`r1-server.vllm.sut["base"]`, `r2-server.vllm.a`, `r1-server.vllm.x["a~2"]`, "r12-server.openai.a-try2"} {
		for n := 1; n <= attempts; n++ {
			if got := planned(attemptID(id, n)); got != id {
				t.Errorf("attempt %d of %s belongs to %s", n, id, got)
			}
		}
		if attemptID(id, 1) == attemptID(id, 2) {
			t.Errorf("both attempts of %s have one name", id)
		}
	}
}

func TestWorkloadText(t *testing.T) {
	for want, w := range map[string]steps.Workload{
		"poisson 4/s, 200 requests, random 256→16": {
			Load: steps.Load{Arrival: "poisson", Rate: 4, Burstiness: 1, Requests: 200}, Dataset: random(256, 256, 16, 16)},
		"gamma 0.5/s burstiness 0.25, 1m0s, sonnet 128–512→6": {
			Load: steps.Load{Arrival: "gamma", Rate: 0.5, Burstiness: 0.25, Duration: time.Minute}, Dataset: steps.Dataset{Kind: "sonnet",
				InputMin: 128, InputMax: 512, OutputMin: 6, OutputMax: 6}},
		"closed, 8 requests, at most 2 at once, file": {
			Load: steps.Load{Arrival: "closed", Requests: 8, MaxConcurrency: 2}, Dataset: steps.Dataset{Kind: "file"}},
	} {
		if got := workloadText(w, nil); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func random(inMin, inMax, outMin, outMax int) steps.Dataset {
	return steps.Dataset{Kind: "random", InputMin: inMin, InputMax: inMax, OutputMin: outMin, OutputMax: outMax}
}

func TestEstimate(t *testing.T) {
	p := planOf(t, []string{"base", "head"}, []float64{2}, 2)
	now := time.Unix(0, 0)
	e := newETA(p, func() time.Time { return now })
	if elapsed, left := e.estimate(); elapsed != 0 || left != p.Estimate.Seconds {
		t.Errorf("at the start: %v, %v; the plan says %v", elapsed, left, p.Estimate.Seconds)
	}
	cell := p.Repeats[0].Launches[0].Runs[0].Cell
	perLaunch := p.Estimate.Seconds / 4
	pass := func(seconds float64) { now = now.Add(time.Duration(seconds * float64(time.Second))) }
	pass(2 * e.launch)
	e.launched(1, 2*e.launch)
	pass(2 * (perLaunch - e.launch))
	e.ran(cell)
	if _, left := e.estimate(); fmt.Sprintf("%.6g", left) != fmt.Sprintf("%.6g", 2*3*perLaunch) {
		t.Errorf("twice as slow as planned with 3 of 4 launches to go: %v s left, want %v", left, 6*perLaunch)
	}
	e.skip(p.Repeats[0].Launches[1])
	e.add(p.Repeats[0].Launches[1])
	if index, total := e.position(); index != 3 || total != 5 {
		t.Errorf("at run %d of %d, want 3 of 5", index, total)
	}
}

func TestLimits(t *testing.T) {
	// a sixth of the mean gap
	late := record.Audit{Clock: "user", PlannedRate: 4, RealisedRate: 4, LagP99: int64(40 * time.Millisecond)}
	for name, tc := range map[string]struct {
		set  map[string]float64
		void bool
	}{
		"the default":          {nil, true},
		"more lag is allowed":  {map[string]float64{"lag_p99": 0.050}, false},
		"a larger share":       {map[string]float64{"lag_share": 0.2}, false},
		"less than it had":     {map[string]float64{"lag_p99": 0.039}, true},
		"another kind of load": {map[string]float64{"burst_lag": 1}, true},
	} {
		if _, reason := limits(tc.set).Void(late); (reason != "") != tc.void {
			t.Errorf("%s: void %q, want %v", name, reason, tc.void)
		}
	}
}

// The document knows each cause that the load generator has.
func TestCausesOfVoidRuns(t *testing.T) {
	for cause, want := range map[load.Cause]result.VoidCause{
		load.CauseClock: result.VoidClock, load.CauseClient: result.VoidClient, load.CauseLost: result.VoidGeneratorLost,
	} {
		if got := result.VoidCause(cause); got != want || got.BySide() != (got == result.VoidClient) {
			t.Errorf("%s is %s", cause, got)
		}
	}
}

func TestDriverText(t *testing.T) {
	d := &steps.Driver{Command: []string{"/opt/bin/vllm", "bench", "serve", "--base-url", "x"}}
	if got := driverText(d); got != "driven by vllm bench serve" {
		t.Errorf("%q", got)
	}
}

// Each lane of a cluster gets the images of its launches.
func TestLanesHaveImagesOfTheirOwn(t *testing.T) {
	p := planOf(t, []string{"base", "head"}, []float64{2}, 4)
	p.Cluster = &plan.Cluster{Nodes: 2, Lanes: 2, LaneNodes: 1}
	p.Reschedule()
	r := newRunner((&Options{Plan: p, Bus: event.NewBus(time.Now, 0)}).withDefaults())
	if got := r.lanesLeft(); len(got) != 2 || got[1].Lane != 1 || len(got[0].Launches) != 2 {
		t.Errorf("lanes of a cluster: %+v", got)
	}
}
