//go:build !linux

package timer

import (
	"context"
	"time"
)

// Precise is Sleep: this system offers no better timer.
func Precise(ctx context.Context, d time.Duration) error { return Sleep(ctx, d) }
