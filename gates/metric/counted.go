package metric

// The counters of servers since their start, by names that all engines share. A metric is computed
// from the increases of counters during a measured run.
const (
	CounterPromptTokens     = "prompt_tokens"
	CounterGenerationTokens = "generation_tokens"
	CounterPreemptions      = "preemptions"
	CounterPrefixQueries    = "prefix_queries" // tokens
	CounterPrefixHits       = "prefix_hits"    // tokens
	CounterQueueSeconds     = "queue_seconds"  // wait of requests before their first step
	CounterQueued           = "queued"         // requests that left the queue
	CounterDrafts           = "drafts"         // steps that verified drafted tokens of a request
	CounterDraftTokens      = "draft_tokens"
	CounterAcceptedTokens   = "accepted_draft_tokens"
	CounterExternalQueries  = "external_prefix_queries"
	CounterExternalHits     = "external_prefix_hits" // tokens whose KV came from another server
	CounterTransferBytes    = "kv_transfer_bytes"
	CounterTransferSeconds  = "kv_transfer_seconds"
	CounterTransferFailures = "kv_transfer_failures"

	// CounterReplicaMean and CounterReplicaMost are the prompt and output tokens of the mean and of the busiest server, if
	// several serve alike.
	CounterReplicaMean = "replica_mean_tokens"
	CounterReplicaMost = "replica_most_tokens"

	// CounterJoules is the energy of a server's GPUs, counted by the machine, or by a simulated
	// server itself. CounterCPUJoules is the energy of a machine's processors.
	CounterJoules    = "gpu_joules"
	CounterCPUJoules = "cpu_joules"
	// CounterPrice is the price of the time of a run on its target, in the currency of the file.
	CounterPrice = "price"
	// CounterLate begins the names of counters of a simulated server for what happened later than
	// in its model. A dot and a bound in seconds of model time follow ("simulated_late.0.005"): it
	// counts what was at most so late. Real servers have none.
	CounterLate = "simulated_late"
)

// The counts of the load generator.
const (
	MeasuredSeconds = "the measured window"
	SentRequests    = "the number of requests"
	OutputTokens    = "the number of output tokens"
)

// Formula computes a metric from counters: (Plus + Of / By) · Factor.
type Formula struct {
	Of, By string
	Plus   float64
	Factor float64 // 0 means 1
}

// Implied is a bound on a metric: the share of prompt tokens that the workload repeats. A cache
// cannot find more.
type Implied struct {
	// Margin is a tolerance, because engines count in other units.
	Margin float64
	// Exceeded explains a value above the bound.
	Exceeded string
}

// counted returns the metrics of counters. The value comes from the first formula whose counters
// exist.
func counted() []Group {
	const drafts = ", over the measured window; the mean acceptance length of the engine's log"
	up, down := HigherIsBetter, LowerIsBetter
	return grouped([]Metric{
		{ID: "acceptance.length", Label: "Acceptance length", Unit: Tokens, Direction: up, Scale: Log, Work: true,
			Definition: "tokens that a verified step of speculative decoding gives, the model's own included: 1 + accepted / drafts; SGLang: " +
				"generated tokens / verify calls" + drafts,
			Source: engines, Formulas: []Formula{
				{Of: CounterAcceptedTokens, By: CounterDrafts, Plus: 1},
				{Of: CounterGenerationTokens, By: CounterDrafts},
			}},
		{ID: "acceptance.rate", Label: "Acceptance rate", Unit: Fraction, Direction: up, Scale: Difference,
			Definition: "accepted / drafted tokens of speculative decoding over the measured window",
			Source:     engines, Formulas: []Formula{{Of: CounterAcceptedTokens, By: CounterDraftTokens}}},
		{ID: "prefix_cache.hit_rate", Label: "Prefix cache hit rate", Unit: Fraction, Direction: up, Scale: Difference, Work: true,
			Definition: "prompt tokens found in the prefix caches of all servers / tokens looked up there, over the measured window",
			Source:     engines, Formulas: []Formula{{Of: CounterPrefixHits, By: CounterPrefixQueries}},
			// Engines count whole blocks, and the first requests of a run all find an empty cache.
			// A lower value is not an error: the cache may be off, or too small.
			Implied: &Implied{Margin: 0.1, Exceeded: "the caches were not empty, so the run measured less prefill than it should"}},
		{ID: "replica.balancedness", Label: "Balancedness of replicas", Unit: Fraction, Direction: up, Scale: Difference,
			Definition: "prompt and output tokens of the mean server / those of the busiest one, over the measured window: 1 if a router " +
				"spreads them evenly, 1/n if one of n servers gets all; only where several servers serve alike",
			Source:   engines + "; the word is that of their expert load balancers",
			Formulas: []Formula{{Of: CounterReplicaMean, By: CounterReplicaMost}}},
		{ID: "preemptions.per_request", Label: "Preemptions per request", Unit: Count, Direction: down, Scale: Difference,
			Definition: "preemptions (SGLang: retractions) over the measured window / requests sent",
			Source:     engines, Formulas: []Formula{{Of: CounterPreemptions, By: SentRequests}}},
		{ID: "server_queue.mean", Label: "Server queue mean", Unit: Seconds, Direction: down, Scale: Difference,
			Definition: "time that requests wait in the server's queue before their first step, over the measured window; arithmetic mean",
			Source:     engines, Formulas: []Formula{{Of: CounterQueueSeconds, By: CounterQueued}}},
		{ID: "energy.per_output_token", Label: "Energy per output token", Unit: JoulesPerToken, Direction: down, Scale: Log,
			Definition: "energy of the target's GPUs over the measured window, the integral of their power / output tokens; per token of all " +
				"requests",
			Source: ours, Formulas: []Formula{{Of: CounterJoules, By: OutputTokens}}},
		{ID: "energy.cpu_per_output_token", Label: "CPU energy per output token", Unit: JoulesPerToken, Direction: down, Scale: Log,
			Definition: "energy of the machine's processors over the measured window, as their RAPL counters show it, memory included where it " +
				"has a counter of its own / output tokens; of all that runs there",
			Source: ours, Formulas: []Formula{{Of: CounterCPUJoules, By: OutputTokens}}},
		{ID: "cost.per_million_tokens", Label: "Cost per million output tokens", Unit: Money, Direction: down, Scale: Log, FixedByRate: true,
			Definition: "price of the target's GPUs and machines for the time from the first send to the end of the last response / output " +
				"tokens; start and warm-up are not in it",
			Source: ours, Formulas: []Formula{{Of: CounterPrice, By: OutputTokens, Factor: 1e6}}},
	}, func(m *Metric) { m.Counted, m.MinRequests = true, 10 })
}

// engines names the sources of the metrics that servers count.
const engines = "vLLM 0.33 and SGLang 0.5.23, /metrics"
