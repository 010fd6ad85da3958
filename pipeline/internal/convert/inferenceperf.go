package convert

// inferencePerf writes summary_ and stage_N_lifecycle_metrics.json, in which all times are
// seconds.
var inferencePerf = Tool{
	Name: "inference-perf", Releases: "of August 2026", Command: "inference-perf",
	Shapes: []Shape{{
		Keys:     []string{"successes load_summary", "successes failures"},
		Settings: []Field{{"load_summary", ""}},
		Params:   []Field{{"load_summary/requested_rate", "request_rate"}},
		Figures: []Field{
			{"successes/count", "completed"}, {"failures/count", "failed"}, {"benchmark_time_seconds", "duration"},
			{"successes/throughput/requests_per_sec", "request throughput"}, {"successes/throughput/input_tokens_per_sec", "input throughput"},
			{"successes/throughput/output_tokens_per_sec", "output throughput"}, {"successes/throughput/total_tokens_per_sec", "total throughput"},
		},
		Times: []Times{
			{"successes/latency/time_to_first_token", "ttft", "s"}, {"successes/latency/time_per_output_token", "tpot", "s"},
			{"successes/latency/inter_token_latency", "itl", "s"}, {"successes/latency/request_latency", "e2e latency", "s"},
			{"successes/latency/normalized_time_per_output_token", "ntpot", "s"},
		},
		Stats: map[string]string{
			"mean": "mean", "median": "p50", "p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p99.9": "p99.9", "min": "min", "max": "max",
		},
	}},
}
