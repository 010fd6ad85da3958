package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
)

// pass measures one cell once. The fault states why the server cannot be used any longer; the run is then recorded as
// failed. The error ends the whole run.
func (r *runner) pass(ctx context.Context, s *server, run plan.Run) (*fault, error) {
	bm, cell, ok := r.plan.Cell(run.Cell)
	if !ok {
		return nil, fmt.Errorf("run of cell %s, which the plan does not have", run.Cell)
	}
	label := result.Coordinates(cell.Values, " ")
	at := s.lane.Clock.Now().Sub(r.out.Started).Seconds()
	r.emit(s, event.Event{Type: event.RunStart, Addr: bm.Addr, Cell: cell.Hash, Label: label, Pass: run.Pass, Text: label})
	r.reset(ctx, s)
	w := r.newWatch(ctx, s, cell)
	take := r.runOwnLoad
	switch {
	case cell.Workload.Driver != nil:
		take = r.driven
	case cell.Workload.Load.Search != nil:
		take = r.searched
	}
	got, err := take(ctx, s, bm, cell, run, w)
	w.end(ctx, got)
	if err != nil {
		return nil, err
	}
	measured := got.run
	measured.At, measured.Between = at, s.between(got)
	tally := r.tell(w, &measured)
	uncounted := r.countRun(s, bm, cell, tally, &measured)
	measured.Repeat, measured.Replaces, measured.Launch, measured.Nodes = s.repeat, s.replaces, s.launch.ID, s.lane.Nodes
	if got.records.Requests.Len() > 0 {
		if err := r.keep(s, bm, cell, run, got, &measured); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		measured.Status, measured.Reason, measured.Metrics = result.RunCancelled, context.Cause(ctx).Error(), nil
	}
	r.record(run, measured)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if uncounted != nil {
		return nil, uncounted
	}
	if got.cause != nil {
		return newFault(phaseRun, got.cause), r.bus.Err()
	}
	return nil, errors.Join(r.bus.Err(), s.logErr())
}

// between returns the time from the last answer of the previous run to the first request of this one, in seconds. The
// program needs it to finish one run and to prepare the next.
func (s *server) between(m measurement) float64 {
	before := s.answered
	s.answered = m.last
	if before.IsZero() || m.first.IsZero() {
		return 0
	}
	return m.first.Sub(before).Seconds()
}

// reset clears the servers' caches, so that a run does not profit from the one before.
func (r *runner) reset(ctx context.Context, s *server) {
	ctx, cancel := context.WithTimeout(ctx, resetTimeout)
	defer cancel()
	for _, m := range s.servers() {
		err := m.Engine.Reset(ctx, m.endpoint)
		switch {
		case err == nil, ctx.Err() != nil:
		case errors.Is(err, steps.ErrNoReset):
			r.warn(fmt.Sprintf("%s: caches are not cleared between runs: %v", m.label(s.Target), err))
		default:
			r.warn(fmt.Sprintf("%s: caches could not be cleared before a run: %v", m.label(s.Target), err))
		}
	}
}

