package engine

import "context"

// Machine monitors the hardware that targets use. Its errors are not the servers' fault: they void a run or end the
// whole.
type Machine interface {
	// Before records what is in use before a target is launched.
	Before(ctx context.Context, target string)
	// Memory returns the GPU memory that a ready target has allocated since Before, in bytes; ok is false if it has
	// none or that is unknown.
	Memory(ctx context.Context, target string) (bytes float64, ok bool)
	// Watch watches the machine during a run of a target.
	Watch(ctx context.Context, target string) Watcher
	// After waits, for a bounded time, until the resources of a target are free again. It returns at once when ctx
	// ends. It returns an error if a resource is still held, which ends the run.
	After(ctx context.Context, target string) error
}

// watchMachine watches the machine that a target runs on.
func (r *runner) watchMachine(ctx context.Context, s *server, _ *watch) Watcher {
	return r.o.Machine.Watch(ctx, s.Target)
}

// Unwatched is a machine without monitoring.
type Unwatched struct{}

// Before implements Machine.
func (Unwatched) Before(context.Context, string) {}

// Memory implements Machine.
func (Unwatched) Memory(context.Context, string) (float64, bool) { return 0, false }

// Watch implements Machine.
func (Unwatched) Watch(context.Context, string) Watcher { return Watcher{} }

// After implements Machine.
func (Unwatched) After(context.Context, string) error { return nil }
