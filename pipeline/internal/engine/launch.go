package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/capacity"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// job is a planned launch, or one that measures void runs again.
type job struct {
	plan.Launch
	repeat, replaces int
	lane             Lane
	participant      *participant // among resident launches; nil for none
}

// attempts is how often a launch is tried within its repeat: a server that died during a run is started once more for
// the remaining cells.
const attempts = 2

// attemptID names an attempt in the document. The first has the name in the plan.
func attemptID(planned string, attempt int) string {
	if attempt == 1 {
		return planned
	}
	return fmt.Sprintf("%s~%d", planned, attempt)
}

// planned returns the launch of the plan that an attempt belongs to. The suffix is unambiguous: names contain no tilde,
// and an instance key ends with a quote and a bracket.
func planned(attempt string) string {
	return strings.TrimSuffix(attempt, fmt.Sprintf("~%d", attempts))
}

// launch executes a planned launch: all runs in one start of the target, or in two if the server dies in between. It
// returns an error only if the run must end.
func (r *runner) launch(ctx context.Context, j job) error {
	once := len(r.plan.Repeats) == 1
	runs := j.Runs
	for attempt := 1; len(runs) > 0; attempt++ {
		end, err := r.attempt(ctx, j, attempt, runs)
		if err != nil {
			return err
		}
		last := attempt == attempts
		runs = end.left
		if once && !last {
			// No later repeat tries this target again, so it is tried here, including the cell in which it died.
			if !end.ready {
				r.notMeasured(j, attempt, runs, end.failure)
			}
			continue
		}
		if len(runs) > 0 && (last || !end.ready) {
			r.notMeasured(j, attempt, runs, end.failure)
			break
		}
	}
	r.bus.Emit(event.Event{Type: event.LaunchDone, Launch: j.ID, Repeat: j.repeat, Target: j.Target})
	return r.bus.Err()
}

// ending describes how an attempt ended.
type ending struct {
	ready   bool // it became ready
	failure *result.Failure
	left    []plan.Run // not measured
}

// attempt executes one start of a target with its runs.
func (r *runner) attempt(ctx context.Context, j job, attempt int, runs []plan.Run) (ending, error) {
	s, err := r.open(j, attempt)
	if err != nil {
		return ending{}, err
	}
	r.occupy(ctx, j)
	if cause := r.bringUp(ctx, s); cause != nil {
		r.eta.failed(attempt)
		failure, err := r.fail(ctx, s, r.excuse(ctx, s, cause))
		return ending{failure: failure, left: runs}, err
	}
	end, fault, err := r.passes(ctx, s, attempt, runs)
	if err != nil {
		return ending{}, r.abandon(ctx, s, err)
	}
	if fault == nil {
		return end, r.end(ctx, s)
	}
	end.failure, err = r.fail(ctx, s, r.excuse(ctx, s, fault))
	return end, err
}

// passes measures the runs of a ready server, until the server fails in one.
func (r *runner) passes(ctx context.Context, s *server, attempt int, runs []plan.Run) (ending, *fault, error) {
	for i, run := range runs {
		if f := r.turnOf(ctx, s, len(s.Runs)-len(runs)+i); f != nil {
			return ending{}, f, nil
		}
		cause, err := r.pass(ctx, s, run)
		if err != nil {
			return ending{}, nil, err
		}
		if cause == nil {
			continue
		}
		left := runs[i+1:]
		if len(r.plan.Repeats) == 1 && attempt < attempts {
			left = runs[i:]
		}
		return ending{ready: true, left: left}, cause, nil
	}
	return ending{ready: true}, nil, nil
}

// notMeasured records the runs that a failed launch could not execute. Each counts as a failure of the server in its
// cell.
func (r *runner) notMeasured(j job, attempt int, runs []plan.Run, failure *result.Failure) {
	for _, run := range runs {
		r.record(run, result.Run{
			Repeat: j.repeat, Replaces: j.replaces, Nodes: j.lane.Nodes, Launch: attemptID(j.ID, attempt), Status: result.RunFailed,
			Reason: fmt.Sprintf("not measured: %s (%s)", phaseText(failure.Phase), failure.Class),
		})
	}
}

// record emits the event of a run, which adds it to its launch.
func (r *runner) record(run plan.Run, measured result.Run) {
	_, cell, _ := r.plan.Cell(run.Cell)
	measured.Pass = run.Pass
	index, total := r.eta.position()
	if measured.Duration > 0 {
		r.eta.ran(run.Cell)
	} else {
		r.eta.dropped(run.Cell)
	}
	elapsed, left := r.eta.estimate()
	label := result.Coordinates(cell.Values, " ")
	r.bus.Emit(event.Event{
		Type: event.RunEnd, Addr: run.Benchmark, Repeat: measured.Repeat, Repeats: len(r.plan.Repeats), Replaces: measured.Replaces,
		Launch: measured.Launch, Target: cell.Target, Cell: run.Cell, Label: label, Pass: run.Pass, Run: &measured,
		Index: index, Total: total, Elapsed: elapsed, Left: left, Text: runText(cmp.Or(label, cell.Target), measured),
	})
}

// runText describes a run in one line.
func runText(label string, run result.Run) string {
	if run.Status != result.RunOK {
		return fmt.Sprintf("%s: %s: %s", label, run.Status, run.Reason)
	}
	if run.Search != nil {
		return fmt.Sprintf("%s: %s by %s", label, capacity.FoundText(run.Search), humanize.Count(len(run.Search.Probes), "probe"))
	}
	parts := []string{fmt.Sprintf("%s: %d requests", label, run.Sent)}
	if run.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", run.Failed))
	}
	for _, m := range []struct{ id, name string }{{"ttft.p50", "TTFT p50"}, {"ttft.p99", "p99"}, {"tpot.p50", "TPOT p50"}} {
		if v, ok := run.Metrics[m.id]; ok {
			parts = append(parts, fmt.Sprintf("%s %.3g ms", m.name, 1000*v))
		}
	}
	return strings.Join(parts, ", ")
}
