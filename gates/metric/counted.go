package metric

// counted returns the metrics that servers count themselves: the increase of one counter during a
// run, divided by that of another.
func counted() []Group {
	const drafts = ", over the measured window; the mean acceptance length of the engine's log"
	up, down := HigherIsBetter, LowerIsBetter
	return grouped([]Metric{
		{ID: "acceptance.length", Label: "Acceptance length", Unit: Tokens, Direction: up, Scale: Log, Work: true,
			Definition: "tokens that a verified step of speculative decoding gives, the model's own included: 1 + accepted / drafts; SGLang: " +
				"generated tokens / verify calls" + drafts,
			Source: engines},
		{ID: "acceptance.rate", Label: "Acceptance rate", Unit: Fraction, Direction: up, Scale: Difference,
			Definition: "accepted / drafted tokens of speculative decoding over the measured window", Source: engines},
		{ID: "prefix_cache.hit_rate", Label: "Prefix cache hit rate", Unit: Fraction, Direction: up, Scale: Difference, Work: true,
			Definition: "prompt tokens found in the prefix caches of all servers / tokens looked up there, over the measured window",
			Source:     engines},
		{ID: "preemptions.per_request", Label: "Preemptions per request", Unit: Count, Direction: down, Scale: Difference,
			Definition: "preemptions (SGLang: retractions) over the measured window / requests sent", Source: engines},
		{ID: "server_queue.mean", Label: "Server queue mean", Unit: Seconds, Direction: down, Scale: Difference,
			Definition: "time that requests wait in the server's queue before their first step, over the measured window; arithmetic mean",
			Source:     engines},
		{ID: "energy.per_output_token", Label: "Energy per output token", Unit: JoulesPerToken, Direction: down, Scale: Log,
			Definition: "energy of the target's GPUs over the measured window, the integral of their power / output tokens; per token of all " +
				"requests",
			Source: ours},
		{ID: "energy.cpu_per_output_token", Label: "CPU energy per output token", Unit: JoulesPerToken, Direction: down, Scale: Log,
			Definition: "energy of the machine's processors over the measured window, as their RAPL counters show it, memory included where it " +
				"has a counter of its own / output tokens; of all that runs there",
			Source: ours},
		{ID: "cost.per_million_tokens", Label: "Cost per million output tokens", Unit: Money, Direction: down, Scale: Log, FixedByRate: true,
			Definition: "price of the target's GPUs and machines for the time from the first send to the end of the last response / output " +
				"tokens; start and warm-up are not in it", Source: ours},
	}, func(m *Metric) { m.Counted, m.MinRequests = true, 10 })
}

// engines names the sources of the metrics that servers count.
const engines = "vLLM 0.33 and SGLang 0.5.23, /metrics"
