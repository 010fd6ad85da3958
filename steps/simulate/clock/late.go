package clock

import (
	"context"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/prom"
)

// PatienceOf is how much later than a step begins in the model it is put together. What
// happened before the step, and is still on its way between two processes, has come by
// then. No one sees a step before its end, so this costs nothing as long as it is shorter
// than any step.
func PatienceOf(cfg model.Config, clock Clock) time.Duration {
	if _, ok := clock.(wall); !ok {
		return 0 // all that uses another clock is in one process
	}
	return cfg.ShortestStep() * 3 / 4
}

// Lateness is by how much a server fell behind its model: the time from when a token
// should have left to when it had, and that from when a request or a transfer had to be
// known to when it was. It is what the machine adds to the simulated times.
type Lateness struct {
	clock Clock
	mu    sync.Mutex
	late  prom.Histogram // seconds of model time
	// missed is how many requests and transfers came too late for the step they belonged to.
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

// NewLateness returns a server's lateness by its clock.
func NewLateness(clock Clock) *Lateness {
	l := &Lateness{clock: clock, late: prom.NewHistogram(
		0.0001, 0.00015, 0.0002, 0.0003, 0.0005, 0.0007, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07,
		0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3)}
	if wall, ok := clock.(wall); ok {
		l.head, l.most, l.notch = wall.model(firstHead), wall.model(mostHead), wall.model(headNotch)
	}
	return l
}

// Left notes by how much later, or earlier, than in the model a token left.
func (l *Lateness) Left(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(d)
	if d > 0 {
		l.head = min(l.head+l.notch, l.most)
	} else {
		l.head = max(l.head-l.notch, 0)
	}
}

// Early is a clock whose sleeper has the head start that a step or a transfer may have: a
// small part of it.
func (l *Lateness) Early(clock Clock, s Span) Clock {
	l.mu.Lock()
	defer l.mu.Unlock()
	return headStart{clock, min(l.head, (s.End-s.Start)/8)}
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
func (l *Lateness) add(d time.Duration) { l.late.Add(max(d, 0).Seconds()) }

// Miss notes a request or a transfer that arrived so much after its step was put together.
func (l *Lateness) Miss(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(d)
	l.missed++
}

// Write adds the histogram to what a server exposes.
func (l *Lateness) Write(x *prom.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x.Histogram("simulate:late_seconds",
		"Histogram of the model time by which tokens left late, and by which requests and transfers arrived too late for their step.", l.late)
}

// Missed is how many requests and transfers came too late for the step they belonged to.
func (l *Lateness) Missed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.missed
}

// Now is the model's time.
func (l *Lateness) Now() time.Duration { return l.clock.Now() }
