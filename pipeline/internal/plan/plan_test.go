package plan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// workload is a small load at a rate.
func workload(rate float64) steps.Workload {
	return steps.Workload{
		Endpoint: "completions", IgnoreEOS: true,
		Dataset: steps.Dataset{Kind: "random", InputMin: 256, InputMax: 256, OutputMin: 16, OutputMax: 16},
		Load:    steps.Load{Arrival: "poisson", Rate: rate, Requests: 200},
	}
}

// configOf returns a benchmark of two sides and the given rates, with a paired gate.
func configOf(repeats int, rates ...float64) *config.Config {
	cfg := &config.Config{Settings: config.Settings{Alpha: 0.05, Description: "Two sides"}}
	kind := steps.Kind{Block: "server", Name: "vllm"}
	var cells []config.Cell
	for _, side := range []string{"base", "head"} {
		addr := fmt.Sprintf("server.vllm.sut[%q]", side)
		cfg.Servers = append(cfg.Servers, &config.Server{
			Addr: addr, Kind: kind, Spec: steps.ServerSpec{Addr: addr, Engine: "vllm", Executable: []string{"vllm"}, Model: "m",
				Args: []steps.Arg{{Name: "side", Value: side}}},
		})
		for _, rate := range rates {
			cells = append(cells, config.Cell{
				Values: []result.AxisValue{{Name: "side", Value: side}, {Name: "rate", Value: fmt.Sprint(rate)}},
				Target: addr, Workload: workload(rate),
			})
		}
	}
	indices := make([]int, len(cells))
	for i := range indices {
		indices[i] = i
	}
	p50, _ := metric.Lookup("ttft.p50")
	cfg.Benchmarks = []*config.Benchmark{{
		Addr: "benchmark.serving", Axes: []config.Axis{{Name: "side", Values: []string{"base", "head"}}, {Name: "rate", Values: texts(rates)}},
		Cells: cells, RepeatMin: repeats, RepeatMax: repeats, Seed: 7,
	}}
	cfg.Baselines = []*config.Baseline{{Addr: "baseline.paired.main", Kind: "paired", Axis: "side", Value: "base"}}
	cfg.Gates = []*config.Gate{{
		Addr: "gate.latency", Benchmark: "benchmark.serving", Baseline: "baseline.paired.main", Metrics: []metric.Metric{p50},
		Cells:   indices,
		Terms:   gates.Terms{Claim: gates.Claim{Margin: 0.05}, Rule: gates.Rule{TestName: "paired_t"}},
		Actions: result.Actions{OnRegression: result.Fail, OnInconclusive: result.Warn, OnMissing: result.Fail, OnInvalid: result.Fail},
	}}
	return cfg
}

func texts(rates []float64) []string {
	out := make([]string, len(rates))
	for i, r := range rates {
		out[i] = fmt.Sprint(r)
	}
	return out
}

func build(t *testing.T, cfg *config.Config, opt plan.Options) *plan.Plan {
	t.Helper()
	opt.File = "two.pipeline.hcl"
	p, diags := plan.Build(cfg, opt)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return p
}

// orderOfSides returns "b" for each repeat that begins with the base, "h" for the others.
func orderOfSides(p *plan.Plan) string {
	var out strings.Builder
	for _, r := range p.Repeats {
		if r.Launches[0].Target == `server.vllm.sut["base"]` {
			out.WriteString("b")
		} else {
			out.WriteString("h")
		}
	}
	return out.String()
}

// Each repeat draws its order by itself: over many seeds each side comes first equally often in every repeat, whatever
// came before. Only the first four repeats never have one order alone.
func TestOrderOfSidesIsDrawn(t *testing.T) {
	const plans, repeats = 2000, 8
	first := [repeats]int{}
	same := map[string]int{} // repeats whose orders agree
	for seed := range uint64(plans) {
		p := &plan.Plan{Benchmarks: []plan.Benchmark{{RepeatMin: 4, RepeatMax: repeats, Seed: seed,
			Cells: []plan.Cell{{Hash: "b", Target: `server.vllm.sut["base"]`}, {Hash: "h", Target: "head"}}}}}
		p.Reschedule()
		order := orderOfSides(p)
		if n := strings.Count(order[:4], "b"); n == 0 || n == 4 {
			t.Fatalf("seed %d has one order in its first four repeats: %s", seed, order)
		}
		for r := range repeats {
			if order[r] == 'b' {
				first[r]++
			}
			for before := range r {
				if order[r] == order[before] {
					same[fmt.Sprintf("%d and %d", before+1, r+1)]++
				}
			}
		}
	}
	for r, n := range first {
		if n < 900 || n > 1100 {
			t.Errorf("repeat %d begins with the base in %d of %d plans", r+1, n, plans)
		}
	}
	for which, n := range same {
		// Without the 2 of 16 orders that do not change, two of the first four repeats agree in 6 of 14.
		want := plans / 2
		if which <= "3 and 4" && which[len(which)-1] <= '4' {
			want = plans * 6 / 14
		}
		if n < want-100 || n > want+100 {
			t.Errorf("repeats %s have the same order in %d of %d plans, want about %d", which, n, plans, want)
		}
	}
}

