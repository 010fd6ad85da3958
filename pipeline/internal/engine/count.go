package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/counted"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

var errUnknownMachines = counted.Lasting(errors.New("servers of it answer already, and what they run on is not known"))

// watchPrice adds the cost of a run's time, if the file has a price for what the target holds. The machines of a server
// that answered before the run are unknown.
func (r *runner) watchPrice(_ context.Context, s *server, w *watch) Watcher {
	i := slices.IndexFunc(r.plan.Targets, func(x plan.Target) bool { return x.Addr == s.Target })
	if r.plan.Price == nil || i < 0 {
		return Watcher{}
	}
	target := r.plan.Targets[i]
	return Watcher{Count: func(t *counted.Tally) {
		if target.Attached || target.Answering > 0 {
			t.Unknown(metric.CounterPrice, errUnknownMachines)
			return
		}
		if amount := r.plan.Price.Of(target.OfLaunch(w.got.run.Duration).Hours); amount > 0 {
			t.Add(metric.CounterPrice, amount)
		}
	}}
}

// countRun adds the metrics of counters to a run. A metric without a value that a gate needs voids the run. If no
// server of the target counts it, countRun returns a ConfigError.
func (r *runner) countRun(s *server, bm plan.Benchmark, cell plan.Cell, t *counted.Tally, run *result.Run) error {
	if run.Metrics == nil || cell.Workload.Answers != nil || cell.Workload.Load.Search != nil { // a search's probes have different loads
		return nil
	}
	missing := t.Count(allMetrics(), r.plan.Measures, run.Metrics)
	r.warnLabels(s.Target, t.Programs())
	for _, x := range counted.Exceeded(allMetrics(), cell.Workload.Dataset, run.Metrics) {
		r.warn(fmt.Sprintf("%s: the %s is %.0f %%, where the workload implies at most %.0f %%: %s",
			cellOf(s.Target, result.Coordinates(cell.Values, " ")), strings.ToLower(x.Metric.Label), 100*x.Value, 100*x.Most,
			x.Metric.Implied.Exceeded))
	}
	if run.Status != result.RunOK {
		return nil
	}
	for _, p := range missing {
		gate, needed := r.needs(bm.Addr, p.Metric)
		if !needed {
			continue
		}
		if counted.Permanent(p.Err) {
			return &ConfigError{Addr: gate.Addr, Err: fmt.Errorf(
				"metric.%s of %s: %w; compare what its engine counts as it is configured, or remove the metric", p.Metric, s.Target, p.Err)}
		}
		run.Status, run.VoidCause = result.RunVoid, result.VoidCounters
		run.Reason = r.o.Redact.String(fmt.Sprintf("metric.%s: %v", p.Metric, p.Err))
		return nil
	}
	return nil
}

// allMetrics returns the registry of metrics, which each run reads.
var allMetrics = sync.OnceValue(metric.All)

// needs returns a gate that judges a benchmark by a metric.
func (r *runner) needs(benchmark, id string) (plan.Gate, bool) {
	for _, g := range r.plan.Gates {
		if g.Benchmark == benchmark && slices.Contains(g.Metrics, id) {
			return g, true
		}
	}
	return plan.Gate{}, false
}
