package router

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram of durations, for many writers at once. Each power of two of nanoseconds has
// 32 buckets of equal width, so that a quantile is at most 1/32 above the truth.
type histogram struct {
	buckets [32 * octaves]atomic.Uint64
	sum     atomic.Int64 // nanoseconds
	max     atomic.Int64
}

const (
	subBits = 5
	octaves = 40 // up to five hours; longer durations count as that
)

func bucketOf(ns uint64) int {
	exp := max(bits.Len64(ns)-subBits-1, 0)
	return min(exp<<subBits+int(ns>>exp), 32*octaves-1)
}

// upper is the largest value of a bucket.
func upper(bucket int) uint64 {
	exp := max(bucket>>subBits-1, 0)
	return uint64(bucket-exp<<subBits+1)<<exp - 1
}

func (h *histogram) observe(d time.Duration) {
	d = max(d, 0)
	h.buckets[bucketOf(uint64(d))].Add(1)
	h.sum.Add(int64(d))
	for old := h.max.Load(); int64(d) > old && !h.max.CompareAndSwap(old, int64(d)); {
		old = h.max.Load()
	}
}

// Latency is a distribution in seconds. A quantile is its bucket's upper end, at most 1/32
// above the truth.
type Latency struct {
	Count uint64  `json:"count"`
	Mean  float64 `json:"mean_seconds"`
	P50   float64 `json:"p50_seconds"`
	P99   float64 `json:"p99_seconds"`
	Max   float64 `json:"max_seconds"`
	// Buckets that are not empty, in ascending order.
	Buckets []Bucket `json:"buckets,omitempty"`
}

// Bucket counts the values up to its end and above the end of the previous bucket.
type Bucket struct {
	Upper float64 `json:"le_seconds"`
	Count uint64  `json:"count"`
}

func (h *histogram) latency() Latency {
	var l Latency
	for i := range h.buckets {
		if n := h.buckets[i].Load(); n > 0 {
			l.Buckets = append(l.Buckets, Bucket{seconds(upper(i)), n})
			l.Count += n
		}
	}
	if l.Count == 0 {
		return l
	}
	l.Mean, l.Max = seconds(uint64(h.sum.Load()))/float64(l.Count), seconds(uint64(h.max.Load()))
	l.P50, l.P99 = l.quantile(0.5), l.quantile(0.99)
	return l
}

// quantile returns the end of the bucket that holds the value of the given rank.
func (l Latency) quantile(q float64) float64 {
	rank, seen := uint64(q*float64(l.Count-1))+1, uint64(0)
	for _, b := range l.Buckets {
		if seen += b.Count; seen >= rank {
			return min(b.Upper, l.Max)
		}
	}
	return l.Max
}

// Since returns the distribution of the values after an earlier reading of the same histogram. Its maximum is
// rounded up to the end of a bucket. It is empty if the earlier reading is from another histogram, such as
// one of a router that has restarted.
func (l Latency) Since(earlier Latency) Latency {
	before := map[float64]uint64{}
	for _, b := range earlier.Buckets {
		before[b.Upper] = b.Count
	}
	out := Latency{}
	for _, b := range l.Buckets {
		if b.Count < before[b.Upper] {
			return Latency{}
		}
		if n := b.Count - before[b.Upper]; n > 0 {
			out.Buckets = append(out.Buckets, Bucket{b.Upper, n})
			out.Count += n
			out.Max = min(b.Upper, l.Max)
		}
	}
	if out.Count == 0 || l.Count != earlier.Count+out.Count {
		return Latency{}
	}
	out.Mean = max(0, l.Mean*float64(l.Count)-earlier.Mean*float64(earlier.Count)) / float64(out.Count)
	out.P50, out.P99 = out.quantile(0.5), out.quantile(0.99)
	return out
}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }
