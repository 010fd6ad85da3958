package metric

// counted are the metrics that servers count themselves: what a counter rose by while a run
// lasted, by what another did.
func counted() []Group {
	const drafts = ", over the measured window; the mean acceptance length of the engine's log"
	up, down := HigherIsBetter, LowerIsBetter
	return grouped([]Metric{
		{ID: "acceptance.length", Label: "Acceptance length", Unit: Tokens, Direction: up, Scale: Log, Work: true,
			Definition: "tokens that a verified step of speculative decoding gives, the model's own included: 1 + accepted / drafts; SGLang: generated tokens / verify calls" + drafts,
			Source:     engines},
		{ID: "acceptance.rate", Label: "Acceptance rate", Unit: Fraction, Direction: up, Scale: Difference,
			Definition: "accepted / drafted tokens of speculative decoding over the measured window", Source: engines},
		{ID: "prefix_cache.hit_rate", Label: "Prefix cache hit rate", Unit: Fraction, Direction: up, Scale: Difference, Work: true,
			Definition: "prompt tokens found in the prefix caches of all servers / tokens looked up there, over the measured window", Source: engines},
		{ID: "preemptions.per_request", Label: "Preemptions per request", Unit: Count, Direction: down, Scale: Difference,
			Definition: "preemptions (SGLang: retractions) over the measured window / requests sent", Source: engines},
		{ID: "server_queue.mean", Label: "Server queue mean", Unit: Seconds, Direction: down, Scale: Difference,
			Definition: "time that requests wait in the server's queue before their first step, over the measured window; arithmetic mean", Source: engines},
		{ID: "energy.per_output_token", Label: "Energy per output token", Unit: JoulesPerToken, Direction: down, Scale: Log,
			Definition: "energy of the target's GPUs over the measured window, the integral of their power / output tokens; per token of all requests",
			Source:     ours},
	}, func(m *Metric) { m.Counted, m.MinRequests = true, 10 })
}

// engines are the sources of what servers count.
const engines = "vLLM 0.33 and SGLang 0.5.23, /metrics"