// send executes the workload. cause states why the server cannot be used any longer; err states why the load generator
// failed.
func (r *runner) send(ctx context.Context, s *server, bm plan.Benchmark, cell plan.Cell, run plan.Run,
	w *watch) (got load.Result, cause, err error) {
	inner, cancel := s.within(ctx, bm, errHung)
	defer cancel()
	url, stop, err := r.o.Front(cmp.Or(s.replaces, s.repeat), s.front.endpoint.BaseURL)
	if err != nil {
		return got, nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	got, err = r.generate(inner, s, run, load.Options{
		BaseURL: url, Model: s.front.endpoint.Model, Headers: s.front.endpoint.Headers,
		Workload: warmed(cell.Workload, s.servers()), Seed: run.Seed, ShapeSeed: run.ShapeSeed,
		TimeScale: r.plan.TimeScale, Progress: r.progress(s, bm, cell, run), Begin: w.begin,
	})
	if faultOfTheFile(err) {
		return got, nil, &ConfigError{Addr: bm.Addr, Err: err}
	}
	switch {
	case ctx.Err() != nil:
		return got, nil, err
	case inner.Err() != nil:
		return got, context.Cause(inner), err
	case placeLost(err):
		return got, err, nil
	case err != nil || anyFailed(got.Run):
		return got, r.alive(inner, s), err
	}
	return got, nil, nil
}

// faultOfTheFile reports whether a workload cannot be generated, whatever the server does.
func faultOfTheFile(err error) bool {
	var invalid *dataset.InvalidError
	return errors.Is(err, steps.ErrUnsupported) || errors.As(err, &invalid)
}

// placeLost reports whether the load generator lost its node, and with it the job of the servers.
func placeLost(err error) bool {
	_, ok := errors.AsType[*steps.EvictionError](err)
	return ok
}

func anyFailed(run record.Run) bool {
	for _, q := range run.Requests.All() {
		if q.Failure != "" {
			return true
		}
	}
	return false
}

// alive polls a server with failed requests until it serves again or healthTimeout passes. The process of a dead server
// may take a moment to exit. A dead engine may also leave a process that answers only with errors.
func (r *runner) alive(ctx context.Context, s *server) error {
	ctx, cancel := context.WithTimeoutCause(ctx, healthTimeout, errUnhealthy)
	defer cancel()
	ready := s.front.Spec.Readiness()
	tick := time.NewTicker(min(ready.Interval, healthTimeout/5))
	defer tick.Stop()
	for {
		if _, ok, _ := r.poll(ctx, s.front, ready); ok {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (r *runner) progress(s *server, bm plan.Benchmark, cell plan.Cell, run plan.Run) func(load.Progress) {
	label := result.Coordinates(cell.Values, " ")
	return func(p load.Progress) {
		r.emit(s, event.Event{
			Type: event.RunProgress, Addr: bm.Addr, Cell: cell.Hash, Label: label, Pass: run.Pass,
			Progress: &event.Progress{
				Sent: p.Sent, Done: p.Done, Failed: p.Failed, Total: p.Total, InFlight: p.InFlight,
				Rate: p.Rate(), TTFTp50: float64(p.TTFTp50) / 1e9, TTFTp99: float64(p.TTFTp99) / 1e9,
			},
		})
	}
}

// redactAnswer masks secrets in an answer. It removes the tokens of an answer with a secret, since they would reveal
// it.
func (r *runner) redactAnswer(a *record.Answer) {
	if a == nil {
		return
	}
	a.Ask = r.o.Redact.String(a.Ask)
	if text := r.o.Redact.String(a.Text); text != a.Text {
		a.Text, a.Tokens, a.Logprobs = text, nil, nil
	}
}

// keep writes the records of a run, and makes their histograms meanwhile.
func (r *runner) keep(s *server, bm plan.Benchmark, cell plan.Cell, run plan.Run, got measurement, measured *result.Run) error {
	var missing error
	var histograms sync.WaitGroup
	if got.distributed {
		histograms.Go(func() { measured.Histograms, missing = record.Histograms(got.records) })
	}
	records, err := r.writeRecords(s, bm, cell, run, got.records)
	histograms.Wait()
	measured.Records = records
	if missing != nil {
		r.warn(fmt.Sprintf("no histograms: %v", missing))
	}
	return err
}

func (r *runner) writeRecords(s *server, bm plan.Benchmark, cell plan.Cell, run plan.Run, got record.Run) (string, error) {
	mask := func(q *record.Request) {
		q.Error = r.o.Redact.String(q.Error)
		r.redactAnswer(q.Answer)
	}
	header := record.Header{Meta: map[string]string{
		"benchmark": bm.Addr, "cell": cell.Hash, "label": result.Coordinates(cell.Values, " "), "target": cell.Target,
		"repeat": strconv.Itoa(s.repeat), "launch": s.launch.ID, "seed": strconv.FormatUint(run.Seed, 10),
	}}
	if run.Pass > 0 {
		header.Meta["pass"] = strconv.Itoa(run.Pass)
	}
	return r.o.Store.WriteRecords(r.runName(s, run), func(w io.Writer) error { return record.Write(w, header, got, mask) })
}
