package engine

import "context"

// Machine looks after the hardware that targets use. What is wrong with it is not the
// servers' fault: it voids a run or ends the whole.
type Machine interface {
	// Before notes what is in use before a target is launched.
	Before(ctx context.Context, target string)
	// Memory is what a target that is ready has allocated of its GPUs' memory since Before, in
	// bytes; not ok where it has none or that is not known.
	Memory(ctx context.Context, target string) (bytes float64, ok bool)
	// Watch watches the machine while a run of a target lasts.
	Watch(ctx context.Context, target string) Watcher
	// After waits until what a target used is free again, a bounded time. It returns at
	// once when ctx ends. An error means that something is held, which ends the run.
	After(ctx context.Context, target string) error
}

// watchMachine watches the machine that a target runs on.
func (r *runner) watchMachine(ctx context.Context, s *server, _ *watch) Watcher {
	return r.o.Machine.Watch(ctx, s.Target)
}

// Unwatched is a machine that nothing looks after.
type Unwatched struct{}

// Before implements Machine.
func (Unwatched) Before(context.Context, string) {}

// Memory implements Machine.
func (Unwatched) Memory(context.Context, string) (float64, bool) { return 0, false }

// Watch implements Machine.
func (Unwatched) Watch(context.Context, string) Watcher { return Watcher{} }

// After implements Machine.
func (Unwatched) After(context.Context, string) error { return nil }
