package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/steps"
)

// confirming plans a file of two sides at two rates on two machines.
func confirming(t *testing.T, change func(*lang.Config)) (*Plan, hcl.Diagnostics) {
	t.Helper()
	cfg := config(12, 2, 4)
	cfg.Benchmarks[0].RepeatMin = 4
	for _, s := range cfg.Servers {
		s.Spec.GPUs, s.Spec.Image, s.Spec.Executable = 2, "vllm", nil
	}
	cfg.Settings.Docker = &steps.DockerSpec{Hosts: make([]steps.DockerHost, 2)}
	cfg.Settings.Machines = &steps.MachinesSpec{Confirm: true}
	cfg.Settings.MachinesRange = hcl.Range{Filename: "two.pipeline.hcl", Start: hcl.Pos{Line: 3, Column: 3}}
	change(cfg)
	return Build(cfg, Options{File: "two.pipeline.hcl", LaunchTime: func([]string) float64 { return 240 }})
}

// TestConfirmingMeasuresWhatRegressed on the second machine, and nothing else, with other content.
func TestConfirmingMeasuresWhatRegressed(t *testing.T) {
	p, diags := confirming(t, func(*lang.Config) {})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, r := range p.Repeats {
		if r.Lane != 0 {
			t.Errorf("repeat %d runs on machine %d", r.Index, r.Lane)
		}
	}
	red := p.Gates[0].Comparisons[1]
	again := p.Confirming([]Compared{{"gate.latency", red.Head, "ttft.p50"}})
	if len(again.Repeats) != 12 || !slices.Equal(again.Looks, p.Looks) || again.FamilySize != 1 || again.Confirm != nil || again.Fingerprint == p.Fingerprint {
		t.Errorf("%d repeats with looks %v, a family of %d", len(again.Repeats), again.Looks, again.FamilySize)
	}
	if len(again.Benchmarks) != 1 || len(again.Benchmarks[0].Cells) != 2 || len(again.Gates) != 1 || len(again.Gates[0].Comparisons) != 1 {
		t.Fatalf("%+v", again.Gates)
	}
	seeds := map[uint64]bool{}
	for _, r := range p.Repeats {
		for _, l := range r.Launches {
			for _, run := range l.Runs {
				seeds[run.Seed] = true
			}
		}
	}
	for i, r := range again.Repeats {
		if r.Lane != confirmLane || len(r.Launches) != 2 || r.Launches[0].Target != p.Repeats[i].Launches[0].Target {
			t.Errorf("%+v", r)
		}
		for _, l := range r.Launches {
			if len(l.Runs) != 1 || l.Runs[0].Cell != red.Head && l.Runs[0].Cell != red.Base || seeds[l.Runs[0].Seed] || l.Runs[0].Seed != r.Launches[0].Runs[0].Seed {
				t.Errorf("%s runs %+v", l.ID, l.Runs)
			}
		}
	}
	if p.Confirm == nil || p.Confirm.Launches != p.Estimate.Launches || p.Confirm.GPUHours != p.Estimate.GPUHours {
		t.Errorf("confirming takes %+v at most, and the repeats %+v", p.Confirm, p.Estimate)
	}
}

// TestABudgetIsForBothMachines: it buys as many repeats as can be confirmed with it.
func TestABudgetIsForBothMachines(t *testing.T) {
	whole, _ := confirming(t, func(*lang.Config) {})
	each := whole.Estimate.GPUHours / 12
	p, diags := confirming(t, func(cfg *lang.Config) { cfg.Settings.Budget = &steps.BudgetSpec{GPUTime: hours(12.1 * each)} })
	if diags.HasErrors() || len(p.Repeats) != 6 || p.Confirm.Launches != 12 || p.Exceeded(p.spending()) != "" {
		t.Errorf("%d repeats and %+v for a budget of 12: %v", len(p.Repeats), p.Confirm, diags)
	}
	if _, diags := confirming(t, func(cfg *lang.Config) { cfg.Settings.Budget = &steps.BudgetSpec{GPUTime: hours(7 * each)} }); !diags.HasErrors() || !strings.Contains(diags[0].Detail, "4 repeats") {
		t.Errorf("a budget that confirms nothing: %v", diags)
	}
	left := Budget{GPUHours: 3, Seconds: 100}.Left(Spending{GPUHours: 1, Seconds: 200}, 5)
	if left.GPUHours != 2 || left.Seconds <= 0 || left.Seconds > 1 || left.Amount != 0 {
		t.Errorf("%+v is left", left)
	}
}

func TestWhatCannotBeConfirmedIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*lang.Config)
		want   string
		line   int
	}{
		"one machine":   {func(cfg *lang.Config) { cfg.Settings.Docker.Hosts = cfg.Settings.Docker.Hosts[:1] }, "machines needs two", 3},
		"three of them": {func(cfg *lang.Config) { cfg.Settings.Docker.Hosts = make([]steps.DockerHost, 3) }, "Leave 1 out, or confirm", 3},
		"no pairs":      {func(cfg *lang.Config) { cfg.Gates[0].OnRegression = "warn" }, "no gate of the file fails", 3},
		"a suite": {func(cfg *lang.Config) {
			cfg.Gates[0].SuiteMargin, cfg.Gates[0].Range = 0.02, hcl.Range{Filename: "two.pipeline.hcl", Start: hcl.Pos{Line: 9}}
		}, "suite_margin", 9},
		"results from elsewhere": {func(cfg *lang.Config) {
			cfg.Benchmarks[0].Range = hcl.Range{Filename: "two.pipeline.hcl", Start: hcl.Pos{Line: 7}}
			for i := range cfg.Benchmarks[0].Cells {
				cfg.Benchmarks[0].Cells[i].Workload.Driver = &steps.Driver{Kind: steps.DriverResults}
			}
		}, "cannot be run again", 7},
	} {
		_, diags := confirming(t, tt.change)
		if !diags.HasErrors() || !strings.Contains(diags[0].Summary+" "+diags[0].Detail, tt.want) || diags[0].Subject.Start.Line != tt.line {
			t.Errorf("%s: %v, want …%s… on line %d", name, diags, tt.want, tt.line)
		}
	}
}

// A budget of time is shared like one of GPU time.
func TestABudgetOfTimeIsForBothMachines(t *testing.T) {
	whole, _ := confirming(t, func(*lang.Config) {})
	p, diags := confirming(t, func(cfg *lang.Config) {
		cfg.Settings.Budget = &steps.BudgetSpec{Time: time.Duration(whole.Estimate.Seconds * 1e9)}
	})
	if diags.HasErrors() || len(p.Repeats) != 6 {
		t.Errorf("%d repeats for the time of 12: %v", len(p.Repeats), diags)
	}
}
