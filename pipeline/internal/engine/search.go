package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/capacity"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// searched measures a cell by a search: one run of many probes, each at a different load.
func (r *runner) searched(ctx context.Context, s *server, bm plan.Benchmark, cell plan.Cell, run plan.Run,
	w *watch) (out measurement, err error) {
	search, err := capacity.New(cell.Workload.Load)
	if err != nil {
		return out, &ConfigError{Addr: bm.Addr, Err: err}
	}
	defer func() { s.probe = 0 }()
	goesOn := true
	for _, p := range r.probed(s, run) {
		goesOn = search.Add(p) && goesOn
	}
	out.run = result.Run{Status: result.RunOK, Audit: map[string]any{}}
	for step := search.Next(); step != nil && goesOn; step = search.Next() {
		if s.probe = step.Number; step.Number > 1 {
			r.reset(ctx, s)
			r.drain(ctx, s)
		}
		got, err := r.probe(ctx, s, bm, cell, run, w, step)
		if err != nil {
			return out, err
		}
		if out.start.IsZero() {
			out.start = got.start
		}
		p := search.Probe(step, got.run)
		goesOn = search.Add(p)
		if ctx.Err() == nil {
			r.emit(s, event.Event{Type: event.ProbeEnd, Addr: bm.Addr, Cell: cell.Hash, Label: result.Coordinates(cell.Values, " "),
				Pass: run.Pass, Probe: &p, Text: cmp.Or(result.Coordinates(cell.Values, " "), cell.Target) + ": " + capacity.ProbeText(p)})
		}
		if ctx.Err() != nil || got.cause != nil || !carriedOut(got.run) {
			out.cause, out.run.Status, out.run.Reason, out.run.VoidCause = got.cause, got.run.Status, fmt.Sprintf("%s, at %s", got.run.Reason,
				capacity.Text(p.Kind, p.Load)), got.run.VoidCause
			break
		}
	}
	r.conclude(&out.run, search, goesOn)
	return out, nil
}

// carriedOut reports whether a run shows how its server handles a load. A run in which all requests fail does, too.
func carriedOut(run result.Run) bool {
	switch run.Status {
	case result.RunFailed:
		return run.Sent > 0 && run.Failed == run.Sent
	case result.RunVoid:
		return run.VoidCause != result.VoidGeneratorLost
	}
	return true
}

// probe measures one load of a search.
func (r *runner) probe(ctx context.Context, s *server, bm plan.Benchmark, cell plan.Cell, run plan.Run, w *watch,
	step *capacity.Step) (measurement, error) {
	cell.Workload.Load = step.Load
	run.Seed = capacity.Seed(run.Seed, step.Number)
	run.ShapeSeed = 0 // different arrivals for each probe and repeat
	got, err := r.runOwnLoad(ctx, s, bm, cell, run, w)
	if err != nil || got.records.Requests.Len() == 0 {
		return got, err
	}
	r.warnFailures(s.Target, result.Coordinates(cell.Values, " "), got.records)
	err = r.keep(s, bm, cell, run, got, &got.run)
	return got, err
}

// conclude sets the results of a search in its run.
func (r *runner) conclude(run *result.Run, search *capacity.Search, goesOn bool) {
	run.Search = search.Found()
	run.Sent, run.Failed = search.Carried()
	for _, p := range run.Search.Probes {
		run.Duration += p.Duration
	}
	if run.Status != result.RunOK {
		return
	}
	if !goesOn {
		last := run.Search.Probes[len(run.Search.Probes)-1]
		run.Status, run.VoidCause = result.RunVoid, last.VoidCause
		run.Reason = fmt.Sprintf("at %s, twice: %s", capacity.Text(last.Kind, last.Load), last.Void)
		return
	}
	if why := search.Nowhere(); why != "" {
		run.Status, run.Reason = result.RunFailed, why
		return
	}
	run.Metrics = search.Metrics()
}

// probed returns the probes that an interrupted session has made in a run. On a cluster the search starts anew, since
// the nodes may differ and the journal does not record them for probes.
func (r *runner) probed(s *server, run plan.Run) []result.Probe {
	if r.o.Resume == nil || s.lane.Nodes != "" {
		return nil
	}
	r.mu.Lock()
	probes := slices.Clone(r.out.probes[searchOf{planned(s.launch.ID), run.Cell, run.Pass}])
	r.mu.Unlock()
	for i := range probes {
		probes[i].Resumed = true
	}
	return probes
}

// searchOf identifies a search of the plan.
type searchOf struct {
	launch, cell string
	pass         int
}

// drain polls at most drainPolls times, drainPause apart, whether the servers have finished requests that the client
// abandoned.
const (
	drainPolls = 60
	drainPause = time.Second
)

// drain waits until no server of a target has requests left, so that timed-out requests do not disturb the next probe.
func (r *runner) drain(ctx context.Context, s *server) {
	left := drainPolls
	for _, m := range s.servers() {
		observer := m.Engine.Capabilities().Observer
		if observer == nil {
			continue
		}
		for busy(ctx, observer, m.endpoint) {
			if left--; left < 0 {
				r.warn(fmt.Sprintf("%s: requests of a probe were still running %v after it, when the next began", m.label(s.Target),
					drainPolls*drainPause))
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-r.o.After(drainPause):
			}
		}
	}
}

// busy reports whether a server has requests left.
func busy(ctx context.Context, observer steps.Observer, at steps.Endpoint) bool {
	ctx, cancel := context.WithTimeout(ctx, drainPolls*drainPause)
	defer cancel()
	o, err := observer.Observe(ctx, at)
	return err == nil && o.Gauges[steps.SeriesRunning]+o.Gauges[steps.SeriesWaiting] > 0
}
