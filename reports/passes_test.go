package reports

import (
	"math"
	"slices"
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

// Passes of a launch are no further samples of what varies between launches.
func TestPassesAreOneSample(t *testing.T) {
	run := func(repeat, pass int, v float64) result.Run {
		return result.Run{Repeat: repeat, Pass: pass, Status: result.RunOK, Metrics: map[string]float64{"ttft.p50": v}}
	}
	for name, tt := range map[string]struct {
		runs []result.Run
		want []float64
	}{
		"passes":  {[]result.Run{run(1, 1, 0.1), run(1, 2, 0.4), run(2, 1, 0.3), run(2, 2, 0.3)}, []float64{0.2, 0.3}},
		"repeats": {[]result.Run{run(1, 0, 0.1), run(2, 0, 0.4)}, []float64{0.1, 0.4}},
		// Runs of other tools that name no repeat.
		"no repeats": {[]result.Run{run(0, 0, 0.1), run(0, 0, 0.4)}, []float64{0.1, 0.4}},
	} {
		got := samples(&result.Cell{Runs: tt.runs}, "ttft.p50")
		if !slices.EqualFunc(got, tt.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
