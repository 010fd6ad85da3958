package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
)

// WatchPauses watches for pauses of the container. It reads the container's events as a stream, because the
// daemon stores only the last 256.
func (s *Server) WatchPauses(ctx context.Context) func(context.Context) (string, error) {
	w := &pauseWatch{}
	go w.run(ctx, s)
	return func(context.Context) (string, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		seen, err := w.seen, w.err
		w.err = nil
		if w.seen = ""; w.paused {
			seen = pausedText
		}
		return seen, err
	}
}

const pausedText = "its container was paused"

// pauseWatch records the pauses in the events of a container.
type pauseWatch struct {
	mu     sync.Mutex
	paused bool   // currently paused
	seen   string // since the last call
	err    error  // why events are missing
}

// run reads events until ctx or the container ends. It reconnects if the stream breaks, and records an error
// because events may be missing. It stops if the daemon refuses.
func (w *pauseWatch) run(ctx context.Context, s *Server) {
	for {
		err := w.read(ctx, s)
		if ctx.Err() != nil || s.ended() {
			return
		}
		w.mu.Lock()
		w.err, w.paused = fmt.Errorf("reading the events of its container: %w", err), false
		w.mu.Unlock()
		if status(err) != 0 || steps.Sleep(ctx, min(time.Second, s.launcher.opt.Lost)) != nil {
			return
		}
	}
}

func (w *pauseWatch) read(ctx context.Context, s *Server) error {
	filters, err := json.Marshal(map[string][]string{"container": {s.id}, "event": {"pause", "unpause", "kill"}})
	if err != nil {
		return err
	}
	d := s.launcher.daemon
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base+"/events?"+url.Values{"filters": {string(filters)}}.Encode(),
		http.NoBody)
	if err != nil {
		return err
	}
	resp, err := d.pool.Client.HTTPClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= 300 {
		return apiError(resp)
	}
	for events := json.NewDecoder(resp.Body); ; {
		var e containerEvent
		if err := events.Decode(&e); err != nil {
			return err
		}
		w.take(e)
	}
}

// containerEvent is an event of Docker's API.
type containerEvent struct {
	Action string
	Actor  struct{ Attributes struct{ Signal string } }
}

// take records an event. SIGSTOP is 19 on all supported architectures.
func (w *pauseWatch) take(e containerEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case e.Action == "pause":
		w.paused, w.seen = true, pausedText
	case e.Action == "unpause":
		w.paused, w.seen = false, pausedText
	case e.Action == "kill" && (e.Actor.Attributes.Signal == "19" || e.Actor.Attributes.Signal == "SIGSTOP"):
		w.seen = "its container got SIGSTOP"
	}
}
