package svg

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestTicks(t *testing.T) {
	near := cmpopts.EquateApprox(1e-12, 0)
	for _, c := range []struct {
		name      string
		got, want []float64
	}{
		{"percent", niceTicks(-1.2, 15.4, 4), []float64{-5, 0, 5, 10, 15, 20}},
		{"milliseconds", niceTicks(688, 817, 4), []float64{650, 700, 750, 800, 850}},
		{"small", niceTicks(0, 0.00042, 4), []float64{0, 0.0002, 0.0004, 0.0006}},
		{"nothing", niceTicks(1, 1, 4), nil},
		{"beyond rounding", niceTicks(1e300, 1e300*(1+1e-15), 4), []float64{1e300, 1e300 * (1 + 1e-15)}},
		{"one decade", logTicks(6, 24), []float64{10, 20}},
		{"decades", logTicks(3, 1500), []float64{10, 100, 1000}},
		{"less than a step", logTicks(11, 13), niceTicks(11, 13, 3)},
	} {
		if diff := cmp.Diff(c.want, c.got, near); diff != "" {
			t.Errorf("%s (-want +got): %s", c.name, diff)
		}
	}
}

// TestNiceTicksCover: ticks rise, cover the range, and there are neither too few nor too
// many of them.
func TestNiceTicksCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(-1e6, 1e6).Draw(t, "lo")
		hi := lo + rapid.Float64Range(1e-3, 1e6).Draw(t, "width")
		ticks := niceTicks(lo, hi, 4)
		if !slices.IsSorted(ticks) || len(ticks) < 2 || len(ticks) > 7 {
			t.Fatalf("%g … %g: %v", lo, hi, ticks)
		}
		slack := 1e-9 * math.Max(math.Abs(lo), math.Abs(hi))
		if ticks[0] > lo+slack || ticks[len(ticks)-1] < hi-slack {
			t.Fatalf("%v do not cover %g … %g", ticks, lo, hi)
		}
	})
}

// TestScalesAreMonotone: a larger value is further along the axis, and the ends of the
// data are within it.
func TestScalesAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]Kind{Linear, Log, Percentile}).Draw(t, "kind")
		value := rapid.Float64Range(1e-6, 0.9999)
		a, b := value.Draw(t, "a"), value.Draw(t, "b")
		if b < a {
			a, b = b, a
		}
		s := layout(Axis{Kind: kind}, []float64{a, b}, 50, 350, 4)
		if s.at(a) > s.at(b) || s.at(a) < 50-1e-6 || s.at(b) > 350+1e-6 {
			t.Fatalf("kind %d: %g at %g, %g at %g", kind, a, s.at(a), b, s.at(b))
		}
	})
}

// TestZerosHaveAScale: nothing but zeros is drawn on an axis that can be read.
func TestZerosHaveAScale(t *testing.T) {
	for _, a := range []Axis{{}, {Zero: true}} {
		s := layout(a, []float64{0, 0, 0}, 0, 100, 4)
		if lo, hi := s.ticks[0], s.ticks[len(s.ticks)-1]; lo != 0 || hi != 1 || s.at(0) != 0 {
			t.Errorf("%+v: ticks %v, zero at %g", a, s.ticks, s.at(0))
		}
	}
}
