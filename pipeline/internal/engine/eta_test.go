package engine

import (
	"math"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// TestWhatIsLeftFollowsMeasuredStarts: after a start that took four times the estimate, those that are left are expected
// to take as long, and the estimate falls by the time that passes, whatever goes on.
func TestWhatIsLeftFollowsMeasuredStarts(t *testing.T) {
	const repeats = 12
	p := &plan.Plan{Benchmarks: []plan.Benchmark{{Cells: []plan.Cell{{Hash: "c", Seconds: 10}}}}}
	for range repeats {
		p.Repeats = append(p.Repeats, plan.Repeat{Launches: []plan.Launch{{Runs: []plan.Run{{Cell: "c"}}}}})
	}
	p.Estimate.Seconds = repeats * (25 + 10)
	now := time.Unix(0, 0)
	e := newETA(p, func() time.Time { return now })
	pass := func(seconds float64) { now = now.Add(time.Duration(seconds * float64(time.Second))) }
	check := func(when string, want float64) {
		t.Helper()
		if _, left := e.estimate(); math.Abs(left-want) > 1 {
			t.Errorf("%s: %.0f s are left, want %.0f", when, left, want)
		}
	}
	check("at the beginning", repeats*35)
	pass(97)
	e.launched(1, 97)
	check("after the first start", 11*97+repeats*10)
	pass(5)
	check("within the first run", 11*97+repeats*10-5)
	pass(5)
	e.ran("c")
	check("after the first run", 11*(97+10))
	pass(60)
	check("within the second start", 11*(97+10)-60)
	pass(37)
	e.launched(1, 90) // and 7 s for the end of the first
	check("after the second start", 10*97+11*10)
	pass(10)
	e.ran("c")
	pass(50)
	e.failed(1)
	e.dropped("c")
	check("after a start that failed", 9*(97+10))
}
