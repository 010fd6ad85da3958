package engine

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	engines "github.com/servegate/pipeline/steps/engine"
)

// quantity is something that was counted during a run, or why it is not known of this run.
type quantity struct {
	name string // for messages
	of   func(*tally) (float64, error)
}

// counted is a metric that is made of what was counted during a run: of a quantity, divided by another. The
// usual ones are in countedMetrics, and a measure block of the file declares one more.
type counted struct {
	metric string // id
	of, by quantity
	plus   float64
	factor float64 // 0 means 1
	// implied is the largest value that a workload lets it have, with the margin that engines need
	// for what they count in other units; nil where there is none.
	implied func(steps.Dataset) (most float64, ok bool)
	margin  float64
	// exceeded says what a value beyond it means.
	exceeded string
}

// countedMetrics are those that every file has. Of those of one metric the first counts whose counters are
// there.
var countedMetrics = []counted{
	{metric: "acceptance.length", of: counter(steps.CounterAcceptedTokens), by: counter(steps.CounterDrafts), plus: 1},
	{metric: "acceptance.length", of: counter(steps.CounterGenerationTokens), by: counter(steps.CounterDrafts)},
	{metric: "acceptance.rate", of: counter(steps.CounterAcceptedTokens), by: counter(steps.CounterDraftTokens)},
	{
		metric: "prefix_cache.hit_rate", of: counter(steps.CounterPrefixHits), by: counter(steps.CounterPrefixQueries),
		// Engines count whole blocks, and the first requests of a run find an empty cache together.
		// Less is no fault of the measurement: the cache may be off, or too small.
		implied: dataset.Repeated, margin: 0.1,
		exceeded: "the caches were not empty, so the run measured less prefill than it should",
	},
	{metric: "preemptions.per_request", of: counter(steps.CounterPreemptions), by: divisors[steps.PerRequest]},
	{metric: "server_queue.mean", of: counter(steps.CounterQueueSeconds), by: counter(steps.CounterQueued)},
	{metric: "energy.per_output_token", of: counter(steps.CounterJoules), by: divisors[steps.PerOutputToken]},
	{metric: "energy.cpu_per_output_token", of: counter(steps.CounterCPUJoules), by: divisors[steps.PerOutputToken]},
	{metric: "cost.per_million_tokens", of: counter(counterPrice), by: divisors[steps.PerOutputToken], factor: 1e6},
}

// counterPrice is what a run's time costs on what its target holds, in the currency of the file.
const counterPrice = "price"

// divisors are what any metric can be divided by.
var divisors = map[steps.MeasurePer]quantity{
	steps.PerSecond:      {"the measured window", func(t *tally) (float64, error) { return t.seconds, nil }},
	steps.PerRequest:     {"the number of requests", func(t *tally) (float64, error) { return t.client.requests, nil }},
	steps.PerOutputToken: {"the number of output tokens", func(t *tally) (float64, error) { return t.client.outputTokens, nil }},
}

// counter is what a counter rose by, of those that all engines share.
func counter(name string) quantity {
	return quantity{name, func(t *tally) (float64, error) { return t.rise(name) }}
}

// lasting is in the chain of errors about what measuring again does not change.
type lasting struct{ error }

var (
	errNotCounted      = lasting{errors.New("nothing counts what it is made of")}
	errUnknownMachines = lasting{errors.New("servers of it answer already, and what they run on is not known")}
)

func permanent(err error) bool {
	_, ok := errors.AsType[lasting](err)
	return ok || errors.Is(err, engines.ErrKind)
}

// clientCounts are what the load generator counted in a run.
type clientCounts struct{ requests, outputTokens float64 }

// counts of the requests of a run, or what another load generator reports of them.
func (m *measurement) counts() clientCounts {
	c := clientCounts{requests: float64(m.run.Sent)}
	for i := range m.records.Requests {
		c.outputTokens += float64(m.records.Requests[i].OutputTokens)
	}
	if len(m.records.Requests) == 0 {
		c.outputTokens, _ = m.run.Audit["output_tokens"].(float64)
	}
	return c
}

// tally is what was counted during a run: by the servers of its target, by the machine, by what the file
// declares, and by the load generator.
type tally struct {
	rises map[string]float64
	// broken says why what a counter rose by is not known; of a server whose metrics could not be
	// read, under "".
	broken       map[string]error
	exposers     []*exposer
	began, ended time.Time
	client       clientCounts
	seconds      float64 // of the measured window
}

// tally sums the counters of the servers, and adds what the machine counted.
func (w *watch) tally(machine Watched) *tally {
	t := &tally{rises: map[string]float64{}, broken: map[string]error{}, exposers: w.exposers, began: w.began, ended: w.ended}
	for name, e := range map[string]*Energy{steps.CounterJoules: machine.Energy, steps.CounterCPUJoules: machine.CPUEnergy} {
		if e == nil {
			continue
		}
		t.rises[name] = e.Joules
		switch {
		case e.Unknown != "" && e.Absent:
			t.broken[name] = lasting{errors.New(e.Unknown)}
		case e.Unknown != "":
			t.broken[name] = errors.New(e.Unknown)
		}
	}
	for _, v := range w.views {
		t.addServer(v)
	}
	return t
}

