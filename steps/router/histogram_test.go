package router

import (
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

func TestLongestDuration(t *testing.T) {
	var h histogram
	h.observe(1 << 62)
	h.observe(-1)
	if l := h.latency(); l.Count != 2 || l.Max != float64(1<<62)/1e9 || l.P50 != 0 {
		t.Errorf("%+v", l)
	}
}
