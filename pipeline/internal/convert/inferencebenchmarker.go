package convert

// inferenceBenchmarker reads Hugging Face's results: one for each benchmark except the warm-up.
var inferenceBenchmarker = Tool{
	Name: "inference-benchmarker", Releases: "of April 2026", Command: "inference-benchmarker",
	Shapes: []Shape{{
		Keys: []string{"results config"}, Each: "results", But: "id=warmup",
		Settings: []Field{{"/config", ""}, {"config", ""}},
		Params:   []Field{{"id", "id"}, {"executor_type", "executor"}},
		Figures: []Field{
			{"successful_requests", "completed"}, {"failed_requests", "failed"}, {"total_tokens_sent", "total input tokens"},
			{"total_tokens", "total output tokens"}, {"request_rate", "request throughput"}, {"token_throughput_secs", "output throughput"},
			{"duration_ms", "duration (ms)"},
		},
		Times: []Times{{"time_to_first_token_ms", "ttft", "ms"}, {"inter_token_latency_ms", "itl", "ms"},
			{"e2e_latency_ms", "e2e latency", "ms"}},
		Stats: map[string]string{
			"avg": "mean", "p50": "p50", "p60": "p60", "p70": "p70", "p80": "p80", "p90": "p90", "p95": "p95", "p99": "p99",
		},
	}},
}