// The order is that of the plan whichever way it is made: more repeats keep the first, and other images draw anew.
func TestOrderOfSidesIsKept(t *testing.T) {
	p := build(t, configOf(4, 2, 4), plan.Options{})
	if more := build(t, configOf(40, 2, 4), plan.Options{}); !strings.HasPrefix(orderOfSides(more), orderOfSides(p)) {
		t.Errorf("the first repeats of more are %s, of few %s", orderOfSides(more), orderOfSides(p))
	}
	many := build(t, configOf(40, 2, 4), plan.Options{})
	other := *many
	other.Targets = slices.Clone(many.Targets)
	other.Targets[1].Images = []string{"vllm/vllm-openai:v0.33.0"}
	other.Reschedule()
	if orderOfSides(&other) == orderOfSides(many) {
		t.Error("another image has the same order in 40 repeats")
	}
	many.Reschedule()
	if again := build(t, configOf(40, 2, 4), plan.Options{}); orderOfSides(again) != orderOfSides(many) {
		t.Error("a plan that is laid out again has another order")
	}
}

// Four targets have six pairs, each of which comes in both orders before the first look.
func TestOrderOfManySides(t *testing.T) {
	targets := []string{"a", "b", "c", "d"}
	for seed := range uint64(100) {
		bm := plan.Benchmark{RepeatMin: 4, RepeatMax: 4, Seed: seed}
		for _, target := range targets {
			bm.Cells = append(bm.Cells, plan.Cell{Hash: target, Target: target})
		}
		p := &plan.Plan{Benchmarks: []plan.Benchmark{bm}}
		p.Reschedule()
		before := map[string]bool{}
		for _, r := range p.Repeats {
			for i, l := range r.Launches {
				for _, later := range r.Launches[i+1:] {
					before[l.Target+later.Target] = true
				}
			}
		}
		if len(before) != 12 {
			t.Errorf("seed %d: %d of 12 orders of two targets in %v", seed, len(before), p.Repeats)
		}
	}
}

// TestSidesShareTheirWork: in a repeat both sides get the same seeds in the same order of
// cells; from repeat to repeat the content changes and the shape does not.
func TestSidesShareTheirWork(t *testing.T) {
	p := build(t, configOf(6, 1, 2, 3, 4, 5), plan.Options{})
	work := func(l plan.Launch) []string {
		var out []string
		for _, r := range l.Runs {
			_, c, _ := p.Cell(r.Cell)
			out = append(out, fmt.Sprintf("%s seed %d shape %d", c.WorkKey, r.Seed, r.ShapeSeed))
		}
		return out
	}
	seeds, orders := map[uint64]bool{}, map[string]bool{}
	shapes := map[string]uint64{}
	for _, r := range p.Repeats {
		if diff := cmp.Diff(work(r.Launches[0]), work(r.Launches[1])); diff != "" {
			t.Fatalf("repeat %d: the sides do different work:\n%s", r.Index, diff)
		}
		var order []string
		for _, run := range r.Launches[0].Runs {
			_, c, _ := p.Cell(run.Cell)
			if seeds[run.Seed] {
				t.Errorf("repeat %d: content of an earlier run comes again", r.Index)
			}
			seeds[run.Seed] = true
			if s, ok := shapes[c.WorkKey]; ok && s != run.ShapeSeed {
				t.Errorf("repeat %d: arrivals and lengths changed", r.Index)
			}
			shapes[c.WorkKey] = run.ShapeSeed
			order = append(order, c.WorkKey)
		}
		orders[fmt.Sprint(order)] = true
	}
	if len(orders) < 2 {
		t.Error("the cells come in one order in all repeats; it should be drawn for each")
	}
}

func TestPlanIsReproducible(t *testing.T) {
	a, b := build(t, configOf(4, 2, 4), plan.Options{}), build(t, configOf(4, 2, 4), plan.Options{})
	if diff := cmp.Diff(a, b, cmpopts.IgnoreUnexported(plan.Plan{})); diff != "" {
		t.Errorf("two plans of one file differ:\n%s", diff)
	}
	if c := build(t, configOf(4, 2, 8), plan.Options{}); c.Fingerprint == a.Fingerprint {
		t.Error("another rate leaves the fingerprint as it was; a run could be resumed with other work")
	}
}

