package simulate

import (
	"context"
	"time"
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
	scale float64
}

// NewWallClock returns a clock that starts now and runs scale times faster than the wall.
func NewWallClock(scale float64) Clock { return wallClock{start: time.Now(), scale: scale} }

func (c wallClock) Now() time.Duration {
	return time.Duration(float64(time.Since(c.start)) * c.scale)
}

func (c wallClock) SleepUntil(ctx context.Context, t time.Duration) error {
	d := time.Duration(float64(t)/c.scale) - time.Since(c.start)
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
