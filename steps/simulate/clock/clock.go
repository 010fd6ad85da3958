// Package clock is the model time of a running server: a clock that runs faster than real time, the
// stamps that share it between processes of a machine, and the delay of a server.
package clock

import (
	"context"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/stamp"
	"github.com/servegate/pipeline/steps/timer"
)

// Clock is the model time of a running server.
type Clock interface {
	// Now is the model time since the clock's start.
	Now() time.Duration
	// SleepUntil returns at the model time t, or earlier with the cause of ctx. If t has passed, it
	// returns at once.
	SleepUntil(ctx context.Context, t time.Duration) error
}

// Free is a clock that advances at no cost: sleeping sets it at once.
type Free struct {
	mu  sync.Mutex
	now time.Duration
}

// Now implements Clock.
func (c *Free) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// SleepUntil implements Clock.
func (c *Free) SleepUntil(ctx context.Context, t time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = max(c.now, t)
	return ctx.Err()
}

// Span of model time.
type Span struct{ Start, End time.Duration }

// wall is a clock that runs scale times faster than real time. Deadlines are absolute, so that the
// delay of one sleep does not add to the next.
type wall struct {
	start time.Time
	// origin is the same moment on the clock that all processes of the machine share.
	origin int64
	scale  float64
}

// NewWall returns a clock that starts now and runs scale times faster than real time.
func NewWall(scale float64) Clock {
	return wall{start: time.Now(), origin: stamp.Now(), scale: scale}
}

func (c wall) Now() time.Duration { return c.model(time.Since(c.start)) }

func (c wall) model(wall time.Duration) time.Duration {
	return time.Duration(float64(wall) * c.scale)
}

func (c wall) wall(model time.Duration) time.Duration {
	return time.Duration(float64(model) / c.scale)
}

func (c wall) SleepUntil(ctx context.Context, t time.Duration) error {
	return timer.Precise(ctx, c.wall(t)-time.Since(c.start))
}

// Format returns the model time t for other simulated servers of the same machine, "" if they could
// not read this clock. All messages between servers carry such a stamp, so that the receiver's
// model continues from the time of the event, not from its arrival. Events at the same time have
// the same stamp.
func Format(c Clock, t time.Duration) string {
	w, ok := c.(wall)
	if !ok {
		return ""
	}
	return stamp.Format(w.origin + int64(w.wall(t)))
}

// farthest is the largest accepted distance of a stamp from now, in real time. A transfer over a
// slow link may end much later; an older stamp belongs to a message that was held up.
const farthest = 5 * time.Minute

// Parse parses the text of Format. For anything else it returns the present time and false.
func Parse(c Clock, text string) (time.Duration, bool) {
	w, isWall := c.(wall)
	at, ok := stamp.Parse(text)
	if d := time.Duration(at - stamp.Now()); !isWall || !ok || d > farthest || d < -farthest {
		return c.Now(), false
	}
	return w.model(time.Duration(at - w.origin)), true
}
