package record

import "slices"

// quantiles are the percentile statistics of every latency group.
var quantiles = [...]struct {
	stat string
	q    float64
}{{"p50", 0.50}, {"p90", 0.90}, {"p95", 0.95}, {"p99", 0.99}}

// Reduce computes the run-level metrics of package gates/metric from a run, keyed by metric ID ("ttft.p99") in
// the metric's unit (seconds, tokens or requests per second, counts, fractions). A metric without data is
// absent, never 0.
//
// Latencies follow `vllm bench serve` 0.33 unless the ID says otherwise: failed requests are excluded,
// percentiles interpolate linearly, std has ddof 0, and ITL is pooled per stream event over all requests.
// Throughputs divide the totals of successful requests by Run.Duration. A token throughput is absent if any
// successful request lacks the count, because a partial sum would look like a slower server. success.rate
// excludes requests that we cancelled. The times between tokens are absent if unknown (see [Samples.Untimed]).
func Reduce(run Run) map[string]float64 {
	m := map[string]float64{}
	untimed := reduceLatencies(m, run)
	if !untimed {
		itl := gaps(run)
		reduceGroup(m, "itl", itl)
		reduceGroup(m, "itl_token", tokenGaps(run, itl))
	}
	reduceThroughput(m, run)
	reduceConcurrency(m, run)
	reduceSteady(m, run)
	if !untimed || run.Goodput.TPOT == 0 {
		reduceGoodput(m, run)
	}
	return m
}

// reduceLatencies adds the statistics of the times that each request or session has once. It reports whether the times
// between tokens are unknown.
func reduceLatencies(m map[string]float64, run Run) (untimed bool) {
	s := latencies(run)
	if untimed = s.Untimed(); !untimed {
		reduceGroup(m, "tpot", s.TPOT)
	}
	for id, v := range map[string][]float64{
		"ttft": s.TTFT, "e2el": s.E2EL, "ttft_from_schedule": s.TTFTFromSchedule, "e2el_from_schedule": s.E2ELFromSchedule,
		"queue": s.Queue, "session_time": sessionTimes(run),
	} {
		reduceGroup(m, id, v)
	}
	return untimed
}

// reduceGroup adds the statistics of a group, which it sorts.
func reduceGroup(m map[string]float64, id string, v []float64) {
	if len(v) == 0 {
		return
	}
	m[id+".mean"], m[id+".std"] = Mean(v), Std(v)
	slices.Sort(v) // in place: a run of a million requests has many gaps
	for _, q := range quantiles {
		m[id+"."+q.stat] = Quantile(v, q.q)
	}
}

// Totals are the counts of a run.
type Totals struct {
	// Requests without those we cancelled.
	Requests int
	// Succeeded and Failed add up to Requests.
	Succeeded, Failed int
	// InputTokens and OutputTokens of the successful requests, as far as known.
	InputTokens, OutputTokens int
	// InputKnown and OutputKnown are false when a successful request lacks the count.
	InputKnown, OutputKnown bool
}

// Count returns the totals of a run.
func Count(run Run) Totals {
	t := Totals{InputKnown: true, OutputKnown: true}
	for _, r := range run.Requests.All() {
		switch r.Failure {
		case FailCancelled:
			continue
		case "":
			t.Succeeded++
			t.InputTokens += r.PromptTokens
			t.OutputTokens += r.OutputTokens
			t.InputKnown = t.InputKnown && r.PromptTokens > 0
			t.OutputKnown = t.OutputKnown && r.OutputTokens > 0
		default:
			t.Failed++
		}
		t.Requests++
	}
	return t
}

// Failures counts the failed requests by class, including those that we cancelled. Without failures the map is
// nil.
func Failures(run Run) (failed int, classes map[string]int) {
	for _, r := range run.Requests.All() {
		class := r.Failure
		if class == "" {
			continue
		}
		if classes == nil {
			classes = map[string]int{}
		}
		failed++
		classes[string(class)]++
	}
	return failed, classes
}

func reduceThroughput(m map[string]float64, run Run) {
	t := Count(run)
	if t.Requests > 0 {
		m["success.rate"] = float64(t.Succeeded) / float64(t.Requests)
	}
	if t.Succeeded == 0 || run.Duration <= 0 {
		return
	}
	d := seconds(run.Duration)
	m["request_throughput.mean"] = float64(t.Succeeded) / d
	if t.InputKnown {
		m["input_throughput.mean"] = float64(t.InputTokens) / d
	}
	if t.OutputKnown {
		m["output_throughput.mean"] = float64(t.OutputTokens) / d
	}
	if t.InputKnown && t.OutputKnown {
		m["total_throughput.mean"] = float64(t.InputTokens+t.OutputTokens) / d
	}
}
