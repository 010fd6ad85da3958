package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	capacities "github.com/servegate/pipeline/gates/capacity"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/capacity"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
)

// searchLoad searches for the highest load within the limits of --slo.
func (a *app) searchLoad(ctx context.Context, f loadFlags, opt load.Options) error {
	l, err := f.searched(opt.Workload, a.arrivals)
	if err != nil {
		return exit(exitUsage, err)
	}
	search, err := capacity.New(l)
	if err != nil {
		return exit(exitUsage, err)
	}
	goesOn := true
	for step := search.Next(); step != nil && goesOn; step = search.Next() {
		probe := opt
		probe.Workload.Load, probe.Seed = step.Load, capacity.Seed(opt.Seed, step.Number)
		res, err := load.Run(ctx, probe)
		if err != nil {
			if cause, ok := errors.AsType[interrupt](context.Cause(ctx)); ok {
				return exit(cause.exitCode(), err)
			}
			return exit(exitInfrastructure, err)
		}
		p := search.Probe(step, probedRun(res.Run))
		goesOn = search.Add(p)
		if !f.asJSON {
			fmt.Fprintln(a.Out, capacity.ProbeText(p))
		}
	}
	found := search.Found()
	if f.asJSON {
		if err := a.writeJSON(found); err != nil {
			return exit(exitInfrastructure, err)
		}
	} else {
		text := "capacity: " + capacity.FoundText(found)
		if found.Stopped != "" {
			text += ", " + found.Stopped
		}
		fmt.Fprintln(a.Out, text)
	}
	switch why := search.Nowhere(); {
	case !goesOn:
		return exit(exitInfrastructure, errors.New("the client was the limit, twice in a row: the figures say nothing of the server"))
	case why != "":
		return exit(exitRegression, errors.New(why))
	}
	return nil
}

// probedRun converts a run of the load generator to a run of a search.
func probedRun(run record.Run) result.Run {
	out := result.Run{Status: result.RunOK, Duration: float64(run.Duration) / 1e9, Sent: run.Requests.Len(), Overloaded: run.Audit.Overloaded,
		Metrics: record.Reduce(run)}
	out.Failed, out.Failures = record.Failures(run)
	if n := record.OnePiece(run); n > 0 {
		out.Audit = map[string]any{result.OnePiece: float64(n)}
	}
	if cause, reason := (load.Limits{}).Void(run.Audit); reason != "" {
		out.Status, out.Reason, out.VoidCause = result.RunVoid, reason, result.VoidCause(cause)
	}
	return out
}

// searched returns the load of --search.
func (f loadFlags) searched(w steps.Workload, arrivals load.Arrivals) (steps.Load, error) {
	l := w.Load
	switch {
	case f.ramp > 0:
		return l, errors.New("a search has no ramp, since each probe is at one load: leave --ramp out")
	case f.vllmJSON || f.records != "":
		return l, errors.New("--vllm-json and --records are of one run, and a search is many: leave them out, or use --json")
	}
	users, from, to, err := searchRange(f.search)
	switch {
	case err != nil:
		return l, err
	case l.Rate > 0 || l.MaxConcurrency > 0 && users || l.Arrival == load.Trace:
		return l, errors.New("--search varies what --rate, --max-concurrency and --trace-times would fix: leave them out")
	case !users && l.MaxConcurrency > 0:
		return l, errors.New(
			"--max-concurrency holds back the rates that --search tries, so that the limits could hold at any of them: leave it out")
	case users && l.Requests > 0 && to > float64(l.Requests):
		return l, fmt.Errorf("--search %s: %d requests are never sent by %g users at once: send more, or lower the second end",
			f.search, l.Requests, to)
	}
	if users {
		l.Arrival = load.Closed
	} else {
		f.setGaps(&l)
	}
	l.Search = &steps.Search{Min: from, Max: to, Resolution: steps.SearchResolution, Probes: steps.SearchProbes}
	for _, text := range f.slo {
		o, err := objectiveOf(text)
		if err == nil {
			err = checkObjective(text, o, w, l.Search.SLO)
		}
		if err != nil {
			return l, err
		}
		l.Search.SLO = append(l.Search.SLO, o)
	}
	if len(l.Search.SLO) == 0 {
		return l, errors.New("--search needs --slo, such as --slo ttft.p95:500,tpot.mean:40")
	}
	l.Search.LimitSuccess()
	if from*capacities.MaxRatio < to {
		return l, fmt.Errorf("--search %s spans more than a factor of %g", f.search, float64(capacities.MaxRatio))
	}
	return l, arrivals.Check(l.At(from))
}

