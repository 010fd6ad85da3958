package router

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"strings"
	"time"
)

// Serve answers clients on l until ctx ends. Then it closes the listener, waits for requests in flight for
// the grace, aborts the rest, and closes the router.
func (r *Router) Serve(ctx context.Context, l net.Listener, grace time.Duration) error {
	defer r.Close()
	srv := &http.Server{
		Handler: r, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(lines(r.stats.say), "", 0),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := srv.Shutdown(drain); err != nil {
		r.end()
		return errors.Join(srv.Close(), served(<-failed))
	}
	return served(<-failed)
}

// served returns nil for a server that was shut down.
func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// lines turns a function that takes lines into a writer.
type lines func(string)

func (f lines) Write(b []byte) (int, error) {
	f(strings.TrimRight(string(b), "\n"))
	return len(b), nil
}
