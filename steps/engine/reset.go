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

// Number and interval of the attempts to clear the caches of a busy server.
const (
	resetAttempts = 10
	resetPause    = 200 * time.Millisecond
)

// Reset asks a server by POST to clear its caches, and retries while it is busy with requests. The
// error is [steps.ErrNoReset], followed by a hint, if the path does not exist.
func (c *Client) Reset(ctx context.Context, ep steps.Endpoint, path, hint string, busy func(Answer) bool) error {
	for i := 1; ; i++ {
		a, err := c.Post(ctx, ep, path, nil)
		switch {
		case err != nil:
			return err
		case a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed:
			return fmt.Errorf("POST %s: %w%s", path, steps.ErrNoReset, hint)
		case busy(a) && i == resetAttempts:
			return fmt.Errorf("gave up after %d attempts: POST %s: %w", i, path, ErrBusy)
		case busy(a):
			if err := steps.Sleep(ctx, resetPause); err != nil {
				return err
			}
		case !a.OK():
			return a.Err("POST " + path)
		default:
			return nil
		}
	}
}
