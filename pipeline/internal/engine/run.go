package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// runner is one execution of a plan.
type runner struct {
	o       Options
	plan    *plan.Plan
	bus     *event.Bus
	out     *Outcome
	mu      sync.Mutex // guards out, warned, unseen, filled and late, while repeats run side by side
	eta     *eta
	resumed map[string]Launched // by ID in the plan
	warned  map[string]bool
	unseen  map[string]bool   // servers whose metrics cannot be read
	labels  map[string]labels // of measures, by the first target that has them
	filled  filled            // caches of targets
	late    map[string]bool   // targets whose simulated servers fell behind
	early   string            // why a complete run ended early
	closed  bool              // the outcome is complete
}

func newRunner(o Options) *runner {
	r := &runner{
		o: o, plan: o.Plan, bus: o.Bus, out: newOutcome(o.Plan), resumed: map[string]Launched{},
		warned: map[string]bool{}, unseen: map[string]bool{}, labels: map[string]labels{}, late: map[string]bool{}, filled: filled{},
	}
	r.eta = newETA(o.Plan, o.Now)
	if earlier := o.Resume; earlier != nil {
		r.out.resume(earlier)
		for _, l := range earlier.Launched {
			r.resumed[l.ID] = l
			r.filledBefore(l)
		}
		for _, w := range earlier.Warnings {
			r.warned[w] = true
		}
	}
	r.out.Last = o.Now()
	if r.out.Started.IsZero() {
		r.out.Started = r.out.Last
	}
	r.bus.Attach(r)
	return r
}

// Handle adds an event of the run to its outcome.
func (r *runner) Handle(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.out.add(e)
	}
}

// close returns the outcome of a run that has ended. Later events, such as those of reports, are not part of it.
func (r *runner) close() *Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.end()
	r.closed = true
	return r.out
}

// replace measures void runs again, up to the cap. It reports whether the run is over.
func (r *runner) replace(ctx context.Context) (over bool, err error) {
	for {
		rep, replaces, ok := replacement(r.plan, r.out.Launched)
		if !ok || r.plan.Exceeded(r.spending().Plus(r.expected([]plan.Repeat{rep}))) != "" {
			return false, nil
		}
		if over, err := r.repeat(ctx, rep, replaces); err != nil || over {
			return over, err
		}
	}
}

// begin ends the processes that a killed run left, and writes the plan and the description of the machine.
func (r *runner) begin(ctx context.Context) error {
	if r.o.Resume == nil {
		if err := r.o.Store.WriteJSON(store.PlanFile, r.plan); err != nil {
			return err
		}
	}
	r.bus.Emit(event.Event{Type: event.PlanReady, Plan: totals(r.plan), Text: r.plan.File})
	if r.o.Resume != nil {
		ended, err := r.o.EndLeft(r.o.Resume.Owners)
		if err != nil {
			return fmt.Errorf("a process that the interrupted run left cannot be ended: %w", err)
		}
		if len(ended) > 0 {
			r.warn("ended processes that the interrupted run had left: " + strings.Join(ended, ", "))
		}
	}
	if r.o.Probe != nil {
		r.out.Machine = r.o.Probe(ctx)
		if err := r.o.Store.WriteJSON(store.MachineFile, r.out.Machine); err != nil {
			return err
		}
	}
	if r.o.Preflight != nil {
		if err := r.o.Preflight(ctx); err != nil {
			return err
		}
	}
	return r.bus.Err()
}

// repeat launches every target of a repeat once. It reports whether the run is over.
func (r *runner) repeat(ctx context.Context, rep plan.Repeat, replaces int) (over bool, err error) {
	r.lane(rep).Clock.AdvanceTo(r.o.Now())
	if err := r.launches(ctx, replaces, rep); err != nil {
		return false, err
	}
	return r.repeatsEnd(replaces, rep)
}

// stopAfter reports whether failing targets end the run after a repeat.
func (r *runner) stopAfter(repeat int) (over bool, err error) {
	st := decideStop(r.plan, r.out.Launched)
	switch {
	case st == nil, r.o.KeepGoing && !st.final:
		return false, nil
	case st.infrastructure:
		return true, errors.New(st.reason)
	}
	if repeat < len(r.plan.Repeats) {
		r.early = fmt.Sprintf("ended early after repeat %d of %d: %s", repeat, len(r.plan.Repeats), st.reason)
	}
	return true, nil
}

// stopAtTheEnd warns of remaining void runs, and returns an error if the run ends as an infrastructure failure.
func (r *runner) stopAtTheEnd() error {
	groups := ComparedTogether(r.plan)
	if open, spent := voids(groups, r.out.Launched); len(open) > 0 {
		r.warn(fmt.Sprintf("void runs remain in %d repeats after %d cells were measured again (at most %d are)", len(open), spent,
			replaceCap(r.plan, groups)))
	}
	if st := decideStop(r.plan, r.out.Launched); st != nil && st.infrastructure {
		return errors.New(st.reason)
	}
	return nil
}

// finish sets the status of the run from the error that ended it.
func (r *runner) finish(ctx context.Context, err error) (*Outcome, error) {
	out := r.close()
	out.Ended = r.o.Now()
	config, isConfig := errors.AsType[*ConfigError](err)
	switch {
	case err == nil:
		out.Status, out.Reason = result.StatusComplete, r.early
		return out, nil
	case isConfig:
		out.Status, out.Reason = result.StatusFailed, err.Error()
		return out, config
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errTimeout):
		out.Status, out.Cause = result.StatusInterrupted, context.Cause(ctx)
		out.Reason = r.o.Redact.String(out.Cause.Error())
		r.bus.Emit(event.Event{Type: event.Interrupted, Text: out.Reason})
	case ctx.Err() != nil:
		out.Status = result.StatusFailed
		out.Reason = fmt.Sprintf("%v (%s)", errTimeout, seconds(r.plan.Timeout))
	default:
		out.Status, out.Reason = result.StatusFailed, r.o.Redact.String(err.Error())
	}
	return out, nil
}

// warn adds a warning once and emits it.
func (r *runner) warn(text string) {
	text = r.o.Redact.String(text)
	if !r.first(r.warned, text) {
		return
	}
	r.bus.Emit(event.Event{Type: event.Diagnostic, Severity: event.Warning, Text: text})
}

// first records what in told, and reports whether it was absent before.
func (r *runner) first(told map[string]bool, what string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if told[what] {
		return false
	}
	told[what] = true
	return true
}

// heartbeat emits a heartbeat event each minute until the returned function is called.
func (r *runner) heartbeat(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				elapsed, left := r.eta.estimate()
				index, total := r.eta.position()
				r.bus.Emit(event.Event{Type: event.Heartbeat, Elapsed: elapsed, Left: left, Index: index, Total: total})
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

func totals(p *plan.Plan) *event.PlanTotals {
	t := &event.PlanTotals{
		Benchmarks: len(p.Benchmarks), Repeats: len(p.Repeats), Launches: p.Estimate.Launches, Runs: p.Estimate.Runs,
		Seconds: p.Estimate.Seconds, Gates: len(p.Gates), Family: p.FamilySize, Simulated: p.Simulated,
	}
	for _, b := range p.Benchmarks {
		t.Cells += len(b.Cells)
	}
	return t
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
