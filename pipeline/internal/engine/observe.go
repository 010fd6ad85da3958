package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/counted"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

const (
	scrapeTimeout = 2 * time.Second
	// scrapeKeep is the largest number of scrapes to keep. Beyond it every second scrape is dropped and the interval
	// doubles.
	scrapeKeep = 600
	// scrapeTries is the number of consecutive failed scrapes after which scraping stops.
	scrapeTries = 3
)

// view holds the reports of one server during a run. It is complete when the watch has ended.
type view struct {
	member        *member
	observer      steps.Observer
	before, after *steps.Observation // nil if the scrape failed
	scrapes       []steps.Observation
	// history yields what the server recorded itself between before and after; nil if it does not. It is not kept, since a
	// run of days has a hundred thousand observations.
	history iter.Seq[steps.Observation]
	err     error            // of the first scrape that failed
	program *counted.Program // nil if the file declares no measure of servers
}

// watchServers scrapes the metrics of all servers: counters before and after the run, gauges in between.
func (r *runner) watchServers(_ context.Context, s *server, w *watch) Watcher {
	for _, m := range s.servers() {
		if observer := m.Engine.Capabilities().Observer; observer != nil {
			w.views = append(w.views, &view{member: m, observer: observer})
		}
	}
	return Watcher{
		Before: func(ctx context.Context) {
			each(w.views, func(v *view) { v.before = v.scrape(ctx, counted.BeforeRun) })
		},
		During: func(ctx context.Context, every time.Duration) {
			each(w.views, func(v *view) { v.during(ctx, every) })
		},
		After: func(ctx context.Context, _ time.Duration) {
			if !w.begun() {
				w.views = nil
			}
			each(w.views, func(v *view) { v.end(ctx) })
		},
		Tell: func(run *result.Run) {
			for _, v := range w.views {
				r.tellView(s, w, v, run)
			}
		},
		Count: func(t *counted.Tally) {
			for _, v := range w.views {
				if v.before == nil || v.after == nil {
					t.Unread(v.member.Name, v.err)
				} else {
					t.AddServer(v.before.Counters, v.after.Counters, v.member.Name, v.member.Role)
				}
			}
		},
	}
}

// scrape reads the current metrics of the server; nil if they cannot be read.
func (v *view) scrape(ctx context.Context, when counted.Moment) *steps.Observation {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	o, err := v.observer.Observe(ctx, v.member.endpoint)
	if err != nil {
		if v.err == nil {
			v.err = err
		}
		if v.program != nil {
			v.program.Fail(err, when)
		}
		return nil
	}
	v.show(&o, when)
	if when != counted.AfterRun {
		v.scrapes = append(v.scrapes, o)
	}
	return &o
}

// show passes the text of a scrape to the measures of the file, and releases it.
func (v *view) show(o *steps.Observation, when counted.Moment) {
	if p := v.program; p != nil && p.Wants(when) {
		if o.Exposition == nil {
			p.Fail(errors.New("it shows no metrics"), when)
		} else {
			p.Take(o.Exposition(), o.At, when)
		}
	}
	o.Exposition = nil
}

// keepsHistory reports whether the server records its metrics during a run itself.
func (v *view) keepsHistory() bool { return v.member.Engine.Capabilities().History != nil }

// during scrapes repeatedly until ctx ends.
func (v *view) during(ctx context.Context, every time.Duration) {
	if v.keepsHistory() {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for failed := 0; failed < scrapeTries; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		before := v.err
		if v.scrape(ctx, counted.DuringRun) != nil {
			failed = 0
		} else if failed++; ctx.Err() != nil {
			v.err = before // the end of the run interrupted the scrape
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

// end reads the counters after the run, and the server's own history if it keeps one.
func (v *view) end(ctx context.Context) {
	if v.keepsHistory() {
		v.history = v.member.Engine.Capabilities().History(ctx, v.member.endpoint)
	}
	if v.history != nil && v.program != nil {
		for o := range v.history {
			v.show(&o, counted.DuringRun)
		}
	}
	v.after = v.scrape(ctx, counted.AfterRun)
}

// tellView adds the increase of a server's counters to a run, and the series of its metrics and log.
func (r *runner) tellView(s *server, w *watch, v *view, run *result.Run) {
	name := v.member.Name
	if v.member.alone {
		name = ""
	}
	for counter, rise := range v.rises() {
		tellServer(run, name, counter, rise)
	}
	most := r.seriesPoints()
	run.Series = append(run.Series, series(name, sourceMetrics, v.points(w.scale), w.at, most)...)
	run.Series = append(run.Series, series(name, sourceLog, slices.Values(v.member.output.between(w.began, w.now())), w.at, most)...)
	if v.err != nil && (v.before == nil || v.after == nil) {
		r.warnUnreadableMetrics(v.member.label(s.Target), v.err, *run)
	}
}

// tellServer adds a figure of a member to a run.
func tellServer(run *result.Run, member, name string, value float64) {
	if run.Server == nil {
		run.Server = map[string]float64{}
	}
	run.Server[prefixed(member, name)] = value
}

func prefixed(member, name string) string {
	if member == "" {
		return name
	}
	return member + "/" + name
}

// splitMember splits the name of a figure into the member, "" for a single server, and the figure.
func splitMember(figure string) (member, name string) {
	if member, name, of := strings.Cut(figure, "/"); of {
		return member, name
	}
	return "", figure
}

// warnUnreadableMetrics warns once of a server that serves and whose metrics cannot be read.
func (r *runner) warnUnreadableMetrics(label string, err error, run result.Run) {
	if run.Status == result.RunFailed || run.Status == result.RunCancelled {
		return
	}
	if r.first(r.unseen, label) {
		r.warn(fmt.Sprintf("%s: its metrics cannot be read, so the result lacks its counters and series: %v", label, err))
	}
}

// rises returns the increase of each counter. A counter that is new started at 0. A counter that fell was reset and is
// omitted.
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

// points returns the gauges of the scrapes. If the engine has no such gauge, it derives values from the counters of two
// scrapes: throughput in tokens per second of the run's own time, and the share of prefix cache hits.
func (v *view) points(scale float64) iter.Seq[point] {
	return func(yield func(point) bool) {
		var last *steps.Observation
		for o := range v.observations() {
			values := o.Gauges
			if last != nil {
				values = maps.Clone(o.Gauges)
				derive(values, *last, o, scale)
			}
			if !yield(point{o.At, values}) {
				return
			}
			last = &o
		}
	}
}

// observations yields all scrapes of the run in order.
func (v *view) observations() iter.Seq[steps.Observation] {
	return func(yield func(steps.Observation) bool) {
		for _, o := range v.scrapes {
			if !yield(o) {
				return
			}
		}
		if v.history != nil {
			for o := range v.history {
				if !yield(o) {
					return
				}
			}
		}
		if v.after != nil {
			yield(*v.after)
		}
	}
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
		for name, counter := range map[string]string{steps.SeriesPrompt: metric.CounterPromptTokens,
			steps.SeriesOutput: metric.CounterGenerationTokens} {
			if n, ok := rise(counter); ok {
				add(name, n/took)
			}
		}
	}
	queries, ok := rise(metric.CounterPrefixQueries)
	hits, also := rise(metric.CounterPrefixHits)
	if ok && also && queries > 0 {
		add(steps.SeriesHitRate, hits/queries)
	}
}
