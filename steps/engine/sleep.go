package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/servegate/pipeline/steps"
)

// moveTimeout limits the time in which a server moves its weights out of its GPUs or back.
const moveTimeout = 10 * time.Minute

// errNoSleep reports a server whose engine has no such path, or that was not started for it.
var errNoSleep = errors.New("the server cannot be put to sleep as it was started")

// Move makes a server move its weights by POST to a path, with a body, nil for none.
func (c *Client) Move(ctx context.Context, ep steps.Endpoint, path string, body any) error {
	a, err := c.do(ctx, moveTimeout, http.MethodPost, ep, path, body)
	switch {
	case err != nil:
		return err
	case a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed:
		return fmt.Errorf("POST %s: status %d: %w", path, a.Status, errNoSleep)
	case !a.OK():
		return a.Err("POST " + path)
	}
	return nil
}
