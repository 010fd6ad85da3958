package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/counted"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// Watcher watches a launch while one run is measured. Its functions are called in the order of its fields, and those of
// several watchers in the order of their list; After in the reverse order, so that what begins first ends last. A function
// that is nil does nothing.
type Watcher struct {
	// Before is called between the warm-up and the first measured request.
	Before func(ctx context.Context)
	// During is called at the first measured request and returns when ctx ends. every is the time between two looks.
	During func(ctx context.Context, every time.Duration)
	// After is called after the last request, or after a run that ended before its first one, with how long the
	// run lasted.
	After func(ctx context.Context, lasted time.Duration)
	// Void returns why the run says nothing of its servers; an empty reason means that it does. A run that failed stays
	// failed, unless the watcher excuses it.
	Void    func() (cause result.VoidCause, reason string)
	Excuses bool
	// Tell writes into the run what was seen.
	Tell func(run *result.Run)
	// Count adds what was counted, of which metrics are made.
	Count func(t *counted.Tally)
}

// Watch returns what watches one run. It is called before the warm-up.
type Watch func(ctx context.Context, run WatchedRun) Watcher

// WatchedRun is the run that is watched: the target and the servers of its launch.
type WatchedRun struct {
	Target  string
	Servers []Attended
}

// watchers are what watches every run, beside those of the options.
var watchers = []func(*runner, context.Context, *server, *watch) Watcher{
	(*runner).watchMachine,
	(*runner).watchPauses,
	(*runner).watchLaunch,
	(*runner).watchServers,
	(*runner).watchLateness, // reads what the servers counted
	(*runner).watchMeasures, // reads what the servers showed
	(*runner).watchRelays,
	(*runner).watchTransfer, // reads what the servers counted
	(*runner).watchPrice,
	(*runner).watchClient,
}

// How servers are watched during a run. A look costs the server a few milliseconds of
// its event loop, so there is one a second and no more, on a connection of its own.
const (
	scrapeEvery = time.Second            // of the run's own time
	scrapeLeast = 100 * time.Millisecond // of real time, however fast a simulation runs
)

// watch is all that watches one run.
type watch struct {
	now   func() time.Time
	scale float64 // how many times faster than its own time the run is
	cell  plan.Cell
	rows  []Watcher
	// began is when the first measured request was about to be sent, zero of a run that ended before it, and ended
	// when the last one was answered.
	began, ended time.Time
	got          measurement // what was measured
	views        []*view     // of the servers

	stop context.CancelFunc
	done sync.WaitGroup
}

// newWatch makes what watches a run of a cell. It must be ended.
func (r *runner) newWatch(ctx context.Context, s *server, cell plan.Cell) *watch {
	w := &watch{now: s.lane.Clock.Now, scale: max(r.plan.TimeScale, 0), cell: cell}
	if w.scale == 0 {
		w.scale = 1
	}
	for _, row := range watchers {
		w.rows = append(w.rows, row(r, ctx, s, w))
	}
	of := WatchedRun{Target: s.Target, Servers: s.attended()}
	for _, watch := range r.o.Watchers {
		w.rows = append(w.rows, watch(ctx, of))
	}
	return w
}

// begin begins to watch. It is called between the warm-up and the run; at a further probe of a search it does nothing.
func (w *watch) begin(ctx context.Context) {
	if w.begun() {
		return
	}
	for _, x := range w.rows {
		if x.Before != nil {
			x.Before(ctx)
		}
	}
	w.began = w.now()
	ctx, w.stop = context.WithCancel(ctx)
	every := max(time.Duration(float64(scrapeEvery)/w.scale), scrapeLeast)
	for _, x := range w.rows {
		if x.During != nil {
			w.done.Go(func() { x.During(ctx, every) })
		}
	}
}

// label returns the name of the cell in messages.
func (w *watch) label() string { return result.Coordinates(w.cell.Values, " ") }

// begun reports whether the run got as far as its first request.
func (w *watch) begun() bool { return !w.began.IsZero() }

// end ends the watch of a run, of which got was measured.
func (w *watch) end(ctx context.Context, got measurement) {
	w.got = got
	if w.begun() {
		w.ended = w.now()
		w.stop()
		w.done.Wait()
	}
	for _, x := range slices.Backward(w.rows) {
		if x.After != nil {
			x.After(ctx, seconds(got.run.Duration))
		}
	}
}

// tell writes what was seen into a run, and returns what was counted.
func (r *runner) tell(w *watch, run *result.Run) *counted.Tally {
	t := counted.New(w.began, w.ended)
	for _, x := range w.rows {
		if x.Void != nil && (run.Status == result.RunOK || x.Excuses) {
			if cause, reason := x.Void(); reason != "" {
				run.Status, run.VoidCause, run.Reason = result.RunVoid, cause, r.o.Redact.String(reason)
			}
		}
		if x.Tell != nil {
			x.Tell(run)
		}
		if x.Count != nil {
			x.Count(t)
		}
	}
	return t
}

// at returns how long after the first planned request of the run a time is, in seconds of the run's own time.
func (w *watch) at(t time.Time) float64 {
	start := w.got.start
	if start.IsZero() {
		start = w.began
	}
	return t.Sub(start).Seconds() * w.scale
}

// each does something for all of a list at once.
func each[T any](list []T, do func(T)) {
	var wait sync.WaitGroup
	for _, one := range list {
		wait.Go(func() { do(one) })
	}
	wait.Wait()
}