func (t *tally) addServer(v *view) {
	if v.before == nil || v.after == nil {
		t.broken[""] = fmt.Errorf("the metrics of %s could not be read: %w", v.member.Name, v.err)
		return
	}
	for name, after := range v.after.Counters {
		rise := after - v.before.Counters[name]
		if rise < 0 {
			t.broken[name] = fmt.Errorf("%s fell from %g to %g: the server was restarted or has reset it", name, v.before.Counters[name], after)
		}
		t.rises[name] += rise
	}
	for name := range v.before.Counters {
		if _, there := v.after.Counters[name]; !there {
			t.broken[name] = fmt.Errorf("%s is no longer among the metrics of %s", name, v.member.Name)
		}
	}
}

// price adds the cost of the time of a run where the file has a price for what the target holds. Nobody has counted
// the machines of a server that answered before the run.
func (t *tally) price(p *plan.Plan, s *server) {
	i := slices.IndexFunc(p.Targets, func(x plan.Target) bool { return x.Addr == s.Target })
	if p.Price == nil || i < 0 {
		return
	}
	if p.Targets[i].Attached || p.Targets[i].Answering > 0 {
		t.broken[counterPrice] = errUnknownMachines
		return
	}
	hours := t.seconds / 3600
	machines := float64(max(p.Targets[i].Machines, 1))
	if amount := p.Price.Of(hours*machines, hours*float64(p.Targets[i].GPUs)); amount > 0 {
		t.rises[counterPrice] = amount
	}
}

// rise of a counter, or why it is not known.
func (t *tally) rise(name string) (float64, error) {
	for _, key := range []string{"", name} {
		if err := t.broken[key]; err != nil {
			return 0, err
		}
	}
	rise, there := t.rises[name]
	if !there {
		return 0, errNotCounted
	}
	return rise, nil
}

// value of a metric in the run.
func (t *tally) value(c counted) (float64, error) {
	of, err := c.of.of(t)
	if err != nil {
		return 0, err
	}
	by := 1.0
	if c.by.of != nil {
		if by, err = c.by.of(t); err != nil {
			return 0, err
		}
	}
	if by <= 0 {
		return 0, fmt.Errorf("%s did not rise, so there is nothing to divide by", c.by.name)
	}
	value := (c.plus + of/by) * cmp.Or(c.factor, 1)
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, errors.New("it is no finite number")
	}
	return value, nil
}

// uncounted is why a metric has no value in a run.
type uncounted struct {
	metric string
	err    error
}

// count adds metrics to a run, and returns those that have no value.
func (t *tally) count(metrics []counted, run *result.Run) []uncounted {
	var out []uncounted
	for _, c := range metrics {
		if _, known := run.Metrics[c.metric]; known {
			continue
		}
		value, err := t.value(c)
		out = slices.DeleteFunc(out, func(old uncounted) bool { return old.metric == c.metric && (err == nil || permanent(old.err)) })
		if err == nil {
			run.Metrics[c.metric] = value
		} else if !slices.ContainsFunc(out, func(old uncounted) bool { return old.metric == c.metric }) {
			out = append(out, uncounted{c.metric, err})
		}
	}
	return out
}

// countRun adds the metrics of counters to a run. One that a gate needs and that has no value voids
// the run; where no server of the target counts it, the file asks for what is not there.
func (r *runner) countRun(s *server, bm plan.Benchmark, cell plan.Cell, w *watch, t *tally, client clientCounts, run *result.Run) error {
	if run.Metrics == nil || cell.Workload.Answers != nil || cell.Workload.Load.Search != nil { // whose probes are of many loads
		return nil
	}
	t.client, t.seconds = client, run.Duration
	t.price(r.plan, s)
	missing := t.count(slices.Concat(countedMetrics, declaredMetrics(r.plan.Measures)), run)
	r.warnLabels(s.Target, w)
	r.warnImplied(s.Target, cell, *run)
	if run.Status != result.RunOK {
		return nil
	}
	for _, p := range missing {
		gate, needed := r.needs(bm.Addr, p.metric)
		if !needed {
			continue
		}
		if permanent(p.err) {
			return &ConfigError{Addr: gate.Addr, Range: gate.Range,
				Err: fmt.Errorf("metric.%s of %s: %w; compare what its engine counts as it is configured, or remove the metric",
					p.metric, s.Target, p.err)}
		}
		run.Status, run.VoidCause = result.RunVoid, result.VoidCounters
		run.Reason = r.o.Redact.String(fmt.Sprintf("metric.%s: %v", p.metric, p.err))
		return nil
	}
	return nil
}

// needs finds a gate that judges a benchmark by a metric.
func (r *runner) needs(benchmark, id string) (plan.Gate, bool) {
	for _, g := range r.plan.Gates {
		if g.Benchmark == benchmark && slices.Contains(g.Metrics, id) {
			return g, true
		}
	}
	return plan.Gate{}, false
}

// warnImplied warns of what the workload does not let the servers count: then prompts came back that
// were new, for example.
func (r *runner) warnImplied(target string, cell plan.Cell, run result.Run) {
	for _, c := range countedMetrics {
		value, known := run.Metrics[c.metric]
		if !known || c.implied == nil {
			continue
		}
		if most, ok := c.implied(cell.Workload.Dataset); ok && value > most+c.margin {
			m, _ := metric.Lookup(c.metric)
			r.warn(fmt.Sprintf("%s: the %s is %.0f %%, where the workload implies at most %.0f %%: %s",
				cellOf(target, result.Coordinates(cell.Values, " ")), strings.ToLower(m.Label), 100*value, 100*most, c.exceeded))
		}
	}
}
