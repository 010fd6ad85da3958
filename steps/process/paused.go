package process

import (
	"context"
	"sync"
	"time"
)

// pauseLook is the interval between checks of a server's processes. A check costs about 15 µs per process. A
// shorter pause can go unseen, because the kernel does not count the time a process was stopped.
const pauseLook = 250 * time.Millisecond

// watchPauses watches the processes that the server had when the returned function was last called.
func (s *server) watchPauses(ctx context.Context) func(context.Context) (string, error) {
	frozen := s.child.Capabilities().Frozen
	if frozen == nil {
		return func(context.Context) (string, error) { return "", nil }
	}
	w := &pauseWatch{look: frozen()}
	go w.run(ctx)
	return func(context.Context) (string, error) {
		w.see()
		look := frozen()
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
