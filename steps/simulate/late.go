package simulate

import (
	"context"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// patienceOf is how much later than a step begins in the model it is put together. What
// happened before the step, and is still on its way between two processes, has come by
// then. Nobody sees a step before its end, so this costs nothing as long as it is shorter
// than any step.
func patienceOf(cfg model.Config, clock Clock) time.Duration {
	if _, ok := clock.(wallClock); !ok {
		return 0 // all that uses another clock is in one process
	}
	return cfg.ShortestStep() * 3 / 4
}

// lateness is by how much a server fell behind its model: the time from when a token
// should have left to when it had, and that from when a request or a transfer had to be
// known to when it was. It is what the machine adds to the simulated times.
type lateness struct {
	mu   sync.Mutex
	late histogram // seconds of model time
	// missed is how many requests and transfers came too late for the step they belonged to:
	// tests hold the double to none.
	missed int
	// head is the head start of a step's end, in model time: half of the tokens leave before
	// their time with it, and half after. It moves by a notch with every token.
	head, notch, most time.Duration
}

// Bounds of the head start and of its movement, in wall time: what a timer, a goroutine and
// a write need on a machine that has time for them is some 200 µs.
const (
	firstHead = 100 * time.Microsecond
	mostHead  = 500 * time.Microsecond
	headNotch = 2 * time.Microsecond
)

func newLateness(clock Clock) *lateness {
	l := &lateness{late: newHistogram(
		0.0001, 0.00015, 0.0002, 0.0003, 0.0005, 0.0007, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07,
		0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3)}
	if wall, ok := clock.(wallClock); ok {
		l.head, l.most, l.notch = wall.model(firstHead), wall.model(mostHead), wall.model(headNotch)
	}
	return l
}

// left notes by how much later, or earlier, than in the model a token left.
func (l *lateness) left(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(d)
	if d > 0 {
		l.head = min(l.head+l.notch, l.most)
	} else {
		l.head = max(l.head-l.notch, 0)
	}
}

// early is a clock whose sleeper has the head start that a step or a transfer may have: a
// small part of it.
func (l *lateness) early(clock Clock, s span) Clock {
	l.mu.Lock()
	defer l.mu.Unlock()
	return headStart{clock, min(l.head, (s.end-s.start)/8)}
}

// headStart wakes a sleeper so much before its time.
type headStart struct {
	Clock
	by time.Duration
}

func (c headStart) SleepUntil(ctx context.Context, t time.Duration) error {
	return c.Clock.SleepUntil(ctx, t-c.by)
}

// add needs the lock.
func (l *lateness) add(d time.Duration) { l.late.add(max(d, 0).Seconds()) }

// miss notes a request or a transfer that was heard of so much after its step was put together.
func (l *lateness) miss(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(d)
	l.missed++
}

// write adds the histogram to what a server tells of itself.
func (l *lateness) write(x *exposition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x.histogram("simulate:late_seconds", "Histogram of the model time by which tokens left late, and by which requests and transfers were heard of too late for their step.", l.late)
}
