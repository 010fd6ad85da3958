package record

import "math"

// steadyShare is the smallest share of the peak concurrency in a steady state: the ratio in the example of
// SGLang 0.5.23's steady_state_serving, which has no default.
const steadyShare = 0.8

// window is the part of a run in which the server was kept busy.
type window struct {
	// Start and End in nanoseconds since the start of the run.
	Start, End int64
	// Concurrency is the smallest number of requests in flight in it.
	Concurrency int
}

// steadyState returns the longest span of a run with at least 80 % of its peak concurrency, the first of
// equals. It follows SGLang's sglang.benchmark.steady_state. So the ramps at both ends, in which part of the
// server idles, do not affect the throughput. A successful request is in flight from its send to its last
// token. ok is false without such a span.
func steadyState(run Run) (w window, ok bool) {
	spans := flights(run, func(r *Request) (from, to int64) {
		if r.Failure != "" || len(r.Events) == 0 || r.Sent < 0 {
			return 0, 0
		}
		return r.Sent, r.Events[len(r.Events)-1].At
	})
	peak := peakOf(spans)
	if peak == 0 {
		return w, false
	}
	w.Concurrency = max(int(math.Ceil(steadyShare*float64(peak)-1e-9)), 1)
	start := int64(-1)
	for s := range spans {
		if s.n < w.Concurrency {
			start = -1
			continue
		}
		if start < 0 {
			start = s.from
		}
		if s.to-start > w.End-w.Start {
			w.Start, w.End = start, s.to
		}
	}
	return w, w.End > w.Start
}

// reduceSteady adds the throughput within the steady state, and its share of the run.
func reduceSteady(m map[string]float64, run Run) {
	w, ok := steadyState(run)
	if !ok || run.Duration <= 0 {
		return
	}
	tokens := 0.0
	for _, r := range run.Requests.All() {
		if r.Failure != "" || len(r.Events) == 0 {
			continue
		}
		if r.OutputTokens <= 0 {
			return // a partial sum would look like a slower server
		}
		tokens += tokensWithin(r, w)
	}
	m["steady_window.share"] = min(float64(w.End-w.Start)/float64(run.Duration), 1)
	m["steady_output_throughput.mean"] = tokens / seconds(w.End-w.Start)
}

// tokensWithin returns the number of output tokens in a window: from the server's counts if exact, else its
// total times the share of events.
func tokensWithin(r *Request, w window) float64 {
	exact, before := countsExact(r), 0
	tokens, events := 0, 0
	for _, e := range r.Events {
		if e.At >= w.Start && e.At <= w.End {
			events++
			tokens += max(e.Tokens-before, 0)
		}
		before = e.Tokens
	}
	if exact {
		return float64(tokens)
	}
	return float64(r.OutputTokens) * float64(events) / float64(len(r.Events))
}
