package steps

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// childGrace is the time between SIGTERM and SIGKILL for programs other than servers.
const childGrace = 5 * time.Second

// Ended reports whether done is closed.
func Ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// EndedWithin waits until done is closed, for d at most and no longer than ctx lives, and
// reports whether it is.
func EndedWithin(ctx context.Context, done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return Ended(done)
}

// ExitState returns how a child ended, or "running" while it runs.
func ExitState(child Child) string {
	if !Ended(child.Done()) {
		return "running"
	}
	if err := child.Wait(); err != nil {
		return err.Error()
	}
	return "exit status 0"
}

// StopOnce stops a server once.
type StopOnce struct {
	once sync.Once
	err  error
}

// Do calls stop the first time, and adds the server's name to its error. Later calls wait for the first and return its result.
func (o *StopOnce) Do(name string, stop func() error) error {
	o.once.Do(func() {
		if err := stop(); err != nil {
			o.err = fmt.Errorf("%s: %w", name, err)
		}
	})
	return o.err
}

// Sleep returns after d, or with the cause when ctx ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Poll calls done until it returns true, every so often, and reports whether it did before
// ctx ended.
func Poll(ctx context.Context, every time.Duration, done func() bool) bool {
	for !done() {
		if Sleep(ctx, every) != nil {
			return false
		}
	}
	return true
}

// ErrNotStarted reports that a program does not exist, or may not be started.
var ErrNotStarted = errors.New("it cannot be started")

// Output runs a short program to its end and returns the beginning of its output. If ctx ends first, Output
// kills the program and returns the cause.
func Output(ctx context.Context, sp Spawner, c Command) (stdout, stderr string, err error) {
	if sp == nil {
		return "", "", fmt.Errorf("%w: no spawner", ErrNotStarted)
	}
	var out, said beginning
	c.Stdout, c.Stderr = &out, &said
	child, err := sp.Spawn(ctx, c)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	select {
	case <-child.Done():
		err = child.Wait()
	case <-ctx.Done():
		if err := child.Signal("KILL"); err != nil {
			return "", "", errors.Join(context.Cause(ctx), err) // the spawner ends it later
		}
		<-child.Done()
		err = context.Cause(ctx)
	}
	return string(out.kept), string(said.kept), err
}

// maxOutput limits the recorded output of a short program, in bytes.
const maxOutput = 1 << 20

// beginning records the first maxOutput bytes written to it. It does not embed bytes.Buffer, whose ReadFrom
// would read everything.
type beginning struct{ kept []byte }

func (b *beginning) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(maxOutput-len(b.kept), len(p))]...)
	return len(p), nil
}

// EndChild sends child SIGTERM, and SIGKILL if that cannot be sent or after the grace; 0
// means 5 seconds. It returns when child has ended, or with the error of a kill that cannot
// be sent.
func EndChild(child Child, grace time.Duration) error {
	if grace <= 0 {
		grace = childGrace
	}
	if child.Signal("TERM") == nil && EndedWithin(context.Background(), child.Done(), grace) {
		return nil
	}
	if err := child.Signal("KILL"); err != nil {
		return err
	}
	<-child.Done()
	return nil
}

// AwaitChild waits until child has ended and returns the error of its Wait. If ctx ends first, it ends the
// child as [EndChild] does and returns the cause.
func AwaitChild(ctx context.Context, child Child, grace time.Duration) error {
	select {
	case <-child.Done():
		return child.Wait()
	case <-ctx.Done():
	}
	if err := EndChild(child, grace); err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return context.Cause(ctx)
}
