package engine

import (
	"context"
	"time"

	"github.com/servegate/pipeline/reports/result"
)

// Machine looks after the hardware that targets use. What is wrong with it is not the
// servers' fault: it voids a run or ends the whole.
type Machine interface {
	// Before notes what is in use before a target is launched.
	Before(ctx context.Context, target string)
	// Memory is what a target that is ready has allocated of its GPUs' memory since Before, in
	// bytes; not ok where it has none or that is not known.
	Memory(ctx context.Context, target string) (bytes float64, ok bool)
	// Watch looks at the machine while a run lasts, until the returned function is called,
	// once, with how long it lasted from its first planned request.
	Watch(ctx context.Context, target string) (stop func(lasted time.Duration) Watched)
	// After waits until what a target used is free again, a bounded time. It returns at
	// once when ctx ends. An error means that something is held, which ends the run.
	After(ctx context.Context, target string) error
}

// Watched is what the machine did during a run.
type Watched struct {
	// Void says why the run is not worth anything, "" if nothing speaks against it.
	Void string
	// Energy of the target's GPUs; nil where it has none.
	Energy *Energy
	// CPUEnergy is that of the machine's processors; nil where it does not count it.
	CPUEnergy *Energy
	// Series of the run's time, from its first planned request on.
	Series []result.Series
}

// Energy that was used during a run.
type Energy struct {
	Joules float64
	// Unknown says why it is not known, "" where it is.
	Unknown string
	// Absent is true where that does not change from run to run.
	Absent bool
}

// apply adds what the machine did to a run. What the server did wrong stays its own: only
// a run that would count is voided.
func (w Watched) apply(run *result.Run) {
	run.Series = append(run.Series, w.Series...)
	if w.Void != "" && run.Status == result.RunOK {
		run.Status, run.Reason, run.VoidCause = result.RunVoid, w.Void, result.VoidMachine
	}
}

// Unwatched is a machine that nothing looks after.
type Unwatched struct{}

// Before implements Machine.
func (Unwatched) Before(context.Context, string) {}

// Memory implements Machine.
func (Unwatched) Memory(context.Context, string) (float64, bool) { return 0, false }

// Watch implements Machine.
func (Unwatched) Watch(context.Context, string) func(time.Duration) Watched {
	return func(time.Duration) Watched { return Watched{} }
}

// After implements Machine.
func (Unwatched) After(context.Context, string) error { return nil }
