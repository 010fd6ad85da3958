package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

// How servers are watched during a run. A scrape costs the server a few milliseconds of
// its event loop, so there is one a second and no more, on a connection of its own.
const (
	scrapeEvery   = time.Second            // of the run's own time
	scrapeLeast   = 100 * time.Millisecond // of real time, however fast a simulation runs
	scrapeTimeout = 2 * time.Second
	// scrapeKeep is how many scrapes are kept; then every second one is dropped, and from
	// there on half as many are made.
	scrapeKeep = 600
	// scrapeTries is how many scrapes in a row may fail before the rest are not made.
	scrapeTries = 3
)

// HistoryObserver is an observer that keeps what a server was in the course of a run by itself,
// and is not asked meanwhile: where time does not pass while a run is carried out.
type HistoryObserver interface {
	steps.Observer
	// History is what the server was in the course of the last run.
	History(ctx context.Context, ep steps.Endpoint) []steps.Observation
}

// watch observes the servers of a target during one run.
type watch struct {
	now    func() time.Time
	scale  float64 // how many times faster than its own time the run is
	views  []*view
	relays []*relayed
	// exposers are read for the measures that the file declares.
	exposers     []*exposer
	began, ended time.Time
	stop         context.CancelFunc
	done         sync.WaitGroup

	pauses func(context.Context)                             // forgets the pauses before the run
	attend func(context.Context) (end func(context.Context)) // nil where nothing attends
	leave  func(context.Context)                             // that it returned

	nics                  func() []probe.NIC // of the machine, where a transfer has to be proved
	nicsBefore, nicsAfter []probe.NIC
}

// view is what one server reports during a run. Once the watch has ended it is complete.
type view struct {
	member        *member
	observer      steps.Observer
	before, after *steps.Observation // nil where the scrape failed
	scrapes       []steps.Observation
	err           error    // of the first scrape that failed
	exposer       *exposer // nil where the file declares no measure of servers
}

// newWatch prepares the observation of a run; begin starts it.
func (r *runner) newWatch(s *server) *watch {
	w := &watch{now: s.lane.Clock.Now, scale: max(r.plan.TimeScale, 0), nics: func() []probe.NIC { return nil }}
	w.pauses = func(ctx context.Context) { r.askPauses(ctx, s) }
	if s.spec.Transfer != nil && r.o.NICs != nil {
		w.nics = r.o.NICs
	}
	if w.scale == 0 {
		w.scale = 1
	}
	w.relays = s.relays()
	for _, m := range s.servers() {
		if observer := m.Engine.Capabilities().Observer; observer != nil {
			w.views = append(w.views, &view{member: m, observer: observer})
		}
	}
	r.expose(s, w)
	return w
}

// begin takes the counters before the first measured request and goes on until end. It
// is called between the warm-up and the run, and returns within the time of one scrape.
func (w *watch) begin(ctx context.Context) {
	if w.stop != nil { // a search, at a further probe
		return
	}
	each(w.views, func(v *view) {
		if o, ok := v.scrape(ctx, beforeRun); ok {
			v.before = &o
		}
	})
	each(w.exposers, func(e *exposer) { e.look(ctx, w.now, beforeRun) })
	each(w.relays, func(r *relayed) { r.begin(ctx) })
	w.pauses(ctx)
	w.nicsBefore = w.nics()
	w.began = w.now()
	ctx, w.stop = context.WithCancel(ctx)
	every := max(time.Duration(float64(scrapeEvery)/w.scale), scrapeLeast)
	for _, e := range w.exposers {
		w.done.Go(func() { e.during(ctx, w.now, every) })
	}
	for _, v := range w.views {
		if _, ok := v.observer.(HistoryObserver); ok {
			continue
		}
		w.done.Go(func() { v.during(ctx, every) })
	}
	if w.attend != nil {
		w.leave = w.attend(ctx)
	}
}

// end stops the observation and takes the counters after the last request.
func (w *watch) end(ctx context.Context) {
	if w.stop == nil { // the run ended before its first request
		w.views, w.relays = nil, nil
		return
	}
	if w.leave != nil {
		w.leave(ctx)
	}
	w.stop()
	w.ended = w.now()
	w.nicsAfter = w.nics()
	w.done.Wait()
	each(w.relays, func(r *relayed) { r.end(ctx) })
	each(w.views, func(v *view) {
		if c, ok := v.observer.(HistoryObserver); ok {
			history := c.History(ctx, v.member.endpoint)
			for i := range history {
				v.expose(&history[i], duringRun)
			}
			v.scrapes = append(v.scrapes, history...)
		}
		if o, ok := v.scrape(ctx, afterRun); ok {
			v.after = &o
		}
	})
	each(w.exposers, func(e *exposer) { e.look(ctx, w.now, afterRun) })
}

// each does something for all of a list at once.
func each[T any](list []T, do func(T)) {
	var wait sync.WaitGroup
	for _, one := range list {
		wait.Go(func() { do(one) })
	}
	wait.Wait()
}

