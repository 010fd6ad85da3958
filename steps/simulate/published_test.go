package simulate_test

import (
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/model/modeltest"
)

// publishedRun is a row of testdata/published.csv.
type publishedRun struct {
	source, profile, flags                          string
	concurrency, requests, input, output            int
	duration, ttft, tpot                            float64 // 0 where not published
	simulatedDuration, simulatedTTFT, simulatedTPOT float64
}

func readPublishedRuns(t *testing.T) []publishedRun {
	t.Helper()
	var runs []publishedRun
	for _, line := range dataLines(t, "testdata/published.csv") {
		f := strings.Split(line, ",")
		value := func(i int) float64 {
			if f[i] == "-" {
				return 0
			}
			return number(t, f[i])
		}
		runs = append(runs, publishedRun{
			source: f[0], profile: f[1], flags: f[2], concurrency: int(value(3)), requests: int(value(4)), input: int(value(5)),
			output:   int(value(6)),
			duration: value(7), ttft: value(8), tpot: value(9),
		})
	}
	return runs
}

// simulate plays the run without noise: all requests at once, or as many as are sent at a
// time.
func (r *publishedRun) simulate(t *testing.T) {
	t.Helper()
	config := configOf(t, simulate.Settings{Version: "0.11.0", Profile: r.profile}, append([]string{"vllm", "serve"},
		strings.Fields(r.flags)...)...)
	config.Noise = model.Noise{}
	n := r.requests
	if r.concurrency > 0 {
		n = r.concurrency
	}
	timelines, err := modeltest.Model{Config: config}.Replay(uniformArrivals(n, r.input, r.output, 0), 1)
	if err != nil {
		t.Fatalf("%s on %s: %v", r.flags, r.profile, err)
	}
	f := summarize(timelines)
	r.simulatedTTFT, r.simulatedTPOT = f.ttftMean, f.tpotMean
	for _, tl := range timelines {
		r.simulatedDuration = max(r.simulatedDuration, tl.Tokens[len(tl.Tokens)-1].Seconds())
	}
}

// publishedBounds are by how much the figures may be off, as factors: the median and what
// nine of ten stay within. They hold what is reached.
var publishedBounds = map[string]struct{ median, most float64 }{
	"throughput":              {1.7, 3.4},
	"TPOT under a burst":      {1.7, 3.1},
	"TPOT of 1 to 8 requests": {1.75, 5.6},
	"TTFT of one request":     {1.75, 3.4},
}

// TestPublishedModels sets the simulator beside published figures of models from 1.7 to 671
// billion parameters on GPUs that it was not fitted to, and holds by how much it is off. It
// is a check of the arithmetic from parameters, heads and experts to seconds, not a promise:
// engines lose time that a roofline does not know, most of it with short prompts and with
// mixtures of experts.
func TestPublishedModels(t *testing.T) {
	factors := map[string][]float64{}
	runs := readPublishedRuns(t)
	for i := range runs {
		r := &runs[i]
		r.simulate(t)
		add := func(name string, simulated, published float64) {
			factors[name] = append(factors[name], math.Exp(math.Abs(math.Log(simulated/published))))
		}
		burst := r.concurrency == 0
		if burst {
			add("throughput", r.simulatedDuration, r.duration)
			add("TPOT under a burst", r.simulatedTPOT, r.tpot)
		} else {
			add("TPOT of 1 to 8 requests", r.simulatedTPOT, r.tpot)
		}
		if r.concurrency == 1 {
			add("TTFT of one request", r.simulatedTTFT, r.ttft)
		}
		if burst {
			t.Logf("%s %s, %d in %d out × %d: %.1f s, published %.1f s; TPOT %.1f ms, published %.1f ms", r.profile, r.flags, r.input,
				r.output, r.requests,
				r.simulatedDuration, r.duration, r.simulatedTPOT, r.tpot)
		} else {
			t.Logf("%s %s, %d in %d out, %d at a time: TPOT %.1f ms, published %.1f ms; TTFT %.0f ms, published %.0f ms", r.profile, r.flags,
				r.input, r.output, r.concurrency,
				r.simulatedTPOT, r.tpot, r.simulatedTTFT, r.ttft)
		}
	}
	for name, bounds := range publishedBounds {
		median, most := quantile(factors[name], 0.5), quantile(factors[name], 0.9)
		t.Logf("%s: median factor %.2f, nine of ten within %.2f, of %d", name, median, most, len(factors[name]))
		if median > bounds.median || most > bounds.most {
			t.Errorf("%s: worse than it was: median factor %.2f within %.2f, nine of ten %.2f within %.2f", name, median,
				bounds.median, most, bounds.most)
		}
	}
	kept, all := publishedOrder(runs)
	t.Logf("which of two takes longer: %d of %d right", kept, all)
	if kept*10 < all*9 {
		t.Errorf("the order of two workloads is right in %d of %d cases, want 9 of 10", kept, all)
	}
}

// publishedOrder counts the pairs of bursts of as many requests that differ by more than a
// quarter (in model, device or lengths), and those of which the right one takes longer.
func publishedOrder(runs []publishedRun) (kept, all int) {
	for i, a := range runs {
		for _, b := range runs[i+1:] {
			if a.concurrency != 0 || b.concurrency != 0 || a.requests != b.requests || math.Abs(math.Log(a.duration/b.duration)) < math.Log(1.25) {
				continue
			}
			all++
			if (a.duration < b.duration) == (a.simulatedDuration < b.simulatedDuration) {
				kept++
			}
		}
	}
	return kept, all
}
