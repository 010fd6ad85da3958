package metric

// quantity is a time with one value for every request (or token).
type quantity struct {
	name, label, definition, source string
	scale                           Scale
	// few is set if one value covers many requests, so that upper percentiles have too few values
	// to be gated.
	few bool
}

// latencies returns the groups of times that are reduced to statistics of a run.
func latencies() []Group {
	quantities := []quantity{
		{"ttft", "TTFT", "time to first token: arrival of the first stream event with visible text, from the send", vllm, Log, false},
		{"tpot", "TPOT", "time per output token without the first: (last − first token event) / (output tokens − 1), per request with more " +
			"than one token that did not all come in one piece", vllm, Log, false},
		{"itl", "ITL", "inter-token latency: gap between consecutive stream events with tokens, one value per event, pooled over all requests",
			vllm, Log, false},
		{"itl_token", "ITL per token",
			"inter-token latency per token: a gap that brought dn tokens counts dn times as gap/dn, pooled over all requests", sglang +
				", native endpoint", Log, false},
		{"e2el", "E2EL", "end-to-end latency: arrival of the last stream event with a token, from the send", vllm, Log, false},
		{"ttft_from_schedule", "TTFT from schedule",
			"time to first token from the planned arrival, so that waiting in the client is not omitted", ours, Log, false},
		{"e2el_from_schedule", "E2EL from schedule",
			"end-to-end latency from the planned arrival, so that waiting in the client is not omitted", vllm + " (e2el_including_client_queue)",
			Log, false},
		// A request that is sent on time waits zero seconds, which has no logarithm.
		{"queue", "Client queue", "wait in the client for a free slot: send − planned arrival", vllm + " (client_queue_time)", Difference, false},
		{"session_time", "Session", "time of a recorded session whose requests wait for each other and for their tools: from its first send to " +
			"the arrival of the last stream event with a token of its last answer, of sessions that succeeded as a whole", ours, Log, true},
	}
	groups := make([]Group, len(quantities))
	for i, q := range quantities {
		groups[i] = Group{Name: q.name, Definition: q.definition, Source: q.source, Metrics: q.metrics()}
	}
	return groups
}

// metrics returns the statistics of q over one run.
func (q quantity) metrics() []Metric {
	stats := []struct {
		stat, label, formula string
		quantile             float64
		minRequests          int
	}{
		{"mean", "mean", "arithmetic mean", 0, 10},
		{"p50", "p50", "50th percentile (median), linear interpolation", 0.50, 20},
		{"p90", "p90", "90th percentile, linear interpolation", 0.90, 100},
		{"p95", "p95", "95th percentile, linear interpolation", 0.95, 200},
		{"p99", "p99", "99th percentile, linear interpolation", 0.99, 1000},
		{"std", "std", "standard deviation with divisor n (ddof 0)", 0, 10},
	}
	metrics := make([]Metric, len(stats))
	for i, s := range stats {
		metrics[i] = Metric{
			ID: q.name + "." + s.stat, Group: q.name, Stat: s.stat,
			Label: q.label + " " + s.label,
			Unit:  Seconds, Direction: LowerIsBetter, Scale: q.scale, Level: RunLevel,
			Quantile: s.quantile, MinRequests: s.minRequests,
			Informational: s.stat == "std" || q.few && s.quantile > 0.5,
			Definition:    s.formula + " of the " + q.definition,
			Source:        q.source,
		}
	}
	return metrics
}
