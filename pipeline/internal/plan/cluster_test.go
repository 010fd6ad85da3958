package plan_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
)

// clustered is a configuration of two sides on a cluster.
func clustered(repeats int, spec steps.SlurmSpec) *config.Config {
	cfg := configOf(repeats, 2, 4)
	cfg.Settings.Slurm = &spec
	return cfg
}

// lanesOf writes the schedule: the lane of each repeat of each round.
func lanesOf(p *plan.Plan) string {
	var rounds []string
	for _, round := range p.Rounds() {
		var words []string
		for _, r := range round {
			words = append(words, fmt.Sprint(r.Lane))
		}
		rounds = append(rounds, strings.Join(words, " "))
	}
	return strings.Join(rounds, "; ")
}

func TestRepeatsSideBySide(t *testing.T) {
	for _, tt := range []struct {
		spec steps.SlurmSpec
		want string
	}{
		{steps.SlurmSpec{Nodes: 4}, "0; 0; 0; 0; 0"},
		{steps.SlurmSpec{Nodes: 2, SideBySide: true}, "0 1; 0 1; 0"},
		{steps.SlurmSpec{Nodes: 3, SideBySide: true}, "0 1 2; 0 1"},
		{steps.SlurmSpec{Nodes: 9, SideBySide: true}, "0 1 2 3 4"},
		{steps.SlurmSpec{Nodes: 4, SideBySide: true, LoadNode: new(0)}, "0 1 2 3; 0"},
		{steps.SlurmSpec{Nodes: 4, SideBySide: true, LoadNode: new(1)}, "0 1; 0 1; 0"}, // two nodes for each
	} {
		p, diags := plan.Build(clustered(5, tt.spec), plan.Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := lanesOf(p); got != tt.want {
			t.Errorf("%d nodes: %s, want %s", tt.spec.Nodes, got, tt.want)
		}
	}
}

// Machines side by side are taken at the same time, each by every so many repeats as without, and a round more does not fit.
func TestMachinesSideBySide(t *testing.T) {
	cfg := clustered(5, steps.SlurmSpec{Nodes: 3, SideBySide: true})
	cfg.Settings.Machines = &config.Machines{Between: 0.03}
	p, diags := plan.Build(cfg, plan.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if got, want := lanesOf(p), "0 1 2; 0 1"; got != want || p.Machines == nil || p.Machines.Count != p.Cluster.Lanes {
		t.Errorf("%s on %+v, want %s", got, p.Machines, want)
	}
	cfg.Settings.Slurm.SideBySide = false
	turns, _ := plan.Build(cfg, plan.Options{})
	if got, want := lanesOf(turns), "0; 1; 2; 0; 1"; got != want || turns.Estimate.Seconds <= 2*p.Estimate.Seconds {
		t.Errorf("in turn %s in %g s, and %g s side by side", got, turns.Estimate.Seconds, p.Estimate.Seconds)
	}
}

// TestClusterIsPartOfTheFingerprint as far as it changes what is measured.
func TestClusterIsPartOfTheFingerprint(t *testing.T) {
	built := func(change func(*steps.SlurmSpec)) string {
		spec := steps.SlurmSpec{Partition: "gpu", Account: "us", Time: time.Hour, Nodes: 2, GPUsPerNode: 1, Runtime: steps.RuntimeNone}
		change(&spec)
		p, diags := plan.Build(clustered(4, spec), plan.Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return p.Fingerprint
	}
	as := built(func(*steps.SlurmSpec) {})
	for name, change := range map[string]func(*steps.SlurmSpec){
		"partition":     func(s *steps.SlurmSpec) { s.Partition = "other" },
		"constraint":    func(s *steps.SlurmSpec) { s.Constraint = "h100" },
		"nodes":         func(s *steps.SlurmSpec) { s.Nodes = 3 },
		"gpus_per_node": func(s *steps.SlurmSpec) { s.GPUsPerNode = 2 },
		"exclusive":     func(s *steps.SlurmSpec) { s.Shared = true },
		"runtime":       func(s *steps.SlurmSpec) { s.Runtime = steps.RuntimePyxis },
		"extra_args":    func(s *steps.SlurmSpec) { s.ExtraArgs = []string{"--nodelist=n7"} },
		"side_by_side":  func(s *steps.SlurmSpec) { s.SideBySide = true },
		"load_node":     func(s *steps.SlurmSpec) { s.LoadNode = new(0) },
	} {
		if built(change) == as {
			t.Errorf("a change of %s leaves the fingerprint as it is", name)
		}
	}
	for name, change := range map[string]func(*steps.SlurmSpec){
		"account":       func(s *steps.SlurmSpec) { s.Account = "them" },
		"time":          func(s *steps.SlurmSpec) { s.Time = 2 * time.Hour },
		"queue_timeout": func(s *steps.SlurmSpec) { s.QueueTimeout = time.Minute },
	} {
		if built(change) != as {
			t.Errorf("a change of %s, which measures the same, changes the fingerprint", name)
		}
	}
}

func TestSideBySideIsRefused(t *testing.T) {
	both := steps.SlurmSpec{Nodes: 2, SideBySide: true}
	attached := clustered(4, both)
	attached.Servers[1].Spec.URL, attached.Servers[1].Spec.Executable = "http://h", nil
	wide := clustered(4, both)
	wide.Servers[0].Spec.Node = 1
	spread := clustered(4, both)
	spread.Servers[0].Spec.Nodes = 2
	exporter := clustered(4, both)
	exporter.Measures = []steps.Measure{{Name: "joules", Source: steps.MeasureURL, URL: "http://h:9400/metrics"}}
	for name, tt := range map[string]struct {
		cfg  *config.Config
		want string
	}{
		"an exporter":        {exporter, "measure.joules reads http://h:9400/metrics"},
		"one node":           {clustered(4, steps.SlurmSpec{Nodes: 1, SideBySide: true}), "set nodes = 2"},
		"a server of a url":  {attached, "answers at http://h"},
		"two nodes a repeat": {wide, "set nodes = 4"},
		"a spread server":    {spread, "set nodes = 4"},
	} {
		if _, diags := plan.Build(tt.cfg, plan.Options{}); !strings.Contains(diags.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, diags, tt.want)
		}
	}
	p, diags := plan.Build(clustered(4, both), plan.Options{Simulated: "process"})
	if diags.HasErrors() || p.Cluster != nil || len(p.Rounds()) != 4 {
		t.Errorf("a rehearsal on one machine has %v and %d rounds: %v", p.Cluster, len(p.Rounds()), diags)
	}
}

func TestSideBySideSaysWhatItSaves(t *testing.T) {
	p, diags := plan.Build(clustered(6, steps.SlurmSpec{Nodes: 3, SideBySide: true}), plan.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if e := p.Estimate; e.Sequential < 2.99*e.Seconds || e.Sequential > 3.01*e.Seconds {
		t.Errorf("%g s side by side and %g s one after another", e.Seconds, e.Sequential)
	}
	if len(p.Warnings) > 0 {
		t.Errorf("warnings %q", p.Warnings)
	}
	for _, test := range gates.StandardTests().OfRuns() {
		cfg := clustered(12, steps.SlurmSpec{Nodes: 3, SideBySide: true})
		cfg.Gates[0].TestName = test.Name
		p, diags := plan.Build(cfg, plan.Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		apart := fmt.Sprintf("test = %q takes the sides of a repeat apart", test.Name)
		if got := strings.Join(p.Warnings, "\n"); strings.Contains(got, apart) != (test.Design == gates.Unpaired) {
			t.Errorf("%s: warnings %q", test, got)
		}
	}
	text := new(bytes.Buffer)
	if err := p.WriteText(text); err != nil {
		t.Fatal(err)
	}
	saved := plan.Duration(p.Estimate.Sequential - p.Estimate.Seconds)
	if want := "side by side  3 repeats at a time, each with its sides on one node: saves " + saved; !strings.Contains(text.String(), want) {
		t.Errorf("the plan lacks %q:\n%s", want, text)
	}
}

// TestDriversStayWhereTheCommandRuns: load of a node is our own load generator's.
func TestDriversStayWhereTheCommandRuns(t *testing.T) {
	cfg := clustered(4, steps.SlurmSpec{Nodes: 2, LoadNode: new(1)})
	cfg.Benchmarks[0].Cells[0].Workload.Driver = &steps.Driver{Kind: steps.DriverExec, Command: []string{"bench"}}
	_, diags := plan.Build(cfg, plan.Options{})
	if !diags.HasErrors() || !strings.Contains(diags.Error(), "load_node is for this program's own load generator") {
		t.Errorf("a driver beside load_node: %v", diags)
	}
}
