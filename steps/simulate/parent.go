package simulate

import (
	"context"
	"os"
	"time"
)

// watchParent calls orphaned when the process that started this one has died, so that a
// killed run leaves no simulated servers behind. The parent's id changes then; polling it
// works on every system and, unlike PR_SET_PDEATHSIG, does not depend on which thread
// started the process.
func watchParent(ctx context.Context, orphaned func()) {
	parent := os.Getppid()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if os.Getppid() != parent {
				orphaned()
				return
			}
		}
	}
}