// TestHash fixes the identity of a cell: a change of this value unmatches every stored
// baseline.
func TestHash(t *testing.T) {
	values := []result.AxisValue{{Name: "side", Value: "base"}, {Name: "rate", Value: "4"}}
	if got, want := plan.Hash("serving", values, workload(4)), "3c7748ca92c68f1c"; got != want {
		t.Errorf("Hash = %s, want %s: the identity of cells has changed; raise hashVersion if that is meant", got, want)
	}
	reversed := slices.Clone(values)
	slices.Reverse(reversed)
	if plan.Hash("serving", values, workload(4)) != plan.Hash("serving", reversed, workload(4)) {
		t.Error("the order of axes changes the identity")
	}
	for what, other := range map[string]string{
		"benchmark": plan.Hash("other", values, workload(4)), "workload": plan.Hash("serving", values, workload(5)),
		"values": plan.Hash("serving", values[:1], workload(4)),
	} {
		if other == plan.Hash("serving", values, workload(4)) {
			t.Errorf("another %s has the same identity", what)
		}
	}
}

func TestComparisons(t *testing.T) {
	p := build(t, configOf(4, 2, 4), plan.Options{})
	g := p.Gates[0]
	if len(g.Comparisons) != 2 || p.FamilySize != 4 {
		t.Fatalf("%d comparisons, family %d; want 2 and 4 (a metric and the success rate of each)", len(g.Comparisons), p.FamilySize)
	}
	for _, c := range g.Comparisons {
		_, head, _ := p.Cell(c.Head)
		_, base, ok := p.Cell(c.Base)
		if !ok || head.Target == base.Target || head.WorkKey != base.WorkKey {
			t.Errorf("%v is compared with %v", head.Values, base.Values)
		}
		if c.HeadValue != "head" || c.BaseValue != "base" || len(c.Values) != 1 || c.Values[0].Name != "rate" {
			t.Errorf("comparison %+v does not name its sides and the rest", c)
		}
	}
}

// TestShares sets what a plan says of its levels against what gates really uses.
func TestShares(t *testing.T) {
	cfg := configOf(4, 2, 4)
	own, warns := *cfg.Gates[0], *cfg.Gates[0]
	own.Addr, own.Alpha = "gate.own", 0.01
	warns.Addr, warns.OnRegression = "gate.warns", result.Warn
	cfg.Gates = append(cfg.Gates, &own, &warns)
	p := build(t, cfg, plan.Options{})
	if p.FamilySize != 8 {
		t.Errorf("family of %d, want 8: two gates can fail, of 2 comparisons with a success rate each", p.FamilySize)
	}
	var text strings.Builder
	if err := p.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"family of 4, success rates included, at 0.04 ", "family of 4, success rates included, at 0.01 ",
		"at 0.05 one-sided without correction"} {
		if strings.Count(text.String(), want) != 1 {
			t.Errorf("the plan does not say %q once:\n%s", want, text.String())
		}
	}

	cfg.Servers[0].Spec.URL = "http://127.0.0.1:1"
	if p := build(t, cfg, plan.Options{}); p.FamilySize != 4 {
		t.Errorf("family of %d beside a server that is not launched, want 4: only success rates are tested", p.FamilySize)
	}
}

func TestABaseThatTheMatrixExcludesIsMissing(t *testing.T) {
	cfg := configOf(4, 2, 4)
	b := cfg.Benchmarks[0]
	b.Cells = b.Cells[1:] // base at rate 2
	cfg.Gates[0].Cells = []int{0, 1, 2}
	var without int
	for _, c := range build(t, cfg, plan.Options{}).Gates[0].Comparisons {
		if c.Base == "" {
			without++
		}
	}
	if without != 1 {
		t.Errorf("%d comparisons without a base, want 1", without)
	}
}

func TestOnly(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		cells   int
	}{
		{"rate=2", 2}, {"rate=*", 4}, {"serving", 4}, {"benchmark.serving", 4}, {"side=base rate=4", 1},
		// The base comes along with the head that is compared with it.
		{"side=head rate=4", 2}, {"side=head*", 4},
	} {
		p := build(t, configOf(4, 2, 4), plan.Options{Only: []string{tt.pattern}})
		n := 0
		for _, b := range p.Benchmarks {
			n += len(b.Cells)
		}
		if n != tt.cells {
			t.Errorf("--only %s keeps %d cells, want %d", tt.pattern, n, tt.cells)
		}
	}
	if _, diags := plan.Build(configOf(4, 2), plan.Options{Only: []string{"rate=9"}}); !diags.HasErrors() {
		t.Error("--only that matches nothing is no error")
	}
}

