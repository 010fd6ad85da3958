package convert

import "fmt"

// llmperf reads the summary of LLMPerf's token_benchmark_ray.py: one object, with keys joined by
// underscores. Statistics are those of requests without an error.
var llmperf = Tool{
	Name: "llmperf", Releases: "of 2024",
	Shapes: []Shape{
		{
			Keys: []string{"results_num_completed_requests", "results_ttft_s_mean"},
			Params: []Field{
				{"model", "model"}, {"num_concurrent_requests", "max_concurrency"}, {"mean_input_tokens", "input_len"},
				{"mean_output_tokens", "output_len"},
				{"stddev_input_tokens", "stddev_input_tokens"}, {"stddev_output_tokens", "stddev_output_tokens"}, {"name", "name"},
				{"timestamp", "timestamp"},
			},
			Figures: []Field{
				{"results_num_completed_requests", "completed"}, {"results_number_errors", "failed"},
				{"results_mean_output_throughput_token_per_s", "output throughput"},
			},
			also: llmperfSummary,
		},
		{
			Keys:    []string{"error_code ttft_s"},
			Instead: "records of single requests (LLMPerf's individual_responses.json): import the summary beside it",
		},
	},
	Sheets: []Sheet{{
		Headers: []string{"error_code,ttft_s", "request_id,ttft"},
		Instead: "records of single requests: import the summary beside it",
	}},
}

// llmperfSummary reads the statistics, whose names are parts of keys, and the rate per minute.
func llmperfSummary(root, _ *value, r *Run, e *entryList) error {
	for _, t := range []Times{{"ttft_s", "ttft", "s"}, {"inter_token_latency_s", "itl", "s"}, {"end_to_end_latency_s", "e2e latency", "s"}} {
		for _, stat := range []string{"mean", "min", "max", "stddev", "p25", "p50", "p75", "p90", "p95", "p99"} {
			key := stat
			if stat[0] == 'p' {
				key = "quantiles_" + stat
			}
			e.add(stat+" "+t.Name+" ("+t.Unit+")", root.at("results_"+t.Path+"_"+key))
		}
	}
	perMinute := root.at("results_num_completed_requests_per_min")
	if v, ok := perMinute.number(); ok {
		e.text("request throughput", fmt.Sprint(v/60), perMinute.line)
		if n, ok := root.at("results_num_completed_requests").number(); ok && v > 0 {
			r.Duration = n / v * 60 // as the tool computed it
		}
	}
	return nil
}
