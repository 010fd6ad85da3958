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

// Serve answers clients on l until ctx ends. Then it takes no more connections and gives
// what is under way the grace to finish before it cuts it off. It closes the router.
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

// served is nil for a server that ended in order.
func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// lines makes a writer of a function for lines.
type lines func(string)

func (f lines) Write(b []byte) (int, error) {
	f(strings.TrimRight(string(b), "\n"))
	return len(b), nil
}
