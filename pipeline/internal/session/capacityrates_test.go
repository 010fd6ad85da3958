package session_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// carried is a server of the simulator, with its capacity within the limits of examples/capacity at 1,000
// requests a probe: the mean of four searches of 64 probes.
type carried struct {
	name          string
	input, output int
	chunked       bool
	seats         int // 0 for the engine's own
	min, max      float64
	capacity      float64
	// promised of the launches of a test, percent.
	median, covered float64
}

var (
	chunkedShort = carried{name: "chunked prefill of short prompts", input: 128, output: 8, chunked: true, min: 8, max: 400, capacity: 217.1,
		median: 2, covered: 90}
	wholePrompts = carried{name: "whole prompts of 1,024 tokens", input: 1024, output: 8, min: 2, max: 32, capacity: 19.69,
		median: 3, covered: 75}
	fewSeats = carried{name: "16 seats, with a queue before them", input: 128, output: 64, chunked: true, seats: 16, min: 8, max: 400,
		capacity: 79.37, median: 2, covered: 75}
)

var launches = flag.Int("launches", 12, "launches of each server in TestCapacityIntervals")

// TestCapacityIntervals prints and checks errors and intervals of searches in virtual time. Few launches are
// behind each number; docs/evidence/error-rates.md has many searches of the headrooms that these servers have.
//
//	go test ./pipeline/internal/session -run CapacityIntervals -full -v -launches 60
func TestCapacityIntervals(t *testing.T) {
	if !*full {
		t.Skip("with -full; TestCapacityInVirtualTime is the short version")
	}
	for _, c := range []carried{chunkedShort, wholePrompts, fewSeats} {
		var errs []float64
		covered, probes := 0, 0
		runs := c.search(t, *launches, 0, "0%").Benchmarks[0].Cells[0].Runs // the other side has the same draws
		for _, r := range runs {
			s := r.Search
			probes += len(s.Probes)
			errs = append(errs, 100*math.Abs(math.Log(*s.Capacity/c.capacity)))
			if (s.Lower == nil || *s.Lower <= c.capacity) && (s.Upper == nil || c.capacity <= *s.Upper) {
				covered++
			}
		}
		slices.Sort(errs)
		median, share, mean := errs[len(runs)/2], 100*float64(covered)/float64(len(runs)), float64(probes)/float64(len(runs))
		t.Logf("%s, %.4g req/s: median error %.2f %%, 95 %% intervals cover %.1f %%, %.1f probes a launch (%d launches)", c.name, c.capacity,
			median, share, mean, len(runs))
		if median > c.median || share < c.covered || mean > 8 {
			t.Error("not as promised")
		}
	}
}

// TestCapacityRates prints and checks how often files of searched launches are right, in virtual time.
//
//	go test ./pipeline/internal/session -run CapacityRates -full -v
func TestCapacityRates(t *testing.T) {
	if !*full {
		t.Skip("with -full; TestCapacityInVirtualTime is the short version")
	}
	const repeats = 20
	rng := rand.New(rand.NewPCG(7, 18))
	alarms := ratesFiles(t, rng, chunkedShort.search(t, repeats, 0.007, "0%"))
	found := ratesFiles(t, rng, chunkedShort.search(t, repeats, 0.007, "11.1%"))
	t.Logf("of 1,000 files of 6 pairs with a margin of 5 %%: equal sides regress in %.1f %%, a head that carries 10 %% less in %.1f %%",
		alarms, found)
	if alarms > 5 || found < 95 {
		t.Error("not as promised")
	}
}

// search two of the servers, the head slower.
func (c carried) search(t *testing.T, repeats int, launchNoise float64, slowdown string) *result.Document {
	t.Helper()
	cfg := loadExample(t, "capacity", "slowdown="+slowdown, fmt.Sprintf("repeats=%d", repeats))
	eachWorkload(cfg, func(w *steps.Workload) {
		w.Load.Requests, w.Load.Search.Min, w.Load.Search.Max = 1000, c.min, c.max
		w.Dataset.InputMin, w.Dataset.InputMax = c.input, c.input
		w.Dataset.OutputMin, w.Dataset.OutputMax = c.output, c.output
	})
	for _, s := range cfg.Servers {
		s.Spec.Simulate["launch_noise"] = launchNoise
		for i := range s.Spec.Args {
			if s.Spec.Args[i].Name == "enable_chunked_prefill" {
				s.Spec.Args[i].Value = c.chunked
			}
		}
		if c.seats > 0 {
			s.Spec.Args = append(s.Spec.Args, steps.Arg{Name: "max_num_seqs", Value: c.seats})
		}
	}
	doc, err := rehearse(t, cfg).Run(8)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// ratesFiles draws files of 6 pairs from those of a document, has the gates judge them, and returns
// how many regress, in percent.
func ratesFiles(t *testing.T, rng *rand.Rand, doc *result.Document) float64 {
	t.Helper()
	const files = 1000
	m, _ := metric.Lookup("capacity.rate")
	pairs, regressed := doc.Gates[0].Decisions[0].Pairs, 0
	for range files {
		c := gates.Comparison{ID: "capacity", Gate: "gate.capacity", Metric: m, Claim: gates.Claim{Margin: 0.05}, CanFail: true}
		for k, i := range rng.Perm(len(pairs))[:6] {
			c.Pairs = append(c.Pairs, gates.Pair{Repeat: k + 1, Base: pairs[i].Base, Head: pairs[i].Head})
		}
		j, err := gates.Judge(gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}})
		if err != nil {
			t.Fatal(err)
		}
		if j.Comparisons[0].Verdict == gates.Regression {
			regressed++
		}
	}
	return 100 * float64(regressed) / files
}