// scrape reads what the server reports now.
func (v *view) scrape(ctx context.Context, when moment) (steps.Observation, bool) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	o, err := v.observer.Observe(ctx, v.member.endpoint)
	if err != nil {
		if v.err == nil {
			v.err = err
		}
		if v.exposer != nil && v.exposer.err == nil && when != duringRun {
			v.exposer.err = err
		}
		return o, false
	}
	v.expose(&o, when)
	v.scrapes = append(v.scrapes, o)
	return o, true
}

// expose reads the series of the file's measures from what a server showed, and lets go of its text.
func (v *view) expose(o *steps.Observation, when moment) {
	if e := v.exposer; e != nil && len(e.measures) > 0 && (when != duringRun || e.sampled()) {
		if o.Exposition == nil {
			e.err = errors.New("it shows no metrics")
		} else {
			e.read(o.Exposition(), o.At, when)
		}
	}
	o.Exposition = nil
}

// during scrapes again and again until ctx ends.
func (v *view) during(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for failed := 0; failed < scrapeTries; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		before := v.err
		if _, ok := v.scrape(ctx, duringRun); ok {
			failed = 0
		} else if failed++; ctx.Err() != nil {
			v.err = before // the end of the run cut it off
			return
		}
		if len(v.scrapes) >= scrapeKeep {
			v.scrapes = everySecond(v.scrapes)
			every *= 2
			tick.Reset(every)
		}
	}
}

func everySecond[T any](list []T) []T {
	kept := list[:0]
	for i := 0; i < len(list); i += 2 {
		kept = append(kept, list[i])
	}
	return kept
}

// observed adds what a watch has seen to a run. start is when the run's first request was
// planned.
func (r *runner) observed(s *server, w *watch, start time.Time, run *result.Run) {
	if start.IsZero() {
		start = w.began
	}
	s.ofLaunch(run, w.scale)
	r.tellAdded(s, w, run)
	most := r.seriesPoints()
	for _, v := range w.views {
		name := v.member.Name
		if v.member.alone {
			name = ""
		}
		rises := v.rises()
		if late, ok := takeLate(rises); ok {
			rises[result.SimulatedLate] = late
		}
		for counter, rise := range rises {
			if run.Server == nil {
				run.Server = map[string]float64{}
			}
			run.Server[prefixed(name, counter)] = rise
		}
		at := func(t time.Time) float64 { return t.Sub(start).Seconds() * w.scale }
		run.Series = append(run.Series, series(name, sourceMetrics, v.points(w.scale), at, most)...)
		run.Series = append(run.Series, series(name, sourceLog, v.member.output.between(w.began, w.now()), at, most)...)
		if v.err != nil && (v.before == nil || v.after == nil) && run.Status != result.RunFailed && run.Status != result.RunCancelled {
			r.warnUnreadableMetrics(v.member.label(s.Target), v.err)
		}
	}
}

// The sources of series.
const (
	sourceMetrics = "metrics"
	sourceLog     = "log"
	sourceClient  = "client"
)

func prefixed(member, name string) string {
	if member == "" {
		return name
	}
	return member + "/" + name
}

// warnUnreadableMetrics warns once of a server whose metrics cannot be read.
func (r *runner) warnUnreadableMetrics(label string, err error) {
	if r.first(r.unseen, label) {
		r.warn(fmt.Sprintf("%s: its metrics cannot be read, so the result lacks its counters and series: %v", label, err))
	}
}

// rises is what each counter rose by. A counter that is new has risen from nothing; one
// that fell was reset and says nothing.
func (v *view) rises() map[string]float64 {
	if v.before == nil || v.after == nil {
		return nil
	}
	out := map[string]float64{}
	for name, after := range v.after.Counters {
		if rise := after - v.before.Counters[name]; rise >= 0 {
			out[name] = rise
		}
	}
	return out
}

// points returns the gauges of the scrapes, and the values that follow from the counters of two
// scrapes where the engine has no gauge: throughput in tokens per second of the run's own time,
// and the share of prefix cache hits.
func (v *view) points(scale float64) []point {
	var out []point
	for i, o := range v.scrapes {
		values := map[string]float64{}
		maps.Copy(values, o.Gauges)
		if i > 0 {
			derive(values, v.scrapes[i-1], o, scale)
		}
		out = append(out, point{o.At, values})
	}
	return out
}

func derive(values map[string]float64, before, after steps.Observation, scale float64) {
	rise := func(name string) (float64, bool) {
		old, was := before.Counters[name]
		now, is := after.Counters[name]
		return now - old, was && is && now >= old
	}
	add := func(name string, v float64) {
		if _, told := values[name]; !told {
			values[name] = v
		}
	}
	if took := after.At.Sub(before.At).Seconds() * scale; took > 0 {
		for name, counter := range map[string]string{steps.SeriesPrompt: steps.CounterPromptTokens,
			steps.SeriesOutput: steps.CounterGenerationTokens} {
			if n, ok := rise(counter); ok {
				add(name, n/took)
			}
		}
	}
	queries, ok := rise(steps.CounterPrefixQueries)
	hits, also := rise(steps.CounterPrefixHits)
	if ok && also && queries > 0 {
		add(steps.SeriesHitRate, hits/queries)
	}
}
