package router

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestBuckets wants every duration in a bucket that ends at most 1/32 above it.
func TestBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Uint64Range(0, uint64(4*time.Hour)).Draw(t, "ns")
		b := bucketOf(ns)
		if end := upper(b); end < ns || float64(end) > float64(ns)*(1+1.0/32) {
			t.Fatalf("%d is in bucket %d, which ends at %d", ns, b, end)
		}
		if b > 0 && upper(b-1) >= ns {
			t.Fatalf("%d is in bucket %d, but %d ends at %d", ns, b, b-1, upper(b-1))
		}
	})
}

func TestQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, int64(time.Minute)), 1, 300).Draw(t, "values")
		var h histogram
		for _, v := range values {
			h.observe(time.Duration(v))
		}
		slices.Sort(values)
		l := h.latency()
		for q, got := range map[float64]float64{0.5: l.P50, 0.99: l.P99, 1: l.Max} {
			want := float64(values[int(q*float64(len(values)-1))]) / 1e9
			if got < want-1e-12 || got > want*(1+1.0/32)+1e-12 {
				t.Fatalf("quantile %g is %g, want %g", q, got, want)
			}
		}
		if l.Count != uint64(len(values)) {
			t.Fatalf("%d of %d", l.Count, len(values))
		}
	})
}

// What came after a reading is what another histogram of it alone says, up to the width of
// a bucket.
func TestSince(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := func(name string) []int64 {
			return rapid.SliceOfN(rapid.Int64Range(0, int64(time.Minute)), 0, 100).Draw(t, name)
		}
		var both, later histogram
		for _, v := range values("earlier") {
			both.observe(time.Duration(v))
		}
		earlier := both.latency()
		for _, v := range values("later") {
			both.observe(time.Duration(v))
			later.observe(time.Duration(v))
		}
		got, want := both.latency().Since(earlier), later.latency()
		if got.Count != want.Count || math.Abs(got.Mean-want.Mean) > 1e-9*(1+both.latency().Mean*float64(both.latency().Count)) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		for q, pair := range map[string][2]float64{"p50": {got.P50, want.P50}, "p99": {got.P99, want.P99}, "max": {got.Max, want.Max}} {
			if pair[0] < pair[1]-1e-12 || pair[0] > pair[1]*(1+1.0/32)+1e-12 {
				t.Fatalf("%s is %g, want %g", q, pair[0], pair[1])
			}
		}
	})
}

// A router that was started anew has counted other things.
func TestSinceOfAnotherHistogram(t *testing.T) {
	var old, anew histogram
	for range 3 {
		old.observe(time.Second)
	}
	for range 5 {
		anew.observe(time.Millisecond)
	}
	if got := anew.latency().Since(old.latency()); got.Count != 0 || got.P99 != 0 {
		t.Errorf("%+v", got)
	}
}

func TestLongestDuration(t *testing.T) {
	var h histogram
	h.observe(1 << 62)
	h.observe(-1)
	if l := h.latency(); l.Count != 2 || l.Max != float64(1<<62)/1e9 || l.P50 != 0 {
		t.Errorf("%+v", l)
	}
}
