package plan_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// looking is config with repeats from least to most.
func looking(least, most int, rates ...float64) *config.Config {
	cfg := configOf(most, rates...)
	cfg.Benchmarks[0].RepeatMin = least
	return cfg
}

// always is a spread that passes do not lessen.
func always(sd float64) func(int) float64 { return func(int) float64 { return sd } }

func TestGatesThatCannotDecideAreRefused(t *testing.T) {
	many := make([]float64, 30)
	for i := range many {
		many[i] = float64(i + 1)
	}
	noisy := func(string, string) (plan.Noise, bool) { return plan.Noise{always(0.06), "measured"}, true }
	for _, tt := range []struct {
		name    string
		repeats [2]int
		rates   []float64
		test    string
		opt     plan.Options
		want    string // "" where the gate can decide
	}{
		{"t-test", [2]int{2, 2}, many, "paired_t", plan.Options{}, ""},
		{"too few sign flips", [2]int{5, 5}, []float64{2}, "sign_flip", plan.Options{},
			"sign_flip needs at least 8 repeats, and benchmark.serving has 5"},
		{"sign flips of a large family", [2]int{8, 8}, many, "sign_flip", plan.Options{}, "use at least 11 repeats"},
		{"enough of them", [2]int{11, 11}, many, "sign_flip", plan.Options{}, ""},
		{"max-T corrects a family jointly", [2]int{8, 8}, many, "max_t", plan.Options{}, ""},
		{"ranks of a family", [2]int{4, 4}, many, "mann_whitney", plan.Options{}, "use at least 7 repeats"},
		{"splits of a family", [2]int{4, 4}, many, "permutation", plan.Options{}, "use at least 7 repeats"},
		{"enough splits", [2]int{7, 7}, many, "permutation", plan.Options{}, ""},
		{"looks take their part of the level", [2]int{4, 8}, []float64{1, 2, 3, 4}, "sign_flip", plan.Options{}, "cannot reject"},
		{"which one judgement keeps", [2]int{8, 8}, []float64{1, 2, 3, 4}, "sign_flip", plan.Options{}, ""},
		{"noise above the margin", [2]int{5, 5}, []float64{2}, "paired_t", plan.Options{Noise: noisy}, "above the margin of 0.05; plan 1"},
		{"noise that is accepted", [2]int{5, 5}, []float64{2}, "paired_t", plan.Options{Noise: noisy, IgnoreNoise: true}, ""},
	} {
		cfg := looking(tt.repeats[0], tt.repeats[1], tt.rates...)
		cfg.Gates[0].TestName = tt.test
		_, diags := plan.Build(cfg, tt.opt)
		if tt.want == "" && diags.HasErrors() {
			t.Errorf("%s: refused: %v", tt.name, diags)
		}
		if tt.want != "" && !strings.Contains(fmt.Sprint(diags), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, diags, tt.want)
		}
	}
}

// TestTooFewRepeatsForLostRequestsAreWarnedOf: where the repeats are too few for lost requests to be a regression, the plan
// says so with the place of the gate. The least number that it names is enough, and one less is not.
func TestTooFewRepeatsForLostRequestsAreWarnedOf(t *testing.T) {
	many := []float64{1, 2, 3, 4, 5, 6}
	for _, tt := range []struct {
		name   string
		cfg    *config.Config
		action result.Action
		want   string
	}{
		{"two repeats", configOf(2, 2), result.Fail, "each of 2 runs"},
		{"three of two comparisons", configOf(3, 2), result.Fail, ""},
		{"three of twelve", configOf(3, many...), result.Fail, "over 12 comparisons at 0.05, one-sided, that takes 5 repeats. Plan at least 5"},
		{"four of twelve", configOf(4, many...), result.Fail, "Plan at least 5"},
		{"five of twelve", configOf(5, many...), result.Fail, ""},
		{"four of ten", configOf(4, many[1:]...), result.Fail, ""},
		{"looks take their part", looking(2, 4, many[1:]...), result.Fail, "Plan at least 5"},
		{"one repeat", configOf(1, 2), result.Fail, ""},
		{"a gate that only warns", configOf(2, 2), result.Warn, ""},
	} {
		tt.cfg.Gates[0].OnRegression = tt.action
		tt.cfg.Gates[0].Range = hcl.Range{Filename: "gate.hcl", Start: hcl.Pos{Line: 7}}
		_, diags := plan.Build(tt.cfg, plan.Options{})
		switch {
		case tt.want == "" && len(diags) == 0:
		case tt.want == "" || len(diags) != 1:
			t.Errorf("%s: %v", tt.name, diags)
		case diags[0].Severity != hcl.DiagWarning || diags[0].Subject.Start.Line != 7 || !strings.Contains(diags[0].Detail, tt.want):
			t.Errorf("%s: %v, want %q", tt.name, diags, tt.want)
		}
	}
}

