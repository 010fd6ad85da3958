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
// several watchers in list order. After is called in reverse order, so that the first to begin ends last. A nil
// function is skipped.
type Watcher struct {
	// Before is called between the warm-up and the first measured request.
	Before func(ctx context.Context)
	// During is called at the first measured request and returns when ctx ends. every is the time between two readings.
	During func(ctx context.Context, every time.Duration)
	// After is called after the last request, or after a run that ended before its first one. lasted is the duration of
	// the run.
	After func(ctx context.Context, lasted time.Duration)
	// Void returns why the run does not represent its servers; an empty reason means that it does. A failed run stays
	// failed, unless Excuses is set.
	Void    func() (cause result.VoidCause, reason string)
	Excuses bool
	// Tell adds what was observed to the run.
	Tell func(run *result.Run)
	// Count adds counters, from which metrics are computed.
	Count func(t *counted.Tally)
}

// Watch returns the watcher of one run. It is called before the warm-up.
type Watch func(ctx context.Context, servers []Attended) Watcher

// watchers holds the watchers of every run, in addition to those of the options.
var watchers = []func(*runner, context.Context, *server, *watch) Watcher{
	(*runner).watchMachine,
	(*runner).watchPauses,
	(*runner).watchLaunch,
	(*runner).watchServers,
	(*runner).watchLateness, // reads the servers' counters
	(*runner).watchMeasures, // reads the servers' metrics
	(*runner).watchRelays,
	(*runner).watchTransfer, // reads the servers' counters
	(*runner).watchPrice,
	(*runner).watchClient,
}

// These limits control how servers are watched during a run. A scrape costs the server a few milliseconds of its event
// loop, so there is at most one a second, on a separate connection.
const (
	scrapeEvery = time.Second            // of the run's own time
	scrapeLeast = 100 * time.Millisecond // of real time, however fast a simulation runs
)

// watch holds the watchers of one run.
type watch struct {
	now   func() time.Time
	scale float64 // how many times faster than its own time the run is
	cell  plan.Cell
	rows  []Watcher
	// began is when the first measured request was about to be sent, zero for a run that ended before it. ended is when
	// the last request was answered.
	began, ended time.Time
	got          measurement // what was measured
	views        []*view     // of the servers

	stop context.CancelFunc
	done sync.WaitGroup
}

// newWatch returns the watch of a run of a cell. The caller must call end.
func (r *runner) newWatch(ctx context.Context, s *server, cell plan.Cell) *watch {
	w := &watch{now: s.lane.Clock.Now, scale: max(r.plan.TimeScale, 0), cell: cell}
	if w.scale == 0 {
		w.scale = 1
	}
	for _, row := range watchers {
		w.rows = append(w.rows, row(r, ctx, s, w))
	}
	servers := s.attended()
	for _, watch := range r.o.Watchers {
		w.rows = append(w.rows, watch(ctx, servers))
	}
	return w
}

// begin starts watching. It is called between the warm-up and the run; at further probes of a search it does nothing.
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

// end ends the watch of a run with its measurement.
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

// tell adds what was observed to a run, and returns the counters.
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

// at returns how long after the first planned request t is, in seconds of the run's own time.
func (w *watch) at(t time.Time) float64 {
	start := w.got.start
	if start.IsZero() {
		start = w.began
	}
	return t.Sub(start).Seconds() * w.scale
}

// each calls do for all elements of a list concurrently.
func each[T any](list []T, do func(T)) {
	var wait sync.WaitGroup
	for _, one := range list {
		wait.Go(func() { do(one) })
	}
	wait.Wait()
}
