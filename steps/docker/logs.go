package docker

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	dc "github.com/ory/dockertest/v3/docker"
)

// logStream copies a container's output to a writer, from the first byte to the last.
//
// The daemon stores the output and returns it in a fixed order. An interrupted stream is therefore resumed by
// skipping what was already written. A last request after the end fetches what a followed stream may omit.
type logStream struct {
	launcher *Launcher
	id       string
	out      io.Writer

	ended    chan struct{}
	followed chan struct{}
	cancel   context.CancelFunc

	mu      sync.Mutex
	written int64
	err     error // error of the writer
}

func newLogStream(l *Launcher, id string, out io.Writer) *logStream {
	if out == nil {
		out = io.Discard
	}
	return &logStream{launcher: l, id: id, out: out, ended: make(chan struct{}), followed: make(chan struct{})}
}

// logPause is the time before an interrupted stream is resumed.
const logPause = time.Second

// logWait is how long a stream may last after the container has ended.
const logWait = 10 * time.Second

// start follows the output until finish is called.
func (s *logStream) start(ctx context.Context) {
	ctx, s.cancel = context.WithCancel(ctx)
	go func() {
		defer close(s.followed)
		for {
			err := s.fetch(ctx, true)
			if s.failure() != nil {
				return
			}
			if err != nil && ctx.Err() == nil {
				s.launcher.opt.Log.Warn("the container's log was interrupted; resuming", "container", s.id, "error", err)
			}
			select {
			case <-s.ended:
				return
			case <-ctx.Done():
				return
			case <-time.After(logPause):
			}
		}
	}()
}

// finish is called when the container has ended, and returns when all output is written.
func (s *logStream) finish(ctx context.Context) {
	close(s.ended)
	t := time.NewTimer(logWait)
	defer t.Stop()
	select {
	case <-s.followed:
	case <-t.C:
	case <-ctx.Done():
	}
	s.cancel()
	<-s.followed
	if s.failure() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, logWait)
	defer cancel()
	if err := s.fetch(ctx, false); err != nil && status(err) != 404 && ctx.Err() == nil {
		s.launcher.opt.Log.Warn("the end of the container's log may be missing", "container", s.id, "error", err)
	}
}

// fetch copies the output that was not yet written.
func (s *logStream) fetch(ctx context.Context, follow bool) error {
	w := &skipper{stream: s, skip: s.count()}
	return s.launcher.daemon.pool.Client.Logs(dc.LogsOptions{
		Context: ctx, Container: s.id, OutputStream: w, ErrorStream: w,
		Stdout: true, Stderr: true, Follow: follow, Tail: "all",
	})
}

// failure returns the first error of the writer.
func (s *logStream) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return nil
	}
	return fmt.Errorf("writing the log: %w", s.err)
}

func (s *logStream) count() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written
}

func (s *logStream) write(p []byte) error {
	n, err := s.out.Write(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written += int64(n)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	s.err = err
	return err
}

// skipper drops the first bytes of a stream.
type skipper struct {
	stream *logStream
	skip   int64
}

func (w *skipper) Write(p []byte) (int, error) {
	drop := min(w.skip, int64(len(p)))
	w.skip -= drop
	if rest := p[drop:]; len(rest) > 0 {
		if err := w.stream.write(rest); err != nil {
			return int(drop), err
		}
	}
	return len(p), nil
}