// What a gate can find is printed before anything is spent: from what is known, or from
// assumed spreads.
func TestPowerIsStated(t *testing.T) {
	known := func(_, id string) (plan.Noise, bool) { return plan.Noise{always(0.02), "calibrated"}, id == "ttft.p50" }
	for _, tt := range []struct {
		cfg  *config.Config
		opt  plan.Options
		want []string
	}{
		{looking(4, 12, 2), plan.Options{}, []string{"4 to 12 pairs each, judged after 4, 6, 8, 10 and 12",
			"if pairs spread by 1 %: a change of 5.5 % after 4 repeats and 5.1 % after 12", "at most,"}},
		{looking(4, 12, 2), plan.Options{Noise: known}, []string{"ttft.p50 spreads by 2 % (calibrated)"}},
		{configOf(5, 2), plan.Options{Noise: known}, []string{"ttft.p50 spreads by 2 % (calibrated): a change of 5.8 % is found"}},
	} {
		var b bytes.Buffer
		if err := build(t, tt.cfg, tt.opt).WriteText(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("the plan lacks %q:\n%s", want, &b)
			}
		}
	}
	cfg := configOf(5, 2)
	p99, _ := metric.Lookup("ttft.p99")
	cfg.Gates[0].Metrics = append(cfg.Gates[0].Metrics, p99)
	if power := build(t, cfg, plan.Options{Noise: known}).Gates[0].Power; len(power) != 3 {
		t.Errorf("%+v: a metric without known noise needs the assumptions", power)
	}
}

