package plan

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/steps"
)

// inLanes is a configuration of two sides with lanes of some cores and GPUs each.
func inLanes(repeats, lanes int) *lang.Config {
	cfg := config(repeats, 2, 4)
	cfg.Settings.Lanes = &steps.LanesSpec{}
	for i := range lanes {
		cfg.Settings.Lanes.Lanes = append(cfg.Settings.Lanes.Lanes, steps.LaneSpec{Cores: string(rune('0' + i))})
	}
	return cfg
}

func TestRepeatsInLanes(t *testing.T) {
	for _, tt := range []struct {
		repeats, lanes int
		want           string
	}{
		{5, 2, "0bh 1hb; 0hb 1bh; 0bh"},
		{5, 3, "0bh 1hb 2bh; 0hb 1bh"},
		{2, 4, "0bh 1hb"},
		{1, 2, "0bh"},
	} {
		p, diags := Build(inLanes(tt.repeats, tt.lanes), Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := orders(p); got != tt.want {
			t.Errorf("%d repeats in %d lanes: %s, want %s", tt.repeats, tt.lanes, got, tt.want)
		}
	}
}

// The machine is held by all lanes at once: that is what is saved, and GPU time is not.
func TestLanesSaveMachineTime(t *testing.T) {
	start := func([]string) float64 { return 100 }
	cfg := inLanes(8, 2)
	for _, s := range cfg.Servers {
		s.Spec.GPUs = 1
	}
	for i := range cfg.Settings.Lanes.Lanes {
		cfg.Settings.Lanes.Lanes[i].GPUs = []string{string(rune('0' + i))}
	}
	p, diags := Build(cfg, Options{LaunchTime: start})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	cfg.Settings.Lanes = nil
	alone, diags := Build(cfg, Options{LaunchTime: start})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	half := func(name string, got, whole float64) {
		if got < 0.499*whole || got > 0.501*whole {
			t.Errorf("%s: %g of %g", name, got, whole)
		}
	}
	half("time", p.Estimate.Seconds, alone.Estimate.Seconds)
	half("machine", p.Estimate.MachineHours, alone.Estimate.MachineHours)
	if p.Estimate.GPUHours != alone.Estimate.GPUHours {
		t.Errorf("%g GPU-hours, and %g without lanes", p.Estimate.GPUHours, alone.Estimate.GPUHours)
	}
	text := new(bytes.Buffer)
	if err := p.WriteText(text); err != nil {
		t.Fatal(err)
	}
	if want := "2 repeats at a time, each with its sides in one lane: saves "; !strings.Contains(text.String(), want) {
		t.Errorf("the plan lacks %q:\n%s", want, text)
	}
	if p.Fingerprint == alone.Fingerprint {
		t.Error("lanes leave the fingerprint as it is")
	}
}

func TestLanesAreRefused(t *testing.T) {
	attached := inLanes(4, 2)
	attached.Servers[1].Spec.URL, attached.Servers[1].Spec.Executable = "http://h", nil
	fixed := inLanes(4, 2)
	fixed.Servers[1].Spec.Port = 8000
	gpus := inLanes(4, 2)
	gpus.Servers[1].Spec.GPUs = 2
	exporter := inLanes(4, 2)
	exporter.Measures = []steps.Measure{{Name: "joules", Source: steps.MeasureURL, URL: "http://127.0.0.1:9400/metrics"}}
	for name, tt := range map[string]struct {
		cfg  *lang.Config
		want string
	}{
		"an exporter":       {exporter, "measure.joules reads http://127.0.0.1:9400/metrics, which counts what all repeats do"},
		"a server of a url": {attached, "answers at http://h"},
		"a port":            {fixed, "would listen on port 8000 once in each lane"},
		"GPUs":              {gpus, "takes 2 GPUs, and the lane has 0"},
	} {
		if _, diags := Build(tt.cfg, Options{}); !strings.Contains(diags.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, diags, tt.want)
		}
	}
	if p, diags := Build(inLanes(4, 2), Options{Simulated: SimulateProcess}); diags.HasErrors() || p.Lanes != nil || len(p.Rounds()) != 4 {
		t.Errorf("processes in the place of servers have lanes: %v", diags)
	}
}

