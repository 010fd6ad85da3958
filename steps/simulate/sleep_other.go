//go:build !linux

package simulate

import (
	"context"
	"time"
)

func preciseSleep(ctx context.Context, d time.Duration) error { return sleep(ctx, d) }
