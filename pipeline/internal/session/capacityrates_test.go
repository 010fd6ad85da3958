package session

import (
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

// TestCapacityRates prints and checks what docs/capacity.md promises of searches, in virtual time,
// where the capacity is known: from searches of 64 probes, which are four in every draw alike.
//
//	go test ./pipeline/internal/session -run CapacityRates -full -v
func TestCapacityRates(t *testing.T) {
	if !*full {
		t.Skip("with -full; TestCapacityInVirtualTime is the short version")
	}
	const repeats = 20
	exact := math.Log(ratesCapacity(ratesOf(t, 2, 64, 0, "0%")))
	same := ratesOf(t, repeats, 8, 0, "0%")
	var errs []float64
	covered, probes, launches := 0, 0, 0
	for _, c := range same.Benchmarks[0].Cells {
		for _, r := range c.Runs {
			s := r.Search
			launches, probes = launches+1, probes+len(s.Probes)
			errs = append(errs, math.Abs(math.Log(*s.Capacity)-exact))
			if (s.Lower == nil || math.Log(*s.Lower) <= exact) && (s.Upper == nil || exact <= math.Log(*s.Upper)) {
				covered++
			}
		}
	}
	slices.Sort(errs)
	median, share, mean := 100*errs[launches/2], 100*float64(covered)/float64(launches), float64(probes)/float64(launches)
	t.Logf("capacity %.1f req/s: median error %.2f %%, 95 %% intervals cover %.1f %%, %.1f probes a launch (%d launches)", math.Exp(exact), median, share, mean, launches)
	if median > 2 || share < 93 || mean > 8 {
		t.Error("not as promised")
	}

	rng := rand.New(rand.NewPCG(7, 18))
	alarms := ratesFiles(t, rng, ratesOf(t, repeats, 8, 0.007, "0%"))
	found := ratesFiles(t, rng, ratesOf(t, repeats, 8, 0.007, "11.1%"))
	t.Logf("of 1,000 files of 6 pairs with a margin of 5 %%: equal sides regress in %.1f %%, a head that carries 10 %% less in %.1f %%", alarms, found)
	if alarms > 5 || found < 95 {
		t.Error("not as promised")
	}
}

// ratesOf searches two servers with chunked prefill, the head slower.
func ratesOf(t *testing.T, repeats, probes int, launchNoise float64, slowdown string) *result.Document {
	t.Helper()
	r := capacityExample(t, func(w *steps.Workload) {
		w.Load.Requests, w.Load.Search.Probes = 1000, probes
		w.Load.Search.Min, w.Load.Search.Max = 8, 400
		if probes > 8 {
			w.Load.Search.Resolution = 0.001
		}
		w.Dataset.InputMin, w.Dataset.InputMax = 128, 128
	}, "slowdown="+slowdown, fmt.Sprintf("repeats=%d", repeats))
	for _, s := range r.cfg.Servers {
		s.Spec.Simulate["launch_noise"] = launchNoise
		for i := range s.Spec.Args {
			if s.Spec.Args[i].Name == "enable_chunked_prefill" {
				s.Spec.Args[i].Value = true
			}
		}
	}
	doc, err := r.Run(probes)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// ratesCapacity is the geometric mean over all launches.
func ratesCapacity(doc *result.Document) float64 {
	sum, n := 0.0, 0.0
	for _, c := range doc.Benchmarks[0].Cells {
		for _, r := range c.Runs {
			sum, n = sum+math.Log(*r.Search.Capacity), n+1
		}
	}
	return math.Exp(sum / n)
}

// ratesFiles draws files of 6 pairs from those of a document, has the gates judge them, and returns
// how many regress, in percent.
func ratesFiles(t *testing.T, rng *rand.Rand, doc *result.Document) float64 {
	t.Helper()
	const files = 1000
	m, _ := metric.Lookup("capacity.rate")
	pairs, regressed := doc.Gates[0].Decisions[0].Pairs, 0
	for range files {
		c := gates.Comparison{ID: "capacity", Gate: "gate.capacity", Metric: m, Margin: 0.05, CanFail: true}
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
