// Package timer waits: with the runtime's own timers, or to some 50 µs.
//
//	err := timer.Precise(ctx, 10*time.Millisecond)
package timer

import (
	"context"
	"time"
)

// Sleep lets d go by, or returns the cause of ctx. The runtime's timers may take a
// millisecond longer.
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