// searchRange parses --search: rate=FROM:TO in requests per second, or concurrency=FROM:TO in users.
func searchRange(text string) (users bool, from, to float64, err error) {
	over, ends, ok := strings.Cut(text, "=")
	low, high, both := strings.Cut(ends, ":")
	from, errLow := strconv.ParseFloat(low, 64)
	to, errHigh := strconv.ParseFloat(high, 64)
	users = over == "concurrency"
	switch {
	case !ok || !both || errLow != nil || errHigh != nil || over != "rate" && !users:
		err = fmt.Errorf("--search %q must be of the form rate=4:64 or concurrency=1:128", text)
	case !(from > 0 && to > 0):
		err = fmt.Errorf("--search %s: both ends must be above zero", text)
	case to <= from:
		err = fmt.Errorf("--search %s: the second end must be above the first", text)
	case users && (from != math.Trunc(from) || to != math.Trunc(to)):
		err = fmt.Errorf("--search %s: numbers of users are whole", text)
	}
	return users, from, to, err
}

// checkObjective refuses a limit that the workload cannot be held to, or on a metric that has one.
func checkObjective(text string, o steps.Objective, w steps.Workload, others []steps.Objective) error {
	m, _ := metric.Lookup(o.Metric)
	switch {
	case w.Load.Requests > 0 && w.Load.Requests < m.MinRequests:
		return fmt.Errorf("--slo %s needs at least %d requests, and a probe has %d", text, m.MinRequests, w.Load.Requests)
	case w.Dataset.OutputMax == 1 && m.BetweenTokens():
		return fmt.Errorf("--slo %s is of the tokens after the first, and --output-len asks for one", text)
	case steps.Pooled(w.Endpoint) && m.OfTokens():
		return fmt.Errorf("--slo %s is of tokens, and %s have none", text, w.Endpoint)
	case strings.HasPrefix(o.Metric, "goodput.") && w.Goodput == (steps.Goodput{}):
		return fmt.Errorf("--slo %s needs the limits of a good request: --goodput", text)
	case slices.ContainsFunc(others, func(other steps.Objective) bool { return other.Metric == o.Metric }):
		return fmt.Errorf("--slo %s: %s has two limits; leave one out", text, o.Metric)
	}
	return nil
}

// objectiveOf parses a limit of --slo: milliseconds for a time, percent for a share.
func objectiveOf(text string) (steps.Objective, error) {
	id, number, ok := strings.Cut(text, ":")
	m, known := metric.Lookup(id)
	x, err := strconv.ParseFloat(number, 64)
	switch {
	case !ok || err != nil || !(x > 0):
		return steps.Objective{}, fmt.Errorf("--slo %q must be of the form ttft.p95:500 (milliseconds) or success.rate:99.9 (percent)", text)
	case !known || !m.Objective():
		return steps.Objective{}, fmt.Errorf("--slo %q: %s must be a time or share of requests, such as ttft.p95, e2el.p99 or success.rate",
			text, id)
	case m.Unit == metric.Seconds:
		return steps.Objective{Metric: m.ID, Limit: x / 1000}, nil
	case x > 100:
		return steps.Objective{}, fmt.Errorf("--slo %q: a share is at most 100 %%", text)
	}
	return steps.Objective{Metric: m.ID, Limit: x / 100}, nil
}
