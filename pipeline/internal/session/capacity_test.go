package session

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/place/virtual"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/vllm"
)

// TestCapacityInVirtualTime rehearses examples/capacity: chunked prefill carries no less, a slower
// head less, every probe is in the document, and a document is judged again from what it holds.
func TestCapacityInVirtualTime(t *testing.T) {
	for _, tt := range []struct {
		slowdown string
		want     result.Verdict
	}{{"0%", result.Pass}, {"15%", result.Regression}} {
		doc, err := capacityExample(t, nil, "slowdown="+tt.slowdown, "repeats=5").Run(1)
		if err != nil {
			t.Fatal(err)
		}
		if g := doc.Gates[0]; g.Verdict != tt.want {
			t.Errorf("slower by %s: %s: %s", tt.slowdown, g.Verdict, g.Decisions[0].Reason)
		}
		for _, c := range doc.Benchmarks[0].Cells {
			for _, r := range c.Runs {
				checkSearch(t, r)
			}
		}
		if err := judge.Verify(doc, nil); err != nil {
			t.Errorf("judged again: %v", err)
		}
	}
}

func checkSearch(t *testing.T, r result.Run) {
	t.Helper()
	s := r.Search
	if r.Status != result.RunOK || s == nil || s.Capacity == nil || len(s.Probes) < 4 || len(s.Probes) > 8 || s.Stopped == "" {
		t.Fatalf("run %d: %s (%s), search %+v", r.Repeat, r.Status, r.Reason, s)
	}
	if got := r.Metrics["capacity.rate"]; got != *s.Capacity || s.Lower == nil || *s.Lower > got || s.Upper != nil && got > *s.Upper {
		t.Errorf("run %d: capacity %g, %v to %v", r.Repeat, got, s.Lower, s.Upper)
	}
	for _, p := range s.Probes {
		if p.Kind != result.LoadRate || p.Reason == "" || len(p.Objectives) != 3 || p.Sent != 400 || p.Metrics["ttft.p95"] == 0 || p.Held != (p.Headroom >= 0) {
			t.Errorf("run %d: probe %+v", r.Repeat, p)
		}
	}
}

// capacityExample is the example with values of its variables, and with changes to its workloads.
func capacityExample(t *testing.T, change func(*steps.Workload), vars ...string) *Rehearsal {
	t.Helper()
	registry, err := steps.NewRegistry(append(dataset.All().Blocks(), vllm.Kind())...)
	if err != nil {
		t.Fatal(err)
	}
	opt := lang.Options{Paths: []string{"../../../examples/capacity/capacity.pipeline.hcl"}, Registry: registry, Formats: reports.AllFormats().Names(), Env: func() []string { return nil }}
	for _, v := range vars {
		name, text, _ := strings.Cut(v, "=")
		opt.Vars = append(opt.Vars, lang.VarArg{Name: name, Text: text, Origin: "test"})
	}
	cfg, diags := lang.Load(opt)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, b := range cfg.Benchmarks {
		for i := range b.Cells {
			if change != nil {
				change(&b.Cells[i].Workload)
			}
		}
	}
	p, diags := plan.Build(cfg, plan.Options{File: "capacity", Simulated: "process", TimeScale: 1})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	r, err := NewRehearsal([]place.Kind{virtual.Kind()}, cfg, p, simulators, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
