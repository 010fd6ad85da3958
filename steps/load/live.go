package load

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// progressEvery is the period of Options.Progress.
const progressEvery = 200 * time.Millisecond

// live holds the counters for the display. The zero value counts without a display.
type live struct {
	mu                sync.Mutex
	nSent, nDone, bad int
	ttft              *hdrhistogram.Histogram // µs, nil without a display
}

func (l *live) sent() {
	l.mu.Lock()
	l.nSent++
	l.mu.Unlock()
}

func (l *live) done(failed bool) {
	l.mu.Lock()
	l.nDone++
	if failed {
		l.bad++
	}
	l.mu.Unlock()
}

// first counts a time to first token in nanoseconds.
func (l *live) first(ttft int64) {
	l.mu.Lock()
	if l.ttft != nil {
		_ = l.ttft.RecordValue(min(max(ttft/1000, 0), l.ttft.HighestTrackableValue()))
	}
	l.mu.Unlock()
}

// report calls f about five times a second, and once more when the returned function
// is called, which waits for the last call.
func (l *live) report(f func(Progress), total int, t0 time.Time, scale float64) (stop func()) {
	if f == nil {
		return func() {}
	}
	l.mu.Lock()
	l.ttft = hdrhistogram.New(1, int64(24*time.Hour/time.Microsecond), 2)
	l.mu.Unlock()
	return every(progressEvery, func() { f(l.snapshot(total, t0, scale)) })
}

func (l *live) snapshot(total int, t0 time.Time, scale float64) Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Progress{
		Sent: l.nSent, Done: l.nDone, Failed: l.bad, Total: total, InFlight: l.nSent - l.nDone,
		Elapsed: max(toModel(int64(time.Since(t0)), scale), 0),
		TTFTp50: l.ttft.ValueAtQuantile(50) * 1000,
		TTFTp99: l.ttft.ValueAtQuantile(99) * 1000,
	}
}
