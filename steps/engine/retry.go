package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrBusy says that a server refused to clear its caches because requests are running.
var ErrBusy = errors.New("the server is busy with requests")

// Retry calls f until it succeeds, fails with something else than ErrBusy, or has been
// called attempts times, pause apart. wait is [steps.Sleep] except in tests.
func Retry(ctx context.Context, attempts int, pause time.Duration, wait func(context.Context, time.Duration) error, f func() error) error {
	for i := 1; ; i++ {
		err := f()
		if err == nil || !errors.Is(err, ErrBusy) {
			return err
		}
		if i >= attempts {
			return fmt.Errorf("gave up after %d attempts: %w", attempts, err)
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
	}
}
