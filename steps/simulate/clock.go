package simulate

import (
	"context"
	"time"

	"github.com/servegate/pipeline/steps/simulate/stamp"
)

// Clock is the model's time as a running server sees it.
type Clock interface {
	// Now is the model time since the clock's start.
	Now() time.Duration
	// SleepUntil returns at the model time t, or earlier with the cause of ctx. A time
	// that has passed returns at once.
	SleepUntil(ctx context.Context, t time.Duration) error
}

// wallClock runs scale times faster than the wall. Deadlines are absolute, so that the
// lateness of one sleep does not add to the next.
type wallClock struct {
	start time.Time
	// origin is the same moment on the clock that all processes of the machine share.
	origin int64
	scale  float64
}

// NewWallClock returns a clock that starts now and runs scale times faster than the wall.
func NewWallClock(scale float64) Clock {
	return wallClock{start: time.Now(), origin: stamp.Now(), scale: scale}
}

func (c wallClock) Now() time.Duration { return c.model(time.Since(c.start)) }

func (c wallClock) model(wall time.Duration) time.Duration {
	return time.Duration(float64(wall) * c.scale)
}

func (c wallClock) wall(model time.Duration) time.Duration {
	return time.Duration(float64(model) / c.scale)
}

func (c wallClock) SleepUntil(ctx context.Context, t time.Duration) error {
	d := c.wall(t) - time.Since(c.start)
	if d <= 0 {
		return ctx.Err()
	}
	return preciseSleep(ctx, d)
}

// sleep lets d go by with the runtime's own timers, which may take a millisecond longer.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// format writes the model time t for other simulated servers of the same machine, "" where
// the clock is none that they could read. All that crosses from one server to another
// carries such a stamp, so that the receiver's model goes on from what happened and not
// from when it heard of it. What happened at one time has one stamp.
func format(c Clock, t time.Duration) string {
	w, ok := c.(wallClock)
	if !ok {
		return ""
	}
	return stamp.Format(w.origin + int64(w.wall(t)))
}

// farthest is how far from now a stamp is believed, in wall time: a transfer over a slow
// link may end much later, and what is older than this has been held up and not sent.
const farthest = 5 * time.Minute

// parse reads what format wrote. Anything else is the present, and false.
func parse(c Clock, text string) (time.Duration, bool) {
	w, isWall := c.(wallClock)
	at, ok := stamp.Parse(text)
	if d := time.Duration(at - stamp.Now()); !isWall || !ok || d > farthest || d < -farthest {
		return c.Now(), false
	}
	return w.model(time.Duration(at - w.origin)), true
}
