package session_test

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

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
		r, p := rehearsePlan(t, loadExample(t, "speculation", fmt.Sprintf("acceptance=%g%%", 100*tt.accept)))
		if requests > 0 {
			for i := range p.Benchmarks[0].Cells {
				p.Benchmarks[0].Cells[i].Workload.Load.Requests = requests
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
	r, p := rehearsePlan(t, loadExample(t, "speculation", "repeats=2"))
	for i := range p.Benchmarks[0].Cells {
		w := &p.Benchmarks[0].Cells[i].Workload
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
