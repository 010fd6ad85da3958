package load

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/timer"
	"github.com/servegate/pipeline/steps/traffic"
)

// newDriver returns a driver that has not started. The graph of a large plan takes time, so it is made before the
// clock of the run starts.
func (r *runner) newDriver(ctx context.Context, p traffic.Plan) *driver {
	d := &driver{runner: r, ctx: ctx, plan: p, planned: p.Planned(), until: precisely}
	d.scheduler = traffic.New(p, d)
	return d
}

// run sends the requests of the plan by the clock of this machine, and returns when all have ended.
func (d *driver) run() {
	defer d.running.Wait()
	if d.plan.Times == nil {
		if sleepUntil(d.ctx, d.runner.t0) {
			d.call(d.scheduler.Start)
		}
		return
	}
	if d.plan.Limit > 0 { // a request may have to wait, so none is prepared
		for _, i := range d.planned {
			if timer.Precise(d.ctx, time.Until(d.wallTime(d.plan.Times[i]))) != nil {
				return
			}
			d.call(func() { d.scheduler.Due(i) })
		}
		return
	}
	d.prepare()
	for _, i := range d.planned {
		if d.until(d.ctx, d.wallTime(d.plan.Times[i])) != nil {
			return
		}
		d.call(func() { d.scheduler.Due(i) })
		runtime.Gosched()
	}
}

// precisely waits until a time by a precise timer, and yields for the last part.
func precisely(ctx context.Context, at time.Time) error {
	if err := timer.Precise(ctx, time.Until(at.Add(-alert))); err != nil {
		return err
	}
	for time.Now().Before(at) {
		runtime.Gosched() // earlier requests may not have been sent yet
	}
	return nil
}

// driver executes the scheduler's decisions. Each request is sent by a separate goroutine.
type driver struct {
	runner  *runner
	ctx     context.Context
	plan    traffic.Plan
	planned []int // the requests to which the times of the plan apply
	running sync.WaitGroup
	until   func(context.Context, time.Time) error // waits for the send of a planned request

	mu        sync.Mutex
	scheduler *traffic.Scheduler
	// prepared requests hold a connection and wait until they are released, by request.
	prepared []chan struct{}
}

// call calls the scheduler under a lock.
func (d *driver) call(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
}

// wallTime converts a time of the run to wall time.
func (d *driver) wallTime(t time.Duration) time.Time { return d.runner.t0.Add(d.runner.wall(t)) }

// prepare starts requests ahead of their times, unless they wait for others.
func (d *driver) prepare() {
	d.prepared = make([]chan struct{}, len(d.plan.Times))
	d.running.Go(func() {
		for _, i := range d.planned {
			at := d.plan.Times[i]
			if !sleepUntil(d.ctx, d.wallTime(at).Add(-lead)) {
				return
			}
			d.call(func() {
				if d.Now() >= at || !d.scheduler.Ready(i) {
					return // Send starts it
				}
				release := make(chan struct{})
				d.prepared[i] = release
				d.running.Go(func() { d.carry(traffic.Request{Index: i, Planned: at, Due: at}, release) })
			})
		}
	})
}

// Now implements traffic.Driver.
func (d *driver) Now() time.Duration {
	return time.Duration(d.runner.model(int64(time.Since(d.runner.t0))))
}

// near is the last part of a wait, in which a precise timer is used. The timer needs a file descriptor.
const near = 5 * time.Millisecond

// At implements traffic.Driver. It does nothing once the run was stopped.
func (d *driver) At(t time.Duration, do func()) {
	at := d.wallTime(t)
	if time.Until(at) <= 0 {
		do()
		return
	}
	d.running.Go(func() {
		if timer.Sleep(d.ctx, time.Until(at)-near) == nil && timer.Precise(d.ctx, time.Until(at)) == nil {
			d.call(do)
		}
	})
}

// Send implements traffic.Driver.
func (d *driver) Send(r traffic.Request) {
	switch {
	case d.ctx.Err() != nil:
	case d.prepared != nil && d.prepared[r.Index] != nil:
		close(d.prepared[r.Index])
		d.prepared[r.Index] = nil
	default:
		d.running.Go(func() { d.carry(r, nil) })
	}
}

// carry sends a request, waits for its end, and reports that to the scheduler.
func (d *driver) carry(r traffic.Request, release <-chan struct{}) {
	ended, ok := d.runner.send(d.ctx, r.Index, r.Planned, d.wallTime(r.Due), release)
	if !ok {
		return
	}
	d.call(func() {
		if over := d.scheduler.Ended(r.Index, ended); over {
			d.runner.sessions.forget(r.Index)
		}
	})
}
