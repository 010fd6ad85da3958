//go:build !linux

package clock

import (
	"context"
	"time"
)

func preciseSleep(ctx context.Context, d time.Duration) error { return sleep(ctx, d) }
