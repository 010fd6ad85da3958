package session

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"slices"
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

// rehearse makes a rehearsal of an example in virtual time.
func rehearse(t *testing.T, example string, vars map[string]string) *Rehearsal {
	t.Helper()
	registry, err := steps.NewRegistry(append(dataset.All().Blocks(), vllm.Kind())...)
	if err != nil {
		t.Fatal(err)
	}
	o := lang.Options{Paths: []string{"../../../examples/" + example}, Registry: registry, Formats: reports.AllFormats().Names(),
		Env: func() []string { return nil }}
	for name, text := range vars {
		o.Vars = append(o.Vars, lang.VarArg{Name: name, Text: text, Origin: "test"})
	}
	cfg, diags := lang.Load(o)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, diags := plan.Build(cfg.Config, plan.Options{File: example, Simulated: "process", TimeScale: 1})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	r, err := NewRehearsal([]place.Kind{virtual.Kind()}, p, simulators, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var ofFiles = flag.Int("files", 0, "files that TestAcceptance simulates; what is promised was tried with 100")

// TestAcceptance rehearses examples/speculation: of 100 files with equal sides five regress at most,
// of those whose head accepts 3 % less 95 at least; each launch counts what its model was told to
// accept; and what a head computes in vain is marked beside its speed.
func TestAcceptance(t *testing.T) {
	files, requests, less := *ofFiles, 0, 0.683
	switch {
	case *full:
		files = max(files, 15)
	case files == 0:
		files, requests, less = 1, 40, 0.55
	}
	for _, tt := range []struct {
		accept    float64
		regresses bool
	}{{0.7, false}, {less, true}} {
		r := rehearse(t, "speculation/speculation.pipeline.hcl", map[string]string{"acceptance": fmt.Sprintf("%g%%", 100*tt.accept)})
		if requests > 0 {
			for i := range r.plan.Benchmarks[0].Cells {
				r.plan.Benchmarks[0].Cells[i].Workload.Load.Requests = requests
			}
		}
		length := (1 - math.Pow(tt.accept, 5)) / (1 - tt.accept) // of four drafts and the model's token
		var otherwise []string
		for seed := range files {
			doc, err := r.Run(seed)
			if err != nil {
				t.Fatal(err)
			}
			g := doc.Gates[slices.IndexFunc(doc.Gates, func(g result.Gate) bool { return g.Addr == "gate.acceptance" })]
			if (g.Verdict == result.Regression) != tt.regresses {
				otherwise = append(otherwise, fmt.Sprintf("seed %d: %s: %s", seed, g.Verdict, g.Decisions[0].Reason))
			}
			// Six launches of some 300 × 127 / 2.7 steps, with a standard deviation of 1.6 tokens each.
			if got, most := *g.Decisions[0].HeadValue, cmp.Or(float64(requests)*0.001, 0.015); math.Abs(got/length-1) > most {
				t.Errorf("seed %d: acceptance length %.4f, want %.4f", seed, got, length)
			}
			speed := doc.Gates[slices.IndexFunc(doc.Gates, func(g result.Gate) bool { return g.Addr == "gate.speed" })].Decisions[0]
			marked := slices.ContainsFunc(speed.Warnings,
				func(w string) bool { return strings.Contains(w, "did not do the same work: acceptance length 2.") })
			if marked != tt.regresses {
				t.Errorf("seed %d: warnings %q", seed, speed.Warnings)
			}
			if err := judge.Verify(doc, nil); err != nil {
				t.Errorf("judged again: %v", err)
			}
		}
		t.Logf("acceptance %g: %d of %d files otherwise", tt.accept, len(otherwise), files)
		if len(otherwise)*100 > 5*files {
			t.Errorf("acceptance %g, %d files: %q", tt.accept, files, otherwise)
		}
	}
}

// TestCountedTruth: hit rates and energy of a rehearsal are what its requests and steps say.
func TestCountedTruth(t *testing.T) {
	const requests, prefix, input, output = 40, 128, 256, 16
	r := rehearse(t, "speculation/speculation.pipeline.hcl", map[string]string{"repeats": "2"})
	for i := range r.plan.Benchmarks[0].Cells {
		w := &r.plan.Benchmarks[0].Cells[i].Workload
		w.Load.Requests, w.Dataset.PrefixLen, w.Dataset.OutputMin, w.Dataset.OutputMax = requests, prefix, output, output
		w.Load.Rate = 1 // no two requests find an empty cache together
	}
	doc, err := r.Run(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, cell := range doc.Benchmarks[0].Cells {
		for _, run := range cell.Runs {
			// All but the first request find the prefix, of whole blocks.
			if got, want := run.Metrics["prefix_cache.hit_rate"], float64((requests-1)*prefix)/(requests*input); math.Abs(got-want) > 1e-12 {
				t.Errorf("hit rate %g, want %g", got, want)
			}
			// An H100 of the model draws 550 W in a step and a sixth of it between steps.
			joules := run.Metrics["energy.per_output_token"] * requests * output
			if low, high := 550.0/6*run.Duration*0.98, 550*run.Duration; joules < low || joules > high {
				t.Errorf("%g J in %g s, want between %g and %g", joules, run.Duration, low, high)
			}
		}
	}
}
