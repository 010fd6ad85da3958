package machine

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/probe"
)

// TestEnergy: the integral of the power within the run, or why it is not known.
func TestEnergy(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	watts := func(pairs ...float64) (out []probe.Snapshot) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, probe.Snapshot{At: at(pairs[i]), GPUs: []probe.GPU{{UUID: "a", Power: pairs[i+1]}, {UUID: "b", Power: 10}}})
		}
		return out
	}
	for name, tt := range map[string]struct {
		seen    []probe.Snapshot
		used    []string
		joules  float64
		problem string
	}{
		"constant":                   {watts(0, 100, 5, 100, 10, 100), []string{"a"}, 800, ""},
		"a ramp":                     {watts(0, 0, 10, 100), []string{"a"}, 400, ""}, // from 10 W after 1 s to 90 W after 9 s
		"of two":                     {watts(0, 100, 10, 100), []string{"a", "b"}, 880, ""},
		"before the run":             {watts(-20, 500, 0, 100, 5, 100, 10, 100), []string{"a"}, 800, ""},
		"read after it began":        {watts(3, 100, 8, 100), []string{"a"}, 800, ""},
		"once":                       {watts(3, 100), []string{"a"}, 0, "read 1 times"},
		"never":                      {watts(0, probe.Unknown, 10, probe.Unknown), []string{"a"}, 0, "read 0 times"},
		"not for too long a time":    {watts(0, 100, 40, 100), []string{"a"}, 0, "was not read for 40s"},
		"one of two does not report": {watts(0, 100, 10, 100), []string{"a", "c"}, 0, "GPU c"},
	} {
		got := gpuEnergy(tt.seen, tt.used, at(1), at(9))
		if math.Abs(got.joules-tt.joules) > 1e-9 || !strings.Contains(got.unknown, tt.problem) || (got.unknown != "") != (tt.problem != "") {
			t.Errorf("%s: %+v, want %g %q", name, got, tt.joules, tt.problem)
		}
	}
}

// TestEnergyOfSamples: how far the integral of what nvidia-smi shows every five seconds, the mean of the last
// second, is from the true energy of a GPU whose power leaps. docs/measures.md states it.
func TestEnergyOfSamples(t *testing.T) {
	const step = 0.05 // s
	for _, tt := range []struct{ seconds, most float64 }{{60, 0.06}, {300, 0.025}, {1200, 0.0125}} {
		sum, squares, n := 0.0, 0.0, 400
		for seed := range n {
			draw := rand.New(rand.NewPCG(uint64(seed), 1))
			var power []float64 // of a batch that fills and drains: 40 % to 100 % of 700 W, for 0.5 to 10 s each
			for float64(len(power))*step < tt.seconds+20 {
				watts := 700 * (0.4 + 0.6*draw.Float64())
				for range int((0.5 + 9.5*draw.Float64()) / step) {
					power = append(power, watts)
				}
			}
			joules := make([]float64, len(power)+1)
			for i, w := range power {
				joules[i+1] = joules[i] + w*step
			}
			mean := func(from, to float64) float64 { return (joules[int(to/step)] - joules[int(from/step)]) / (to - from) }
			start := time.Unix(0, 0)
			at := func(s float64) time.Time { return start.Add(time.Duration(s * 1e9)) }
			var seen []probe.Snapshot
			for s := 1 + 5*draw.Float64(); s < tt.seconds+15; s += 5 {
				seen = append(seen, probe.Snapshot{At: at(s), GPUs: []probe.GPU{{UUID: "a", Power: mean(s-1, s)}}})
			}
			got := gpuEnergy(seen, []string{"a"}, at(10), at(10+tt.seconds))
			e := got.joules/(tt.seconds*mean(10, 10+tt.seconds)) - 1
			sum, squares = sum+e, squares+e*e
		}
		bias, sd := sum/float64(n), math.Sqrt(squares/float64(n))
		t.Logf("runs of %4.0f s: bias %+.2f %%, standard deviation %.2f %%", tt.seconds, 100*bias, 100*sd)
		if sd > tt.most || math.Abs(bias) > 0.006 {
			t.Errorf("runs of %g s: bias %g, standard deviation %g, at most %g", tt.seconds, bias, sd, tt.most)
		}
	}
}
