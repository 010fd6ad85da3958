package simulate

import (
	"context"
	"os"
	"time"
)

// watchParent calls orphaned when the parent process has died, so that a killed run leaves no
// simulated servers behind. It polls the parent's id, which then changes. This works on every
// system and, unlike PR_SET_PDEATHSIG, does not depend on the thread that started the process.
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
