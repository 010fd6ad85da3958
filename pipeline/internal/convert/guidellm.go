package convert

import "errors"

// guidellm reads benchmarks.json (version 2), with one result for each benchmark. Statistics are
// those of the successful requests.
var guidellm = Tool{
	Name: "guidellm", Releases: "0.8.1", Command: `guidellm\s+(?:benchmark|run)`,
	Bulk: []string{"benchmarks/*/requests"},
	Shapes: []Shape{{
		Keys: []string{"benchmarks metadata", "benchmarks args"}, Each: "benchmarks",
		Settings: []Field{{"config", ""}, {"config/strategy", "strategy_"}},
		Params: []Field{
			{"start_time", "start_time"}, {"config/backend/model", "model"}, {"config/strategy/rate", "request_rate"},
			{"config/strategy/streams", "max_concurrency"}, {"config/backend/request_format", "endpoint_type"},
			{"config/constraints/max_requests/args/count", "num_prompts"},
			{"/config/spec/data/0/prompt_tokens", "input_len"}, {"/config/spec/data/0/output_tokens", "output_len"},
		},
		Audit: []Field{{"metrics/request_totals/incomplete", "incomplete_requests"}},
		Figures: []Field{
			{"metrics/request_totals/successful", "completed"}, {"metrics/request_totals/errored", "failed"}, {"duration", "duration"},
			{"metrics/requests_per_second/successful/mean", "request throughput"},
			{"metrics/output_tokens_per_second/successful/mean", "output throughput"},
			{"metrics/tokens_per_second/successful/mean", "total throughput"},
			{"metrics/request_concurrency/successful/mean", "concurrency"},
			{"metrics/prompt_token_count/successful/total_sum", "total input tokens"},
			{"metrics/output_token_count/successful/total_sum", "total output tokens"},
		},
		Times: []Times{
			{"metrics/time_to_first_token_ms/successful", "ttft", "ms"}, {"metrics/time_per_output_token_ms/successful", "tpot", "ms"},
			{"metrics/inter_token_latency_ms/successful", "itl", "ms"}, {"metrics/request_latency/successful", "e2e latency", "s"},
		},
		// Its p01 is the 1st percentile, and p001 the 0.1st percentile.
		Stats: map[string]string{
			"mean": "mean", "median": "p50", "std_dev": "std", "min": "min", "max": "max",
			"percentiles/p75": "p75", "percentiles/p90": "p90", "percentiles/p95": "p95", "percentiles/p99": "p99", "percentiles/p999": "p99.9",
		},
		also: func(_, item *value, r *Run, _ *entryList) error {
			if item.at("metrics") == nil {
				return &Error{r.Source, item.line, errors.New("a benchmark without metrics: is this a file of guidellm's version 2?")}
			}
			return nil
		},
	}},
	Sheets: []Sheet{{
		Headers: []string{"Run Info,Request Counts", "Benchmark,Timings", "Run Info,Benchmark"},
		Instead: "guidellm's benchmarks.csv, whose headings are in three rows: import benchmarks.json beside it",
	}},
}
