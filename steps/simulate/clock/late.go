package clock

import (
	"context"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/prom"
)

// PatienceOf returns the delay between the beginning of a step in the model and its assembly.
// Events before the step that are still in transit between processes arrive in that time. Nobody
// sees a step before its end, so the delay costs nothing as long as it is shorter than any step.
func PatienceOf(cfg model.Config, clock Clock) time.Duration {
	if _, ok := clock.(wall); !ok {
		return 0 // all users of another clock are in one process
	}
	return cfg.ShortestStep() * 3 / 4
}

// Lateness records the delay of a server behind its model: how late tokens left, and how late
// requests and transfers became known. This is what the machine adds to the simulated times.
type Lateness struct {
	clock Clock
	mu    sync.Mutex
	late  prom.Histogram // seconds of model time
	// missed counts the requests and transfers that came too late for their step.
	missed int
	// head is the head start of a step's end, in model time, chosen so that half of the tokens
	// leave early and half late. Every token moves it by a notch.
	head, notch, most time.Duration
}

// Limits of the head start and of its movement, in real time. A timer, a goroutine and a write need
// some 200 µs on a machine that is not overloaded.
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

// Left records how much later, or earlier, than in the model a token left.
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

// Early returns a clock that wakes sleepers with the head start for a step or a transfer, which is
// a small part of it.
func (l *Lateness) Early(clock Clock, s Span) Clock {
	l.mu.Lock()
	defer l.mu.Unlock()
	return headStart{clock, min(l.head, (s.End-s.Start)/8)}
}

// headStart wakes a sleeper earlier by a fixed time.
type headStart struct {
	Clock
	by time.Duration
}

func (c headStart) SleepUntil(ctx context.Context, t time.Duration) error {
	return c.Clock.SleepUntil(ctx, t-c.by)
}

// add requires the lock.
func (l *Lateness) add(d time.Duration) { l.late.Add(max(d, 0).Seconds()) }

// Miss records a request or a transfer that arrived after its step was assembled.
func (l *Lateness) Miss(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(d)
	l.missed++
}

// Write adds the histogram to a server's metrics.
func (l *Lateness) Write(x *prom.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x.Histogram("simulate:late_seconds",
		"Histogram of the model time by which tokens left late, and by which requests and transfers arrived too late for their step.", l.late)
}

// Missed returns the number of requests and transfers that came too late for their step.
func (l *Lateness) Missed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.missed
}

// Now returns the model time.
func (l *Lateness) Now() time.Duration { return l.clock.Now() }
