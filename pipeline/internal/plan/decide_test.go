package plan_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates"
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
		{"ranks of a family", [2]int{4, 4}, many, "mann_whitney", plan.Options{}, "Its family has 60 comparisons at 0.05, one-sided"},
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
		{looking(2, 12, 2), plan.Options{Noise: known}, []string{"(calibrated): a change of 5.3 % is found"}}, // two pairs find a doubling
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
	warnings := func(m metric.Metric, margin metric.Margin, passes int, loads ...steps.Load) (details []string) {
		cfg := configOf(4, 2, 3)
		cfg.Gates[0].Metrics, cfg.Gates[0].Margin, cfg.Benchmarks[0].Passes = []metric.Metric{m}, margin, passes
		for _, b := range cfg.Benchmarks {
			for i := range b.Cells {
				l := &b.Cells[i].Workload.Load
				load := loads[i%len(loads)]
				l.Requests, l.Rate, l.Duration, l.Ramp = load.Requests, load.Rate, load.Duration, load.Ramp
			}
		}
		_, diags := plan.Build(cfg, plan.Options{})
		for _, d := range diags {
			if d.Summary == "margin of less than a few events" {
				details = append(details, d.Detail)
			}
		}
		return details
	}
	hits, _ := metric.Lookup("prefix_cache.hit_rate")
	few, many, open := steps.Load{Requests: 200}, steps.Load{Requests: 4000}, steps.Load{Duration: time.Second}
	for _, tt := range []struct {
		m      metric.Metric
		margin metric.Margin
		passes int
		loads  []steps.Load
		want   string // "" for no warning
	}{
		{preemptions, 0.0005, 1, []steps.Load{few}, "is 0.4 events in the 800 requests of each side's first 4 repeats"},
		{preemptions, 0.0005, 1, []steps.Load{few}, "Set a margin of 0.0075 or more, or plan 15.0 times the requests"},
		{preemptions, 0.0005, 1, []steps.Load{many}, ""},
		{preemptions, 0.01, 1, []steps.Load{few}, ""},
		{preemptions, 0, 1, []steps.Load{few}, ""},
		{hits, 0.0005, 1, []steps.Load{few}, ""},
		{preemptions, 0.0005, 1, []steps.Load{many, few}, "is 0.4 events"},
		{preemptions, 0.0005, 1, []steps.Load{few, many}, "is 0.4 events"},
		{preemptions, 0.0005, 2, []steps.Load{few}, "is 0.8 events in the 1600 requests"},
		{preemptions, 1. / 128, 1, []steps.Load{{Requests: 192}}, ""}, // 6 events are enough
		{preemptions, 1. / 128, 1, []steps.Load{{Requests: 191}}, "margin of 0.0079 or more"},
		{preemptions, 0.0005, 1, []steps.Load{{Rate: 2, Duration: 100 * time.Second}}, "in the 800 requests"},
		{preemptions, 0.0005, 1, []steps.Load{{Rate: 40, Duration: 100 * time.Second}}, ""},
		{preemptions, 0.0005, 1, []steps.Load{{Rate: 2, Duration: 100 * time.Second, Ramp: time.Second}}, ""}, // fewer than by the rate
		{preemptions, 0.0005, 1, []steps.Load{open}, ""},                                                      // as many as are answered
		{preemptions, 0.0005, 1, []steps.Load{open, few}, "is 0.4 events"},
	} {
		got := warnings(tt.m, tt.margin, tt.passes, tt.loads...)
		if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
			t.Errorf("%s, margin %v of %+v: %q, want %q", tt.m.ID, tt.margin, tt.loads, got, tt.want)
		}
	}
}

// TestJointTestsShareALevel: comparisons that a test corrects jointly share one level, of those alone that are of one group, of
// one test, and can fail the file.
func TestJointTestsShareALevel(t *testing.T) {
	cfg := configOf(8, 2, 4)
	joint := cfg.Gates[0]
	joint.TestName = "max_t"
	for name, change := range map[string]func(*config.Gate){
		"gate.other_test": func(g *config.Gate) { g.TestName = "paired_t" },
		"gate.own_alpha":  func(g *config.Gate) { g.Alpha = 0.01 },
		"gate.warns":      func(g *config.Gate) { g.OnRegression = result.Warn },
	} {
		g := *joint
		g.Addr = name
		change(&g)
		cfg.Gates = append(cfg.Gates, &g)
	}
	p := build(t, cfg, plan.Options{})
	gate := map[string]plan.Gate{}
	for _, g := range p.Gates {
		gate[g.Addr] = g
	}
	one := p.Level(gate["gate.other_test"])
	if got := p.Level(gate[joint.Addr]); math.Abs(got-2*one) > 1e-12 {
		t.Errorf("two joint comparisons share %g, and one alone has %g", got, one)
	}
	if got := gate[joint.Addr].Power[1].AtMax; got >= gate["gate.other_test"].Power[1].AtMax {
		t.Errorf("jointly, a change of %g is found; want less than alone: %g", got, gate["gate.other_test"].Power[1].AtMax)
	}
	if got := p.Level(gate["gate.warns"]); got != p.Alpha {
		t.Errorf("a gate that only warns has a level of %g", got)
	}
}

// TestPowerOfAnAttempt: an improvement is shown at the level of a pass, which is less at each attempt.
func TestPowerOfAnAttempt(t *testing.T) {
	power := func(alpha float64, attempt int) plan.Power {
		cfg := configOf(8, 2)
		cfg.Settings.Alpha, cfg.Gates[0].Expect = alpha, gates.ExpectImprovement
		return build(t, cfg, plan.Options{Attempt: attempt}).Gates[0].Power[0]
	}
	for attempt := range 4 {
		got, want := power(0.05, attempt).AtMax, power(gates.AttemptAlpha(0.05, attempt), 0).AtMax
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("attempt %d shows %g, want %g", attempt, got, want)
		}
	}
}

// TestNoiseOfTheWorstCell: the power of a gate, and its refusal, are by the cell that spreads most; the refusal is at the margin.
func TestNoiseOfTheWorstCell(t *testing.T) {
	cfg := configOf(5, 2, 4)
	cfg.Gates[0].Range, cfg.Gates[0].MarginRange = hcl.Range{Start: hcl.Pos{Line: 7}}, hcl.Range{Filename: "f", Start: hcl.Pos{Line: 9}}
	for _, worst := range build(t, cfg, plan.Options{}).Benchmarks[0].Cells {
		noise := func(cell, _ string) (plan.Noise, bool) {
			sd := 0.01
			if cell == worst.Hash {
				sd = 0.06
			}
			return plan.Noise{always(sd), "measured"}, true
		}
		_, diags := plan.Build(cfg, plan.Options{Noise: noise})
		if len(diags) != 1 || diags[0].Subject.Start.Line != 9 || !strings.Contains(diags[0].Detail, "The spread of 6 % is measured") {
			t.Errorf("%v spreads most: %v", worst.Values, diags)
		}
		p := build(t, cfg, plan.Options{Noise: noise, IgnoreNoise: true})
		if power := p.Gates[0].Power; len(power) != 1 || power[0].SD != 0.06 {
			t.Errorf("%v spreads most: %+v", worst.Values, power)
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
