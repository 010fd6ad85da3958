//go:build !linux

package load

import (
	"context"
	"time"
)

// pacer wakes one goroutine at given times, here with the runtime's timers.
type pacer struct{}

func newPacer() *pacer { return &pacer{} }

func (*pacer) close() {}

func (*pacer) sleepUntil(ctx context.Context, t time.Time) bool { return sleepUntil(ctx, t) }
