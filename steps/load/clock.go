package load

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/servegate/pipeline/steps/record"
)

// clockEvery is the interval at which the wall clock is compared with the monotonic one in a run.
const clockEvery = 200 * time.Millisecond

// clock returns the arrival times of bytes, in monotonic wall nanoseconds since the start of the run: by the
// kernel's receive stamp if the connection has them, else by the return of the read.
//
// The kernel stamps with CLOCK_REALTIME. Its offset to the monotonic clock is sampled before, during and
// after the run. Slewing by NTP moves both clocks and does not change it. A step changes it; the audit
// reports the step, and limits make the run void.
type clock struct {
	t0     time.Time
	first  int64        // offset at the start
	offset atomic.Int64 // realtime nanoseconds minus time since t0

	mu   sync.Mutex
	step int64 // the largest change of the offset, with its sign
	// sampled is the time of the last sample, and stalled the sum of the times by which samples were late.
	sampled, stalled int64

	reads, user atomic.Int64
	lagMax      atomic.Int64
	lags        [lagBuckets]atomic.Int32
}

func newClock(t0 time.Time) *clock {
	k := &clock{t0: t0}
	k.sampled = k.now()
	k.first = k.measure()
	k.offset.Store(k.first)
	return k
}

// now returns the time since t0, in nanoseconds.
func (k *clock) now() int64 { return int64(time.Since(k.t0)) }

// measure returns the offset between the clocks. time.Now reads both one after the other; the median of five
// excludes a pair with a delay between the two.
func (k *clock) measure() int64 {
	var offsets [5]int64
	for i := range offsets {
		t := time.Now()
		offsets[i] = t.UnixNano() - int64(t.Sub(k.t0))
	}
	slices.Sort(offsets[:])
	return offsets[len(offsets)/2]
}

// leastStall is the smallest delay of a sample that counts: a busy machine delays each by some milliseconds.
const leastStall = int64(250 * time.Millisecond)

// sample measures the offset again. A late sample shows that the client stood still: it was stopped, or its virtual machine or
// control group was frozen.
func (k *clock) sample() {
	o, now := k.measure(), k.now()
	k.offset.Store(o)
	k.mu.Lock()
	defer k.mu.Unlock()
	if late := now - k.sampled - int64(clockEvery); late >= leastStall {
		k.stalled += late
	}
	k.sampled = now
	if d := o - k.first; max(d, -d) > max(k.step, -k.step) {
		k.step = d
	}
}

// watch samples until the returned function is called.
func (k *clock) watch() (stop func()) { return every(clockEvery, k.sample) }

// every calls f at an interval, and once more when the returned function is called, which waits for that
// call.
func every(d time.Duration, f func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(d)
		defer t.Stop()
		for more := true; more; f() {
			select {
			case <-t.C:
			case <-quit:
				more = false
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// arrival returns when the last byte of a read arrived, by the kernel's stamp unless it is 0, and when the
// read returned, which is now.
func (k *clock) arrival(stamp int64) (at, seen int64) {
	seen = k.now()
	k.reads.Add(1)
	if stamp == 0 {
		k.user.Add(1)
		return seen, seen
	}
	at = min(stamp-k.offset.Load(), seen)
	k.lag(seen - at)
	return at, seen
}

// lagBuckets is the number of buckets, eight for every power of two of nanoseconds.
const lagBuckets = 64 * 8

func (k *clock) lag(ns int64) {
	k.lags[lagBucket(ns)].Add(1)
	for {
		old := k.lagMax.Load()
		if ns <= old || k.lagMax.CompareAndSwap(old, ns) {
			return
		}
	}
}

func lagBucket(ns int64) int {
	if ns < 8 {
		return int(max(ns, 0))
	}
	shift := bits.Len64(uint64(ns)) - 4
	return shift*8 + int(ns>>shift)
}

// lagCeiling returns the largest time of a bucket.
func lagCeiling(bucket int) int64 {
	if bucket < 16 {
		return int64(bucket)
	}
	shift := bucket/8 - 1
	return (int64(bucket%8+8)+1)<<shift - 1
}

// quantile returns a nearest-rank quantile of the lags, rounded up to its bucket's end.
func (k *clock) quantile(q float64) int64 {
	total := k.reads.Load() - k.user.Load()
	rank := int64(q*float64(total) + 0.999999)
	for i := range k.lags {
		if rank -= int64(k.lags[i].Load()); rank <= 0 {
			return min(lagCeiling(i), k.lagMax.Load())
		}
	}
	return k.lagMax.Load()
}

// fill writes the clock's figures.
func (k *clock) fill(out *record.Audit) {
	reads, user := k.reads.Load(), k.user.Load()
	out.Reads = int(reads)
	out.Clock = "user"
	if user < reads {
		out.Clock, out.UserReads = "kernel", int(user)
		out.ReadLagP50, out.ReadLagP99, out.ReadLagMax = k.quantile(0.5), k.quantile(0.99), k.lagMax.Load()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	out.ClockStep, out.Stalled = k.step, k.stalled
}
