// Package clock is the model's time as a running server sees it: a clock that runs faster than
// the wall, the stamps by which processes of a machine share it, and how late a server was.
package clock

import (
	"context"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/stamp"
	"github.com/servegate/pipeline/steps/timer"
)

// Clock is the model's time as a running server sees it.
type Clock interface {
	// Now is the model time since the clock's start.
	Now() time.Duration
	// SleepUntil returns at the model time t, or earlier with the cause of ctx. A time
	// that has passed returns at once.
	SleepUntil(ctx context.Context, t time.Duration) error
}

// Free lets time go by at no cost: it is at once wherever it sleeps to.
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

// wall is a clock that runs scale times faster than the wall. Deadlines are absolute, so that the
// lateness of one sleep does not add to the next.
type wall struct {
	start time.Time
	// origin is the same moment on the clock that all processes of the machine share.
	origin int64
	scale  float64
}

// NewWall returns a clock that starts now and runs scale times faster than the wall.
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

// Format writes the model time t for other simulated servers of the same machine, "" where
// the clock is none that they could read. All that crosses from one server to another
// carries such a stamp, so that the receiver's model goes on from what happened and not
// from when it learned of it. What happened at one time has one stamp.
func Format(c Clock, t time.Duration) string {
	w, ok := c.(wall)
	if !ok {
		return ""
	}
	return stamp.Format(w.origin + int64(w.wall(t)))
}

// farthest is how far from now a stamp is believed, in wall time: a transfer over a slow
// link may end much later, and what is older than this has been held up and not sent.
const farthest = 5 * time.Minute

// Parse reads what format wrote. Anything else is the present, and false.
func Parse(c Clock, text string) (time.Duration, bool) {
	w, isWall := c.(wall)
	at, ok := stamp.Parse(text)
	if d := time.Duration(at - stamp.Now()); !isWall || !ok || d > farthest || d < -farthest {
		return c.Now(), false
	}
	return w.model(time.Duration(at - w.origin)), true
}
