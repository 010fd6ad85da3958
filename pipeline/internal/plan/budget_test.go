package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// bought plans a file of two sides with 4 to 12 repeats whose launches have 2 GPUs and start in
// 240 s, with a budget.
func bought(t *testing.T, budget config.Budget, start float64) (*plan.Plan, hcl.Diagnostics) {
	t.Helper()
	cfg := configOf(12, 2, 4)
	cfg.Benchmarks[0].RepeatMin = 4
	for _, s := range cfg.Servers {
		s.Spec.GPUs = 2
	}
	cfg.Settings.Price = &config.Price{GPUHour: 3, Currency: "USD"}
	cfg.Settings.Budget = &budget
	cfg.Settings.BudgetRange = hcl.Range{Filename: "two.pipeline.hcl", Start: hcl.Pos{Line: 3, Column: 3}}
	return plan.Build(cfg, plan.Options{File: "two.pipeline.hcl", LaunchTime: func([]string) float64 { return start }})
}

func TestABudgetBuysRepeats(t *testing.T) {
	whole, diags := bought(t, config.Budget{GPUTime: 1000 * time.Hour}, 240)
	if diags.HasErrors() || len(whole.Repeats) != 12 || whole.Budget.Repeats != 0 {
		t.Fatalf("%d repeats for a budget that buys all of 12: %v", len(whole.Repeats), diags)
	}
	each := whole.Estimate.GPUHours / 12
	for name, tt := range map[string]struct {
		budget  config.Budget
		repeats int
		looks   int
	}{
		"exactly 8":  {config.Budget{GPUTime: hours(8 * each)}, 8, 3},
		"almost 8":   {config.Budget{GPUTime: hours(7.99 * each)}, 7, 3},
		"by money":   {config.Budget{Cost: config.Money{Value: 3 * 6 * each, Currency: "USD"}}, 6, 2},
		"by time":    {config.Budget{Time: time.Duration(whole.Estimate.Seconds / 12 * 10.5 * 1e9)}, 10, 4},
		"by the two": {config.Budget{GPUTime: hours(9 * each), Time: time.Duration(whole.Estimate.Seconds / 12 * 5.5 * 1e9)}, 5, 2},
	} {
		p, diags := bought(t, tt.budget, 240)
		if diags.HasErrors() {
			t.Errorf("%s: %v", name, diags)
			continue
		}
		if len(p.Repeats) != tt.repeats || len(p.Looks) != tt.looks || p.Benchmarks[0].RepeatMax != tt.repeats || p.Budget.Repeats != 12 {
			t.Errorf("%s: %d repeats with looks %v, want %d with %d; %+v", name, len(p.Repeats), p.Looks, tt.repeats, tt.looks, p.Budget)
		}
		if bound := p.Exceeded(plan.Spending{p.Estimate.Hours, p.Estimate.Seconds}); bound != "" {
			t.Errorf("%s: the plan exceeds %s", name, bound)
		}
	}
}

// A budget that decides nothing is refused with the smallest that does, which is then accepted.
func TestABudgetThatDecidesNothingIsRefused(t *testing.T) {
	_, diags := bought(t, config.Budget{Cost: config.Money{Value: 0.5, Currency: "USD"}}, 240)
	if !diags.HasErrors() || diags[0].Subject.Start.Line != 3 {
		t.Fatalf("no error at the budget: %v", diags)
	}
	text := diags[0].Detail
	if !strings.Contains(text, "4 repeats") || !strings.Contains(text, "would do") || !strings.Contains(text, "it is 0.50 USD") {
		t.Errorf("%q", text)
	}
	_, after, _ := strings.Cut(text, "cost = ")
	named, _, _ := strings.Cut(after, " would do")
	smallest, err := lang.ParseMoney(named)
	if err != nil {
		t.Fatal(err)
	}
	p, diags := bought(t, config.Budget{Cost: smallest}, 240)
	if diags.HasErrors() || len(p.Repeats) != 4 {
		t.Errorf("%v: the smallest budget buys %d repeats, want 4: %v", smallest, len(p.Repeats), diags)
	}
}

// Where nothing says how long servers start, a plan keeps its repeats, and says why.
func TestABudgetOfUnknownStarts(t *testing.T) {
	p, diags := bought(t, config.Budget{GPUTime: time.Minute}, 0)
	var text strings.Builder
	if diags.HasErrors() || len(p.Repeats) != 12 {
		t.Fatalf("%d repeats, %v", len(p.Repeats), diags)
	}
	if err := p.WriteText(&text); err != nil || !strings.Contains(text.String(), "is not known before servers were started once") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// A run that is gone on with keeps its repeats though its budget would buy fewer by now, and a
// larger one adds some.
func TestABudgetOfAResumedRun(t *testing.T) {
	before, _ := bought(t, config.Budget{GPUTime: hours(8.5 * eachOf(t))}, 240)
	if n := len(before.Repeats); n != 8 {
		t.Fatalf("%d repeats, want 8", n)
	}
	for name, tt := range map[string]struct {
		budget  float64
		start   float64
		repeats int
	}{"slower than thought": {8.5, 300, 8}, "the same": {8.5, 240, 8}, "larger": {10, 240, 10}} {
		p, diags := bought(t, config.Budget{GPUTime: hours(tt.budget * eachOf(t))}, tt.start)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		same, err := p.Continue(before)
		if err != nil || !same || len(p.Repeats) != tt.repeats {
			t.Errorf("%s: %v, %v, %d repeats, want %d", name, same, err, len(p.Repeats), tt.repeats)
		}
	}
}

func eachOf(t *testing.T) float64 {
	t.Helper()
	p, diags := bought(t, config.Budget{GPUTime: 1000 * time.Hour}, 240)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return p.Estimate.GPUHours / 12
}

func hours(h float64) time.Duration { return time.Duration(h * float64(time.Hour)) }

func TestABudgetOfGPUTimeNeedsGPUs(t *testing.T) {
	cfg := configOf(12, 2)
	cfg.Settings.Budget = &config.Budget{GPUTime: time.Hour}
	if _, diags := plan.Build(cfg, plan.Options{LaunchTime: func([]string) float64 { return 60 }}); !diags.HasErrors() ||
		!strings.Contains(diags[0].Summary, "gpu_time needs servers with gpus") {
		t.Errorf("%v", diags)
	}
}

// A budget of money bounds nothing where nothing is charged.
func TestABudgetOfMoneyNeedsAPriceThatCharges(t *testing.T) {
	for name, tt := range map[string]struct {
		gpus  int
		price float64
		want  string
	}{
		"no GPUs":    {0, 2.5, "set gpus"},
		"zero price": {8, 0, "is zero"},
	} {
		cfg := configOf(12, 2)
		for _, s := range cfg.Servers {
			s.Spec.GPUs = tt.gpus
		}
		cfg.Settings.Price = &config.Price{GPUHour: tt.price, Currency: "USD"}
		cfg.Settings.Budget = &config.Budget{Cost: config.Money{Value: 36, Currency: "USD"}}
		_, diags := plan.Build(cfg, plan.Options{LaunchTime: func([]string) float64 { return 60 }})
		if !diags.HasErrors() || !strings.Contains(diags[0].Summary, "charges something") || !strings.Contains(diags[0].Detail, tt.want) {
			t.Errorf("%s: %v", name, diags)
		}
	}
}
