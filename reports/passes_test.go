package reports

import (
	"math"
	"slices"
	"strings"
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
		got := samples(&result.Cell{Runs: tt.runs}, describe(nil, "ttft.p50"))
		if !slices.EqualFunc(got, tt.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// Reports say that a value of a repeat is a mean.
func TestPassesAreNamed(t *testing.T) {
	doc := &result.Document{RepeatsDone: 4, RepeatsPlanned: 4,
		Benchmarks: []result.Benchmark{{Cells: []result.Cell{{Runs: []result.Run{{Pass: 1}, {Pass: 3}}}}}}}
	doc.Gates = []result.Gate{{Addr: "gate.g", Decisions: []result.Decision{{Metric: "ttft.p50"}}}}
	v := newView(doc, Options{})
	if got := v.repeats(4); got != "4 of 4 repeats of 3 passes" {
		t.Error(got)
	}
	if got := v.legend()[0].String(); !strings.Contains(got, "means over the passes of a launch, 3 at most. ") {
		t.Error(got)
	}
}
