package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/servegate/pipeline/pipeline/internal/event"
)

// lockPoll is how often a lock that somebody else holds is tried again.
const lockPoll = time.Second

// takeLock waits for the lock that the file asks for, so that one run at a time uses the
// machine. The system releases it when the holder ends, however it does. The returned
// function releases it.
func (s *session) takeLock(ctx context.Context) (func(), error) {
	path := s.opt.Config.Settings.Lock
	if path == "" {
		return func() {}, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.opt.Dir, path)
	}
	lock := flock.New(path)
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("taking the lock %s: %w", path, err)
	}
	if !held {
		s.bus.Emit(event.Event{
			Type: event.Diagnostic, Severity: "warning",
			Text: fmt.Sprintf("waiting for the lock %s, held by %s", path, holder(path)),
		})
		if held, err = lock.TryLockContext(ctx, lockPoll); !held {
			return nil, fmt.Errorf("waiting for the lock %s: %w", path, errors.Join(err, context.Cause(ctx)))
		}
	}
	// For whoever waits next. Without it the lock holds all the same.
	_ = os.WriteFile(path, fmt.Appendf(nil, "run %s, process %d\n", s.runID, os.Getpid()), 0o644)
	return func() { _ = lock.Unlock() }, nil
}

// holder reads who wrote himself into a lock file.
func holder(path string) string {
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 || len(text) > 200 {
		return "another run"
	}
	return strings.TrimSpace(string(text))
}