// What is looked at are the metrics of the gates, within half of their margins or what the file says.
func TestWhatLanesMustNotChange(t *testing.T) {
	p, diags := Build(inLanes(4, 2), Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	all := p.LaneCheck()
	if len(all) != 1 || len(all[0]) != 2 {
		t.Fatalf("the check launches %+v", all)
	}
	checks := all[0]
	for lane, check := range checks {
		if first := p.Repeats[lane].Launches[0]; len(check.Runs) != 2 || check.Target != first.Target || check.Runs[0].Cell != first.Runs[0].Cell {
			t.Errorf("the check launches %+v in lane %d, whose first repeat begins with %+v", check, lane, first)
		}
	}
	if checks[0].Target == checks[1].Target {
		t.Errorf("%s has itself for a neighbour", checks[0].Target)
	}
	check := checks[0]
	of := p.LaneMetrics(check.Runs[0].Cell)
	if len(of) == 0 || of[0].ID != p.Gates[0].Metrics[0] || of[0].Limit != p.Gates[0].Margin/2 {
		t.Errorf("%+v of a gate with %v and margin %g", of, p.Gates[0].Metrics, p.Gates[0].Margin)
	}
	margin := p.Gates[0].Margin
	p.Gates[0].Margin = 0 // of a gate that expects any improvement
	if of := p.LaneMetrics(check.Runs[0].Cell); of[0].ID != p.Gates[0].Metrics[0] || of[0].Limit != defaultMargin/2 {
		t.Errorf("%+v of a gate with %v and no margin", of, p.Gates[0].Metrics)
	}
	p.Gates[0].Margin = margin
	p.Lanes.Interference = 0.01
	if of := p.LaneMetrics(check.Runs[0].Cell); of[0].Limit != 0.01 {
		t.Errorf("limit %g", of[0].Limit)
	}
	swaps := steps.Measure{Name: "swaps", Source: steps.MeasureServers, Scale: metric.Log}
	p.Measures, p.Gates[0].Metrics = []steps.Measure{swaps}, []string{swaps.ID()}
	if of := p.LaneMetrics(check.Runs[0].Cell); of[0].ID != swaps.ID() {
		t.Errorf("%+v of a gate with a measure", of)
	}
	p.Gates = nil
	if of := p.LaneMetrics(check.Runs[0].Cell); len(of) != 2 {
		t.Errorf("without gates: %+v", of)
	}
}

// A side that no lane begins with is launched for the check of lanes, too, beside those that it will be beside.
func TestEverySideIsCheckedInLanes(t *testing.T) {
	p := &Plan{Lanes: &Lanes{List: make([]steps.LaneSpec, 2)}}
	b := Benchmark{Addr: "b", RepeatMax: 2}
	for _, side := range []string{"a", "b", "c", "d", "e"} {
		b.Cells = append(b.Cells, Cell{Hash: side, WorkKey: side, Target: side})
	}
	p.Benchmarks = []Benchmark{b}
	for sides, want := range []string{2: "[ab]", 3: "[ac bb]", 4: "[ad bc]", 5: "[ae bd cc]"} {
		if sides == 0 || want == "" {
			continue
		}
		p.Benchmarks[0].Cells = b.Cells[:sides]
		p.Repeats = schedule(p.Benchmarks, 2)
		var got []string
		for _, launches := range p.LaneCheck() {
			text := ""
			for _, l := range launches {
				text += l.Target
			}
			got = append(got, text)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%d sides: %v, want %s", sides, got, want)
		}
	}
}

// A budget of time that buys all repeats in lanes buys fewer one after another, and says how many.
func TestABudgetOfLanesInOneLane(t *testing.T) {
	cfg := inLanes(12, 2)
	cfg.Benchmarks[0].RepeatMin = 4
	cfg.Settings.Lanes.OnInterference = steps.InterferenceOneLane
	p, diags := Build(cfg, Options{LaunchTime: func([]string) float64 { return 100 }})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	cfg.Settings.Budget = &steps.BudgetSpec{Time: time.Duration((p.Estimate.Seconds + p.Lanes.Check.Seconds) * float64(time.Second))}
	if p, diags = Build(cfg, Options{LaunchTime: func([]string) float64 { return 100 }}); diags.HasErrors() {
		t.Fatal(diags)
	}
	if bought, least := p.Budget.inOneLane(); len(p.Repeats) != 12 || bought != 6 || least < 2 || least > 6 {
		t.Errorf("the budget buys %d repeats in lanes and %d one after another, of which %d are needed", len(p.Repeats), bought, least)
	}
	if one := p.InOneLane(); len(one.Rounds()) != 12 || one.Estimate.Seconds != p.Estimate.Sequential || one.Fingerprint != p.Fingerprint {
		t.Errorf("one after another: %d rounds in %g s", len(one.Rounds()), one.Estimate.Seconds)
	}
	cfg.Settings.Lanes.OnInterference = steps.InterferenceFails
	other, diags := Build(cfg, Options{LaunchTime: func([]string) float64 { return 100 }})
	if _, least := other.Budget.inOneLane(); diags.HasErrors() || least != 0 || other.Fingerprint != p.Fingerprint {
		t.Errorf("a run that ended with its check cannot go on in one lane: %v, %+v", diags, other.Budget)
	}
}

// As many passes as show something, and each lane that begins with a side has its turn.
func TestPassesOfLanes(t *testing.T) {
	for lanes, want := range map[int]int{2: 4, 4: 4, 6: 4, 8: 4, 9: 6, 16: 8} {
		for _, passes := range []int{0, want - 1, want} {
			cfg := inLanes(lanes, lanes)
			cfg.Settings.Lanes.Passes = passes
			p, diags := Build(cfg, Options{})
			if refused := strings.Contains(diags.Error(), fmt.Sprintf("passes must be %d or more", want)); refused != (passes == want-1) || diags.HasErrors() != refused {
				t.Errorf("%d lanes, %d passes: %v", lanes, passes, diags)
			}
			if passes == 0 && (p.Lanes.LeastPasses != want || p.Lanes.Passes != 2*want) {
				t.Errorf("%d lanes are measured in %d to %d passes, want %d to %d", lanes, p.Lanes.LeastPasses, p.Lanes.Passes, want, 2*want)
			}
		}
	}
}