// Passes lessen the part of the noise that is within launches, and cost their time.
func TestPassesInAPlan(t *testing.T) {
	passing := func(passes int) *plan.Plan {
		cfg := configOf(4, 2)
		cfg.Benchmarks[0].Passes = passes
		noise := func(passes int) float64 { return 0.01 + 0.02/float64(passes) }
		known := func(string, string) (plan.Noise, bool) { return plan.Noise{noise, "calibrated"}, true }
		p, diags := plan.Build(cfg, plan.Options{Noise: known, IgnoreNoise: true})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return p
	}
	one, three := passing(1), passing(3)
	if one.Gates[0].Power[0].SD != 0.03 || math.Abs(three.Gates[0].Power[0].SD-0.01-0.02/3) > 1e-12 {
		t.Errorf("pairs spread by %g and %g", one.Gates[0].Power[0].SD, three.Gates[0].Power[0].SD)
	}
	if three.Estimate.Runs != 3*one.Estimate.Runs || three.Estimate.Launches != one.Estimate.Launches || three.Fingerprint == one.Fingerprint {
		t.Errorf("%+v and %+v", one.Estimate, three.Estimate)
	}
	first, again := one.Repeats[0].Launches[0].Runs, three.Repeats[0].Launches
	for i, run := range again[0].Runs {
		if other := again[1].Runs[i]; run.Pass != i/len(first)+1 || other.Pass != run.Pass || other.Seed != run.Seed ||
			other.ShapeSeed != run.ShapeSeed {
			t.Errorf("run %d: %+v and %+v", i, run, other)
		}
		if i >= len(first) && run.Seed == again[0].Runs[i-len(first)].Seed {
			t.Errorf("pass %d has the content of the one before", run.Pass)
		}
	}
	if first[0].Pass != 0 || first[0].Seed != again[0].Runs[0].Seed {
		t.Errorf("one pass is %+v, and the first of three %+v", first[0], again[0].Runs[0])
	}
	var text strings.Builder
	if err := three.WriteText(&text); err != nil || !strings.Contains(text.String(), "4 repeats × 3 passes = 24 runs") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// TestMarginsOfRareEvents: a margin on events per request that few requests cannot show is warned of.
func TestMarginsOfRareEvents(t *testing.T) {
	preemptions, _ := metric.Lookup("preemptions.per_request")
	warnings := func(m metric.Metric, margin metric.Margin, loads ...steps.Load) int {
		cfg := configOf(4, 2, 3)
		cfg.Gates[0].Metrics, cfg.Gates[0].Margin = []metric.Metric{m}, margin
		for _, b := range cfg.Benchmarks {
			for i := range b.Cells {
				l := &b.Cells[i].Workload.Load
				load := loads[i%len(loads)]
				l.Requests, l.Rate, l.Duration = load.Requests, load.Rate, load.Duration
			}
		}
		_, diags := plan.Build(cfg, plan.Options{})
		n := 0
		for _, d := range diags {
			if d.Summary == "margin of less than a few events" {
				n++
			}
		}
		return n
	}
	hits, _ := metric.Lookup("prefix_cache.hit_rate")
	few, many := steps.Load{Requests: 200}, steps.Load{Requests: 4000}
	for _, tt := range []struct {
		m      metric.Metric
		margin metric.Margin
		loads  []steps.Load
		want   int
	}{
		{preemptions, 0.0005, []steps.Load{few}, 1},
		{preemptions, 0.0005, []steps.Load{many}, 0},
		{preemptions, 0.01, []steps.Load{few}, 0},
		{hits, 0.0005, []steps.Load{few}, 0},
		{preemptions, 0.0005, []steps.Load{many, few}, 1},
		{preemptions, 0.0005, []steps.Load{{Rate: 2, Duration: 100 * time.Second}}, 1},
		{preemptions, 0.0005, []steps.Load{{Rate: 40, Duration: 100 * time.Second}}, 0},
		{preemptions, 0.0005, []steps.Load{{Duration: time.Second}}, 0}, // as many as are answered
	} {
		if got := warnings(tt.m, tt.margin, tt.loads...); got != tt.want {
			t.Errorf("%s, margin %v of %+v: %d warnings", tt.m.ID, tt.margin, tt.loads, got)
		}
	}
}

// What searches are off by is in the spread of pairs of capacities, whatever launches add: with a
// spread of 1 % two searches to ±5 % are no less apart than by 5 %·√2/1.96 each.
func TestPowerOfCapacities(t *testing.T) {
	rate, _ := metric.Lookup("capacity.rate")
	search := &steps.Search{Min: 1, Max: 64, Resolution: 0.05, Probes: 8, SLO: []steps.Objective{{Metric: "ttft.p50", Limit: 0.5}}}
	cfg := configOf(5, 2)
	cfg.Gates[0].Metrics = []metric.Metric{rate}
	for _, b := range cfg.Benchmarks {
		for i := range b.Cells {
			b.Cells[i].Workload.Load.Search = search
		}
	}
	power := build(t, cfg, plan.Options{}).Gates[0].Power
	own := math.Sqrt2 * math.Log(1.05) / 1.959964
	if len(power) != 2 {
		t.Fatalf("%+v", power)
	}
	for i, w := range power {
		if want := math.Hypot([]float64{0.01, 0.03}[i], own); math.Abs(w.SD-want) > 1e-6 || w.AtMax <= 0.05 ||
			!strings.Contains(w.Basis, "what searches to ±5 % add") {
			t.Errorf("%+v, spread %.4f wanted", w, want)
		}
	}
}

// TestServersThatRunAlready: a gate that compares one decides no change, so the plan has no power of it, and counts no
// launches where nothing is launched.
func TestServersThatRunAlready(t *testing.T) {
	for name, tt := range map[string]struct {
		attached []bool // base, head
		decides  bool
		cost     string
	}{
		"neither": {[]bool{false, false}, true, "8 launches, 8 runs"},
		"head":    {[]bool{false, true}, false, "launches, 8 runs"},
		"base":    {[]bool{true, false}, false, "launches, 8 runs"},
		"both":    {[]bool{true, true}, false, "  8 runs, about"},
	} {
		cfg := configOf(4, 2)
		for i, attached := range tt.attached {
			if attached {
				cfg.Servers[i].Spec.Executable, cfg.Servers[i].Spec.URL = nil, fmt.Sprintf("http://127.0.0.1:%d", 8000+i)
			}
		}
		p := build(t, cfg, plan.Options{})
		var brief bytes.Buffer
		if err := p.WriteBrief(&brief); err != nil {
			t.Fatal(err)
		}
		if got := len(p.Gates[0].Power) > 0; got != tt.decides || strings.Contains(brief.String(), "no change is decided") == tt.decides {
			t.Errorf("%s: power %v, plan\n%s", name, got, brief.String())
		}
		if !strings.Contains(brief.String(), tt.cost) {
			t.Errorf("%s: the plan has no %q:\n%s", name, tt.cost, brief.String())
		}
	}
}
