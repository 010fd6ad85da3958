package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/servegate/pipeline/steps"
)

// ErrBusy reports that a server refused to clear its caches because requests are running.
var ErrBusy = errors.New("the server is busy with requests")

// Retry calls f until it succeeds or fails with another error than ErrBusy, at most attempts times,
// with a pause between calls. wait is [steps.Sleep] except in tests.
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

// Number and interval of the attempts to clear the caches of a busy server.
const (
	resetAttempts = 10
	resetPause    = 200 * time.Millisecond
)

// Reset asks a server by POST to clear its caches, and retries while it is busy with requests. The
// error is [steps.ErrNoReset], followed by a hint, if the path does not exist.
func (c *Client) Reset(ctx context.Context, ep steps.Endpoint, path, hint string, wait func(context.Context, time.Duration) error,
	busy func(Answer) bool) error {
	return Retry(ctx, resetAttempts, resetPause, wait, func() error {
		a, err := c.Post(ctx, ep, path, nil)
		switch {
		case err != nil:
			return err
		case a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed:
			return fmt.Errorf("POST %s: %w%s", path, steps.ErrNoReset, hint)
		case busy(a):
			return fmt.Errorf("POST %s: %w", path, ErrBusy)
		case !a.OK():
			return a.Err("POST " + path)
		}
		return nil
	})
}
