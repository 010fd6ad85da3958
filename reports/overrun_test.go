package reports

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/svg"
	"pgregory.net/rapid"
)

func TestOverRuns(t *testing.T) {
	got := overRuns([]result.Series{
		{T: []float64{0, 1, 2, 3, 4}, V: []float64{1, 1, 2, 2, 3}},
		{T: []float64{0, 1, 2, 3, 4}, V: []float64{3, 3, 4, 4, 5}},
		{T: []float64{0, 4}, V: []float64{2, 4}}, // says nothing of the time between
	}, 10)
	want := []svg.Point{
		{X: 0.4, Y: 20, Low: 10, High: 30}, {X: 1.2, Y: 20, Low: 10, High: 30}, {X: 2, Y: 30, Low: 20, High: 40},
		{X: 2.8, Y: 30, Low: 20, High: 40}, {X: 3.6, Y: 40, Low: 30, High: 50},
	}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); d != "" {
		t.Error(d)
	}
	for name, s := range map[string]result.Series{
		"empty": {}, "one point": {T: []float64{1}, V: []float64{1}}, "one time": {T: []float64{1, 1}, V: []float64{1, 2}},
		"no values": {T: []float64{1, 2}},
	} {
		if got := overRuns([]result.Series{s}, 1); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := overRuns([]result.Series{{T: []float64{1}, V: []float64{1}}, {T: []float64{1.1}, V: []float64{2}}}, 1); len(got) > 0 {
		t.Errorf("one point of each run: %v", got)
	}
}

// Whatever a document says, no part of a chart is outside its runs.
func TestOverRunsStaysInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOf(rapid.Float64())
		runs := make([]result.Series, rapid.IntRange(1, 4).Draw(t, "runs"))
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := range runs {
			runs[i] = result.Series{T: numbers.Draw(t, "t"), V: numbers.Draw(t, "v")}
			for _, v := range runs[i].T[:min(len(runs[i].T), len(runs[i].V))] {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
		for _, p := range overRuns(runs, 1) {
			if p.X < lo || p.X > hi || p.Low > p.Y || p.Y > p.High {
				t.Fatalf("point %+v of times from %v to %v", p, lo, hi)
			}
		}
	})
}