func TestOneRepeatIsWarnedOf(t *testing.T) {
	if p := build(t, configOf(4, 2), plan.Options{Repeat: 1}); len(p.Warnings) != 1 {
		t.Errorf("warnings %q, want one: no test is possible with one repeat", p.Warnings)
	}
	if p := build(t, configOf(4, 2), plan.Options{}); len(p.Warnings) != 0 {
		t.Errorf("warnings %q on a plan with four repeats", p.Warnings)
	}
}

// TestFingerprintKnowsTheEnvironment: a run is not resumed with servers that differ in
// more than their command line.
func TestFingerprintKnowsTheEnvironment(t *testing.T) {
	plain := build(t, configOf(4, 2), plan.Options{}).Fingerprint
	cfg := configOf(4, 2)
	cfg.Servers[1].Spec.Env = []steps.EnvVar{{Name: "VLLM_USE_V1", Value: "0"}}
	if build(t, cfg, plan.Options{}).Fingerprint == plain {
		t.Error("another environment leaves the fingerprint as it was")
	}
}

func TestRepeatOption(t *testing.T) {
	if p := build(t, configOf(4, 2), plan.Options{Repeat: 9}); len(p.Repeats) != 9 {
		t.Errorf("%d repeats, want 9", len(p.Repeats))
	}
}

func TestTextGolden(t *testing.T) {
	var got bytes.Buffer
	p := build(t, configOf(6, 2, 4), plan.Options{Simulated: "process", TimeScale: 4})
	if err := p.WriteText(&got); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "plan.txt")
	golden.Equal(t, path, got.String())
}

// BenchmarkCells finds each of 1,000 cells of a plan that was read from a file.
func BenchmarkCells(b *testing.B) {
	rates := make([]float64, 500)
	for i := range rates {
		rates[i] = float64(i + 1)
	}
	built, diags := plan.Build(configOf(6, rates...), plan.Options{})
	text, err := json.Marshal(built)
	if diags.HasErrors() || err != nil {
		b.Fatal(diags, err)
	}
	p, err := plan.Read(text)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for i := range p.Benchmarks[0].Cells {
			if _, cell, ok := p.Cell(p.Benchmarks[0].Cells[i].Hash); !ok || cell.Hash != p.Benchmarks[0].Cells[i].Hash {
				b.Fatalf("cell %d is not found", i)
			}
		}
	}
}

// BenchmarkBuild plans a matrix of 1,000 cells.
func BenchmarkBuild(b *testing.B) {
	rates := make([]float64, 500)
	for i := range rates {
		rates[i] = float64(i + 1)
	}
	cfg := configOf(6, rates...)
	for b.Loop() {
		if _, diags := plan.Build(cfg, plan.Options{}); diags.HasErrors() {
			b.Fatal(diags)
		}
	}
}

// What a launch has one value of is compared once for each pair of targets, however many
// cells they run; the rest in every cell.
func TestMetricsOfALaunchAreComparedOnce(t *testing.T) {
	cfg := configOf(4, 2, 4, 6)
	startup, _ := metric.Lookup("startup.time")
	cfg.Gates[0].Metrics = append(cfg.Gates[0].Metrics, startup)
	p := build(t, cfg, plan.Options{})
	var got []string
	for _, c := range p.Gates[0].Comparisons {
		got = append(got, strings.Join(p.Gates[0].Of(c), " "))
	}
	if diff := cmp.Diff([]string{"ttft.p50 startup.time", "ttft.p50", "ttft.p50"}, got); diff != "" {
		t.Error(diff)
	}
	if p.FamilySize != 7 {
		t.Errorf("family of %d; want 3 cells with a metric and a success rate each, and one start", p.FamilySize)
	}
}

// A run is as long as its schedule: 200 requests at 10 in a second, of which a ramp sends fewer at first.
func TestLengthOfARunFollowsItsSchedule(t *testing.T) {
	for name, tt := range map[string]struct {
		load steps.Load
		want float64
	}{
		"a rate":          {steps.Load{Arrival: "constant", Rate: 10}, 20},
		"a ramp from 0":   {steps.Load{Arrival: "constant", Rate: 10, Ramp: 40 * time.Second}, 40},
		"a ramp from 20":  {steps.Load{Arrival: "constant", Rate: 10, RampFrom: 20, Ramp: 10 * time.Second}, 15},
		"a limit of time": {steps.Load{Arrival: "constant", Rate: 10, Ramp: 40 * time.Second, Duration: 30 * time.Second}, 30},
	} {
		cfg := configOf(1, 10)
		tt.load.Requests = 200
		for i := range cfg.Benchmarks[0].Cells {
			cfg.Benchmarks[0].Cells[i].Workload.Load = tt.load
		}
		if got := build(t, cfg, plan.Options{}).Benchmarks[0].Cells[0].Seconds - 3; math.Abs(got-tt.want) > 0.3 {
			t.Errorf("%s lasts %.1f s, want %.1f", name, got, tt.want)
		}
	}
}
