//go:build !linux

package timer

import (
	"context"
	"time"
)

// Precise is Sleep: there is no better timer here.
func Precise(ctx context.Context, d time.Duration) error { return Sleep(ctx, d) }
