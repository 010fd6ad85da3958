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
	octaves = 40 // up to five hours; longer counts as that
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
}

func (h *histogram) latency() Latency {
	counts, total := h.counts()
	if total == 0 {
		return Latency{}
	}
	largest := uint64(h.max.Load())
	quantile := func(q float64) float64 {
		rank, seen := uint64(q*float64(total-1))+1, uint64(0)
		for i, n := range counts {
			if seen += n; seen >= rank {
				return seconds(min(upper(i), largest))
			}
		}
		return seconds(largest)
	}
	return Latency{
		Count: total, Mean: seconds(uint64(h.sum.Load())) / float64(total),
		P50: quantile(0.5), P99: quantile(0.99), Max: seconds(largest),
	}
}

func (h *histogram) counts() (counts []uint64, total uint64) {
	counts = make([]uint64, len(h.buckets))
	for i := range h.buckets {
		counts[i] = h.buckets[i].Load()
		total += counts[i]
	}
	return counts, total
}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }
