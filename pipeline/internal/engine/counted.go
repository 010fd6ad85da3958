package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// counted is a metric that is made of what the servers of a target count: what one counter rose by
// during a run, by what another did.
type counted struct {
	metric string // id
	// over and per are counters, summed over all servers.
	over, per string
	// by is what the client counted, in the place of a counter.
	by   func(clientCounts) float64
	plus float64
	// implied is the largest value that a workload lets it have, with the margin that engines need
	// for what they count in other units; nil where there is none.
	implied func(steps.Dataset) (most float64, ok bool)
	margin  float64
	// exceeded says what a value beyond it means.
	exceeded string
}

// countedMetrics are all of them. Of those of one metric the first counts whose counters are there.
var countedMetrics = []counted{
	{metric: "acceptance.length", over: steps.CounterAcceptedTokens, per: steps.CounterDrafts, plus: 1},
	{metric: "acceptance.length", over: steps.CounterGenerationTokens, per: steps.CounterDrafts},
	{metric: "acceptance.rate", over: steps.CounterAcceptedTokens, per: steps.CounterDraftTokens},
	{
		metric: "prefix_cache.hit_rate", over: steps.CounterPrefixHits, per: steps.CounterPrefixQueries,
		// Engines count whole blocks, and the first requests of a run find an empty cache together.
		// Less is no fault of the measurement: the cache may be off, or too small.
		implied: dataset.Repeated, margin: 0.1,
		exceeded: "the caches were not empty, so the run measured less prefill than it should",
	},
	{metric: "preemptions.per_request", over: steps.CounterPreemptions, by: func(c clientCounts) float64 { return c.requests }},
	{metric: "server_queue.mean", over: steps.CounterQueueSeconds, per: steps.CounterQueued},
	{metric: "energy.per_output_token", over: steps.CounterJoules, by: func(c clientCounts) float64 { return c.outputTokens }},
	{metric: "energy.cpu_per_output_token", over: steps.CounterCPUJoules, by: func(c clientCounts) float64 { return c.outputTokens }},
	{metric: "cost.per_million_tokens", over: counterPrice, by: func(c clientCounts) float64 { return c.outputTokens / 1e6 }},
}

// counterPrice is what a run's time costs on what its target holds, in the currency of the file.
const counterPrice = "price"

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

// countedProblem is why a metric of counters has no value in a run.
type countedProblem struct {
	metric, text string
	// absent means that no server counts it, which measuring again does not change.
	absent bool
}

// tally is what the counters of all servers of a target rose by during a run.
type tally struct {
	rises map[string]float64
	// broken says why what a counter rose by is not known; of a server whose metrics could not be
	// read, under "".
	broken map[string]string
	// absent are the broken counters of which nothing will be known in another run either.
	absent map[string]bool
}

// tally sums the counters of the servers, and adds what the machine counted.
func (w *watch) tally(machine Watched) tally {
	t := tally{map[string]float64{}, map[string]string{}, map[string]bool{}}
	for name, e := range map[string]*Energy{steps.CounterJoules: machine.Energy, steps.CounterCPUJoules: machine.CPUEnergy} {
		if e == nil {
			continue
		}
		t.rises[name] = e.Joules
		if e.Unknown != "" {
			t.broken[name] = e.Unknown
			t.absent[name] = e.Absent
		}
	}
	for _, v := range w.views {
		if v.before == nil || v.after == nil {
			t.broken[""] = fmt.Sprintf("the metrics of %s could not be read: %v", v.member.Name, v.err)
			continue
		}
		for name, after := range v.after.Counters {
			rise := after - v.before.Counters[name]
			if rise < 0 {
				t.broken[name] = fmt.Sprintf("%s fell from %g to %g: the server was restarted or has reset it", name, v.before.Counters[name], after)
			}
			t.rises[name] += rise
		}
		for name := range v.before.Counters {
			if _, there := v.after.Counters[name]; !there {
				t.broken[name] = fmt.Sprintf("%s is no longer among the metrics of %s", name, v.member.Name)
			}
		}
	}
	return t
}

// priced adds what the time of a run costs, where the file has a price for what the target holds.
func (t tally) priced(p *plan.Plan, target string, seconds float64) tally {
	i := slices.IndexFunc(p.Targets, func(x plan.Target) bool { return x.Addr == target })
	if p.Price == nil || i < 0 {
		return t
	}
	hours := seconds / 3600
	if amount := p.Price.Of(hours*float64(max(p.Targets[i].Machines, 1)), hours*float64(p.Targets[i].GPUs)); amount > 0 {
		t.rises[counterPrice] = amount
	}
	return t
}

// rise of a counter, or why it is not known.
func (t tally) rise(name string) (rise float64, problem string, there bool) {
	for _, key := range []string{"", name} {
		if text, ok := t.broken[key]; ok {
			return 0, text, true
		}
	}
	rise, there = t.rises[name]
	return rise, "", there
}

// of computes a metric.
func (t tally) of(c counted, client clientCounts) (value float64, p *countedProblem) {
	over, problem, there := t.rise(c.over)
	per, name := 0.0, c.per
	switch {
	case !there || problem != "":
	case c.by != nil:
		per, name = c.by(client), "what the client counts"
	default:
		per, problem, there = t.rise(c.per)
	}
	switch {
	case problem != "":
		return 0, &countedProblem{metric: c.metric, text: problem, absent: t.absent[c.over]}
	case !there:
		return 0, &countedProblem{metric: c.metric, text: "nothing counts what it is made of", absent: true}
	case per <= 0:
		return 0, &countedProblem{metric: c.metric, text: fmt.Sprintf("%s did not rise, so there is nothing to divide by", name)}
	}
	return c.plus + over/per, nil
}

// count adds the metrics of counters to a run that has metrics, and returns those that have no
// value.
func (t tally) count(run *result.Run, client clientCounts) []countedProblem {
	var problems []countedProblem
	for _, c := range countedMetrics {
		if _, known := run.Metrics[c.metric]; known {
			continue
		}
		value, p := t.of(c, client)
		problems = slices.DeleteFunc(problems, func(old countedProblem) bool { return old.metric == c.metric && (p == nil || old.absent) })
		if p == nil {
			run.Metrics[c.metric] = value
		} else if !slices.ContainsFunc(problems, func(old countedProblem) bool { return old.metric == c.metric }) {
			problems = append(problems, *p)
		}
	}
	return problems
}

// countRun adds the metrics of counters to a run. One that a gate needs and that has no value voids
// the run; where no server of the target counts it, the file asks for what is not there.
func (r *runner) countRun(s *server, bm plan.Benchmark, cell plan.Cell, w *watch, t tally, client clientCounts, run *result.Run) error {
	if run.Metrics == nil || cell.Workload.Answers != nil || cell.Workload.Load.Search != nil { // whose probes are of many loads
		return nil
	}
	problems := slices.Concat(t.priced(r.plan, s.Target, run.Duration).count(run, client), w.declare(r.plan.Measures, run, client))
	r.warnLabels(s.Target, w)
	r.warnImplied(s.Target, cell, *run)
	if run.Status != result.RunOK {
		return nil
	}
	for _, p := range problems {
		gate, needed := r.needs(bm.Addr, p.metric)
		if !needed {
			continue
		}
		if p.absent {
			return &ConfigError{Addr: gate.Addr, Range: gate.Range, Err: fmt.Errorf("metric.%s of %s: %s; compare what its engine counts as it is configured, or remove the metric", p.metric, s.Target, p.text)}
		}
		run.Status, run.VoidCause = result.RunVoid, result.VoidCounters
		run.Reason = r.o.Redact.String(fmt.Sprintf("metric.%s: %s", p.metric, p.text))
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
			r.warn(fmt.Sprintf("%s, %s: the %s is %.0f %%, where the workload implies at most %.0f %%: %s",
				target, plan.Label(cell.Values), strings.ToLower(m.Label), 100*value, 100*most, c.exceeded))
		}
	}
}
