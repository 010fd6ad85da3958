package calibrate

import (
	"math"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
)

// TestKolmogorov: the points of the distribution that every table of it has.
func TestKolmogorov(t *testing.T) {
	const n = 1_000_000
	for _, tt := range []struct{ x, p float64 }{{1.2238, 0.10}, {1.3581, 0.05}, {1.6276, 0.01}, {0.1, 1}, {5, 0}} {
		if p := kolmogorov(tt.x/math.Sqrt(n), n); math.Abs(p-tt.p) > 2e-4 {
			t.Errorf("distance %v/√n: p %.4f, want %.4f", tt.x, p, tt.p)
		}
	}
}

// TestArrivals: a Poisson schedule passes at its rate, and neither at another rate nor as
// even gaps.
func TestArrivals(t *testing.T) {
	times := func(l steps.Load) []int64 {
		var out []int64
		for _, d := range load.AllArrivals().Schedule(l, l.Requests, 7) {
			out = append(out, int64(d))
		}
		return out
	}
	poisson := times(steps.Load{Arrival: load.Poisson, Rate: 2000, Requests: 20_000})
	if a := arrivalsOf(poisson, 2000); a.P < 0.01 || math.Abs(a.Rate-2000) > 2 || a.Requests != 20_000 || a.Windows != 10 || a.Passed < 9 {
		t.Errorf("Poisson: %+v", a)
	}
	if a := arrivalsOf(poisson, 1900); a.P > 1e-6 {
		t.Errorf("another rate: %+v", a)
	}
	if a := arrivalsOf(times(steps.Load{Arrival: load.Constant, Rate: 2000, Requests: 4000}), 2000); a.P > 1e-6 ||
		a.Windows != 2 || a.Passed != 0 {
		t.Errorf("even gaps: %+v", a)
	}
	for _, ns := range [][]int64{nil, {1}, {1, 1}, {int64(time.Second), int64(time.Second)}} {
		if a := arrivalsOf(ns, 10); a.P != 1 || a.Rate != 0 || a.Distance != 0 {
			t.Errorf("%v: %+v", ns, a)
		}
	}
}
