package process

import (
	"context"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
)

// pauseLook is the interval between checks of a server's processes. A check costs about 15 µs per process. A
// shorter pause can go unseen, because the kernel does not count the time a process was stopped.
const pauseLook = 250 * time.Millisecond

// watchPauses watches the processes that the server had when the returned function was last called.
func (s *server) watchPauses(ctx context.Context) func(context.Context) (string, error) {
	child, ok := s.child.(steps.Freezable)
	if !ok {
		return func(context.Context) (string, error) { return "", nil }
	}
	w := &pauseWatch{look: child.Frozen()}
	go w.run(ctx)
	return func(context.Context) (string, error) {
		w.see()
		look := child.Frozen()
		w.mu.Lock()
		defer w.mu.Unlock()
		seen := w.seen
		w.seen, w.look = "", look
		return seen, nil
	}
}

// pauseWatch keeps the first pause that it sees.
type pauseWatch struct {
	mu   sync.Mutex
	look func() string
	seen string
}

func (w *pauseWatch) run(ctx context.Context) {
	tick := time.NewTicker(pauseLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.see()
		}
	}
}

func (w *pauseWatch) see() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == "" {
		w.seen = w.look()
	}
}
