package process

import (
	"context"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
)

// pauseLook is the time between two looks at a server's processes. A look costs about 15 µs a
// process. A shorter pause can go unseen: nothing counts how long a process was stopped.
const pauseLook = 250 * time.Millisecond

// watchPauses looks at the processes that were the server's when the function that it returns was last called.
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
