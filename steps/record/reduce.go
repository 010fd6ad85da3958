package record

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

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
		reduceGaps(m, run)
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

// reduceGaps adds the statistics of the times between events and between tokens, which mostly are the same. A million requests
// have many: unless one is longer than four seconds, each takes four bytes.
func reduceGaps(m map[string]float64, run Run) {
	n, longest, one := shape(run)
	if longest > math.MaxUint32 {
		reducePooled[int64](m, run, n)
	} else {
		reducePooled[uint32](m, run, n)
	}
	if !one {
		reduceGroup(m, "itl_token", tokenGaps(run))
		return
	}
	for _, stat := range slices.Collect(maps.Keys(m)) {
		if name, of := strings.CutPrefix(stat, "itl."); of {
			m["itl_token."+name] = m[stat]
		}
	}
}

// reducePooled adds the statistics of the n gaps of a run, which it holds as type T.
func reducePooled[T int64 | uint32](m map[string]float64, run Run, n int) {
	pooled := make([]T, 0, n)
	for gap := range gaps(run) {
		pooled = append(pooled, T(gap))
	}
	reduceValues(m, "itl", pooled, func(ns T) float64 { return seconds(int64(ns)) })
}

// reduceGroup adds the statistics of a group, which it sorts.
func reduceGroup(m map[string]float64, id string, v []float64) { reduceValues(m, id, v, itself) }

// reduceValues adds the statistics of a group, which it sorts: a run of a million requests has no room for a copy. in returns a
// value in the metric's unit, in the same order.
func reduceValues[T cmp.Ordered](m map[string]float64, id string, v []T, in func(T) float64) {
	if len(v) == 0 {
		return
	}
	average := mean(v, in)
	m[id+".mean"], m[id+".std"] = average, std(v, in, average)
	slices.Sort(v)
	for _, q := range quantiles {
		m[id+"."+q.stat] = quantile(v, in, q.q)
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
