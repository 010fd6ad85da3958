package foreign

import "slices"

// tools is the table of tools.
//
// The definitions are read from the sources of SGLang 0.5.23, guidellm (August 2026), aiperf 0.13, GenAI-Perf 0.0.16,
// inference-perf (August 2026), inference-benchmarker (April 2026), LLMPerf (2024), TensorRT-LLM
// 1.2 and vLLM 0.32.
var tools = []Tool{
	// vllm bench serve --save-result, and the older benchmark_serving.py. Other tools copy its keys, so its objects are
	// recognised last.
	{
		Name: "vllm", Releases: "0.33", Counted: true, Aliases: []string{"vllm-benchmark", "inferencemax"}, // whose client is a copy
		Command: `benchmark_serving\w*\.py|vllm\s+bench\s+serve`,
		Bulk:    []string{"generated_texts", "latencies"},
		Shapes:  append(inferenceX, Shape{Reader: "vllm", Flat: true}),
	},
	// Objects that sglang.bench_serving appends to its --output-file.
	{
		Name: "sglang", Releases: "0.5.23", Counted: true,
		Command: `sglang\.bench_serving|sglang\.benchmark\.serving|bench_serving\.py|sglang-bench`,
		Bulk:    []string{"server_queue_times", "server_ttfts", "cached_tokens_details", "cached_tokens", "timeslices"},
		Shapes: []Shape{{
			Keys:     []string{"total_output_tokens_retokenized", "mean_e2e_latency_ms", "server_info completed"},
			Flat:     true,
			Settings: []Field{{"server_info", "server_"}},
			Params:   []Field{{"server_info/model_path", "model"}},
			Reader:   "sglang",
		}},
		Prints: []string{"Backend", "(retokenized)", "E2E Latency"},
		Approximates: map[string]string{
			"ttft": "SGLang's client opens a connection for each request, which is in its time, passes over chunks without text, and counts a " +
				"request without any as 0",
			"itl": "SGLang's client passes over chunks without text, so that a gap may hold several tokens",
		},
		Prefix: "sglang",
		Differences: []Difference{
			{"e2el", "E2EL", "end-to-end latency until the last line of the stream, usage and [DONE] included"},
			{"tpot", "TPOT", "(end-to-end latency until the last line of the stream − TTFT) / (output tokens − 1)"},
		},
	},
	// benchmarks.json (version 2), with one result for each benchmark. Statistics are those of the successful requests.
	{
		Name: "guidellm", Releases: "0.8.1", Command: `guidellm\s+(?:benchmark|run)`, Title: "Server Throughput Statistics",
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
			Reader: "guidellm",
		}, {
			Keys:    []string{"benchmarks/0/request_loader benchmarks/0/metrics"},
			Instead: "benchmarks of guidellm before 0.4, whose format is another one: measure with guidellm 0.4 or later",
		}},
		Sheets: []Sheet{{
			Headers: []string{"Run Info,Request Counts", "Benchmark,Timings", "Run Info,Benchmark"},
			Instead: "guidellm's benchmarks.csv, whose headings are in three rows: import benchmarks.json beside it",
		}},
		Prefix: "guidellm",
		Differences: []Difference{
			{"e2el", "E2EL", "request latency until the end of the response; percentiles without interpolation"},
			{"ttft", "TTFT", "time to first token by the wall clock; percentiles without interpolation"},
			{"tpot", "TPOT", "(last token − start) / output tokens, so the first token is in it; weighted by output tokens"},
			{"itl", "ITL", "(last − first token) / (output tokens − 1) per request, weighted by output tokens − 1"},
			{"request_throughput", "Request throughput", "rate of completions averaged over time, not successes / duration"},
			{"output_throughput", "Output throughput", "output tokens per second averaged over time, not tokens / duration"},
			{"total_throughput", "Total throughput", "tokens per second averaged over time, not tokens / duration"},
			{"concurrency", "Concurrency", "requests in flight, weighted by time"},
		},
	},
	// The predecessor of aiperf, with the same figures. The settings tell its objects from aiperf's: one level of arguments
	// before 0.0.11, and groups after it. Package convert reads its CSV.
	{
		Name: "genai-perf", Releases: "0.0.16", Command: `genai-perf\s+profile`, Title: "NVIDIA GenAI-Perf",
		Shapes: []Shape{{
			Keys: []string{"request_latency/unit input_config/perf_analyzer", "request_latency/unit input_config/service_kind"},
			Params: []Field{
				{"input_config/model/0", "model"}, {"input_config/model_names/0", "model"},
				{"input_config/tokenizer", "tokenizer"}, {"input_config/tokenizer/name", "tokenizer"},
				{"input_config/endpoint_type", "endpoint_type"}, {"input_config/endpoint/type", "endpoint_type"},
				{"input_config/concurrency", "max_concurrency"}, {"input_config/perf_analyzer/stimulus/concurrency", "max_concurrency"},
				{"input_config/request_rate", "request_rate"}, {"input_config/perf_analyzer/stimulus/request_rate", "request_rate"},
				{"input_config/session_concurrency", "session_concurrency"},
				{"input_config/perf_analyzer/stimulus/session_concurrency", "session_concurrency"},
				{"input_config/synthetic_input_tokens_mean", "input_len"}, {"input_config/input/synthetic_tokens/mean", "input_len"},
				{"input_config/random_seed", "seed"}, {"input_config/input/random_seed", "seed"},
			},
			Figures: aiperfFigures, Times: aiperfTimes, Stats: aiperfStats,
			Reader: "genai-perf",
		}},
		Prefix: "genai_perf",
		Differences: slices.Concat(aiperfDifferences, []Difference{
			{"e2el", "E2EL", "request latency until the last response, the one with the usage included"},
			{"ttft", "TTFT", "time to the first response that is not empty"},
		}),
	},
	// profile_export_aiperf.json: a tag with a unit and statistics for each metric. Its CSV is read by package convert.
	{
		Name: "aiperf", Releases: "0.13", Command: `aiperf\s+profile`, Title: "NVIDIA AIPerf",
		Shapes: []Shape{
			{Keys: []string{"metrics metadata/aggregation_type=confidence"}, Reader: "aiperf aggregate"},
			{
				Keys: []string{"metrics/*/series", "endpoint_url metrics", "summary/endpoints_configured input_config"},
				Instead: "the metrics of a server while aiperf measured it (server_metrics_export.json): import profile_export_aiperf.json " +
					"beside it",
			},
			{
				Keys: []string{"aiperf_version", "time_to_first_token/unit", "request_latency/unit"},
				// Older versions have a load generator here; 0.13 and later have the measured phase and
				// its data set.
				Settings: []Field{{"input_config/loadgen", ""}, {"input_config/endpoint", "endpoint_"}},
				Params: []Field{
					{"start_time", "start_time"}, {"input_config/models/items/0/name", "model"}, {"input_config/tokenizer/name", "tokenizer"},
					{"input_config/datasets/0/type", "dataset_name"}, {"input_config/datasets/0/prompts/isl/mean", "input_len"},
					{"input_config/datasets/0/prompts/osl/mean", "output_len"},
				},
				Figures: aiperfFigures, Times: aiperfTimes, Stats: aiperfStats,
				Reader: "aiperf",
			},
			{
				Keys:    []string{"metrics metadata"},
				Instead: "records of single requests (aiperf's profile_export.jsonl): import profile_export_aiperf.json beside it",
			},
		},
		Sheets: []Sheet{{
			Headers: []string{"Endpoint,Type,Metric"},
			Instead: "the metrics of a server while aiperf measured it (server_metrics_export.csv): import profile_export_aiperf.json beside it",
		}},
		Prefix:      "aiperf",
		Differences: aiperfDifferences,
	},
	// summary_ and stage_N_lifecycle_metrics.json. All times are in seconds.
	{
		Name: "inference-perf", Releases: "of August 2026", Command: "inference-perf",
		Shapes: []Shape{{
			Keys:   []string{"successes load_summary", "successes failures"},
			Params: []Field{{"load_summary/requested_rate", "request_rate"}, {"load_summary/concurrency", "max_concurrency"}},
			Audit: []Field{
				{"load_summary/achieved_rate", "achieved_rate"}, {"load_summary/send_duration", "send_duration_s"},
				{"load_summary/schedule_delay/mean", "schedule_delay_s"},
			},
			Figures: []Field{
				{"successes/count", "completed"}, {"failures/count", "failed"}, {"benchmark_time_seconds", "duration"},
				{"successes/prompt_len/mean", "mean input tokens"}, {"successes/output_len/mean", "mean output tokens"},
				{"successes/throughput/requests_per_sec", "request throughput"}, {"successes/throughput/input_tokens_per_sec", "input throughput"},
				{"successes/throughput/output_tokens_per_sec", "output throughput"}, {"successes/throughput/total_tokens_per_sec", "total throughput"},
			},
			Times: []Times{
				{"successes/latency/time_to_first_token", "ttft", "s"}, {"successes/latency/time_per_output_token", "tpot", "s"},
				{"successes/latency/inter_token_latency", "itl", "s"}, {"successes/latency/request_latency", "e2e latency", "s"},
				{"successes/latency/normalized_time_per_output_token", "ntpot", "s"},
			},
			Stats: map[string]string{
				"mean": "mean", "median": "p50", "p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p99.9": "p99.9",
				"min": "min", "max": "max",
			},
			Reader: "inference-perf",
		}},
		Prefix: "inference_perf",
		Differences: []Difference{
			{"e2el", "E2EL", "request latency until the end of the response"},
			{"itl", "ITL", "gap between tokens where the tokens of one chunk are 0 apart"},
			{"ntpot", "NTPOT", "request latency / output tokens, so the first token is in it"},
		},
	},
	// Results of Hugging Face's benchmarker: one for each benchmark except the warm-up.
	{
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
		Prefix: "hf",
		Differences: []Difference{
			{"e2el", "E2EL", "end-to-end latency until [DONE] or the finish reason"},
			{"itl", "ITL", "sum of gaps / (output tokens − 1), one value per request"},
			{"request_throughput", "Request throughput",
				"successes / time from the start of the first completed to the end of the last completed request"},
			{"output_throughput", "Output throughput",
				"tokens counted by a tokenizer on each delta / time from the first completed to the last completed request"},
		},
	},
	// The summary of LLMPerf's token_benchmark_ray.py: one object, with keys joined by
	// underscores. Statistics are those of requests without an error.
	{
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
				Reader: "llmperf",
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
		Prefix: "llmperf",
		Differences: []Difference{
			{"e2el", "E2EL", "request latency until the end of the stream"},
			{"ttft", "TTFT", "time to the first delta with content; percentiles by pandas"},
			{"itl", "ITL", "sum of gaps, the time to the first token included, / output tokens by the client's tokenizer, one value per request"},
			{"request_throughput", "Request throughput", "completed requests / time of the whole test, which waits for stragglers at its end"},
			{"output_throughput", "Output throughput", "output tokens by the client's tokenizer / time of the whole test"},
		},
	},
	// vllm bench latency, throughput and startup with --output-json, which measure an engine in their own process. What they
	// write has neither lengths nor the size of the batch: these are on the command line.
	{
		Name: "vllm-offline", Releases: "0.32", Offline: true,
		Command: `vllm\s+bench\s+(?:latency|throughput|startup)|benchmark_(?:latency|throughput)\.py`,
		Shapes: []Shape{
			{
				Keys: []string{"avg_latency percentiles/99"}, Params: []Field{{"model_id", "model"}},
				Figures: []Field{{"avg_latency", "mean batch latency (s)"}},
				Times:   []Times{{"percentiles", "batch latency", "s"}}, Stats: tenths,
			},
			{
				Keys: []string{"requests_per_second tokens_per_second elapsed_time num_requests"}, Params: []Field{{"model_id", "model"}},
				Figures: []Field{
					{"num_requests", "completed"}, {"elapsed_time", "duration"}, {"requests_per_second", "request throughput"},
					{"tokens_per_second", "total throughput"},
				},
			},
			{
				Keys: []string{"avg_cold_startup_time avg_warm_startup_time"},
				Figures: []Field{
					{"avg_cold_startup_time", "mean cold startup (s)"}, {"avg_warm_startup_time", "mean warm startup (s)"},
					{"avg_cold_compilation_time", "mean cold compilation (s)"}, {"avg_warm_compilation_time", "mean warm compilation (s)"},
				},
				Times: []Times{
					{"cold_startup_percentiles", "cold startup", "s"}, {"warm_startup_percentiles", "warm startup", "s"},
					{"cold_compilation_percentiles", "cold compilation", "s"}, {"warm_compilation_percentiles", "warm compilation", "s"},
				},
				Stats: tenths,
			},
		},
		Prefix: "vllm_offline",
		Differences: []Difference{
			{"batch_latency", "Batch latency", "time in which an engine, without a server, answers a batch as a whole, one value per iteration"},
			{"request_throughput", "Request throughput", "requests / time of all of them, given to an engine at once, without a server"},
			{"total_throughput", "Total throughput", "tokens / time of all requests, given to an engine at once, without a server"},
			{"cold_startup", "Cold start-up", "time to make an engine with empty caches of compiled code, one value per iteration"},
			{"warm_startup", "Warm start-up", "time to make an engine whose compiled code is cached, one value per iteration"},
			{"cold_compilation", "Cold compilation", "time of compiling in a start with empty caches, one value per iteration"},
			{"warm_compilation", "Warm compilation", "time of compiling in a start with full caches, one value per iteration"},
		},
	},
	// Lines that sglang.bench_one_batch and sglang.bench_offline_throughput append to their --result-filename.
	{
		Name: "sglang-offline", Releases: "0.5.23", Offline: true,
		Command: `sglang\.bench_(?:one_batch|offline_throughput)|bench_(?:one_batch|offline_throughput)\.py`,
		Shapes: []Shape{
			{
				Keys:   []string{"run_name batch_size prefill_latency overall_throughput"},
				Params: []Field{{"batch_size", "batch_size"}, {"input_len", "input_len"}, {"output_len", "output_len"}},
				Figures: []Field{
					{"prefill_latency", "mean prefill latency (s)"}, {"median_decode_latency", "median decode latency (s)"},
					{"total_latency", "mean batch latency (s)"}, {"overall_throughput", "total throughput"},
				},
			},
			{
				Keys: []string{"backend successful_requests total_latency total_throughput"},
				Figures: []Field{
					{"successful_requests", "completed"}, {"total_latency", "duration"}, {"total_input_tokens", "total input tokens"},
					{"total_output_tokens", "total output tokens"}, {"request_throughput", "request throughput"},
					{"input_throughput", "input throughput"}, {"output_throughput", "output throughput"}, {"total_throughput", "total throughput"},
				},
			},
		},
		Prefix: "sglang_offline",
		Differences: []Difference{
			{"prefill_latency", "Prefill latency", "time in which an engine, without a server, computes the prompts of a batch; one value"},
			{"decode_latency", "Decode latency", "time of one decode step of a batch, without a server; median over the steps"},
			{"batch_latency", "Batch latency", "sum of the times of prefill and all decode steps of a batch, without a server; one value"},
			{"request_throughput", "Request throughput", "requests / time of all of them, given to an engine at once, without a server"},
			{"input_throughput", "Input throughput", "prompt tokens / time of all requests, given to an engine at once, without a server"},
			{"output_throughput", "Output throughput", "output tokens / time of all requests, given to an engine at once, without a server"},
			{"total_throughput", "Total throughput", "tokens / time of all requests, or of one batch, without a server"},
		},
	},
	// llama-bench -o json or jsonl, which measures llama.cpp in its own process, without a server: prompts alone (n_gen is 0),
	// answers alone (n_prompt is 0), or both. From tools/llama-bench/README.md of 2025.
	{
		Name: "llama-bench", Offline: true, Command: "llama-bench", Bulk: []string{"samples_ns", "samples_ts"},
		Shapes: []Shape{{
			Keys: []string{"build_commit n_prompt n_gen avg_ts"},
			Params: []Field{
				{"build_commit", "build_commit"}, {"model_type", "model"}, {"n_prompt", "input_len"}, {"n_gen", "output_len"},
				{"n_depth", "n_depth"}, {"n_batch", "n_batch"}, {"n_ubatch", "n_ubatch"}, {"n_threads", "n_threads"},
				{"type_k", "type_k"}, {"type_v", "type_v"}, {"n_gpu_layers", "n_gpu_layers"}, {"split_mode", "split_mode"},
				{"flash_attn", "flash_attn"}, {"backends", "backends"}, {"cpu_info", "cpu_info"}, {"gpu_info", "gpu_info"},
			},
			Reader: "llama-bench",
		}},
		Sheets: []Sheet{{
			Headers: []string{"build_commit,n_prompt,n_gen,avg_ts"},
			Instead: "CSV of llama-bench: import what llama-bench -o json, jsonl or md prints",
		}},
		Prefix: "llama_bench",
		Differences: []Difference{
			{"input_throughput", "Input throughput", "tokens of one prompt / its time, without a server; mean over the repetitions"},
			{"output_throughput", "Output throughput", "tokens of one answer / its time, without a server; mean over the repetitions"},
			{"total_throughput", "Total throughput", "tokens of a prompt and its answer / their time, without a server; mean over the repetitions"},
		},
	},
	// trtllm-bench throughput --report_json, which measures an engine in its own process, without a server.
	{
		Name: "trtllm-bench", Releases: "1.2", Prints: []string{"Total Output Throughput", "Per GPU Output Throughput"},
		Shapes: []Shape{{
			Keys:     []string{"performance/request_throughput_req_s request_info"},
			Settings: []Field{{"engine", "engine_"}, {"machine", "machine_"}, {"world_info", "world_"}},
			Params: []Field{
				{"engine/model", "model"}, {"request_info/num_requests", "num_requests"}, // no failures are reported
				{"request_info/avg_input_length", "input_len"}, {"request_info/avg_output_length", "output_len"},
			},
			Figures: []Field{
				{"request_info/num_requests", "completed"}, {"performance/total_latency_ms", "duration (ms)"},
				{"performance/request_throughput_req_s", "request throughput"}, {"performance/system_output_throughput_tok_s", "output throughput"},
				{"performance/system_total_throughput_tok_s", "total throughput"},
			},
			Times: []Times{
				{"performance/request_latency_percentiles_ms", "e2e latency", "ms"}, {"streaming_metrics/ttft_percentiles", "ttft", "ms"},
				{"streaming_metrics/tpot_percentiles", "tpot", "ms"},
			},
			Stats: map[string]string{
				"p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "minimum": "min", "maximum": "max", "average": "mean",
			},
			Reader: "trtllm-bench",
		}},
		Prefix: "trtllm",
		Differences: []Difference{
			{"e2el", "E2EL", "latency of a request inside the process of the engine, without a server; percentiles without interpolation"},
			{"ttft", "TTFT", "time to first token inside the process of the engine, without a server; percentiles without interpolation"},
			{"tpot", "TPOT", "(latency − TTFT) / (output tokens − 1) inside the process of the engine; percentiles without interpolation"},
			{"request_throughput", "Request throughput",
				"requests / time from the first request to the end of the last, inside the process of the engine"},
			{"output_throughput", "Output throughput",
				"output tokens / time from the first request to the end of the last, inside the process of the engine"},
			{"total_throughput", "Total throughput",
				"tokens / time from the first request to the end of the last, inside the process of the engine"},
		},
	},
	{Name: Own},
}

// tenths are the percentiles of vLLM's offline benchmarks.
var tenths = map[string]string{"10": "p10", "25": "p25", "50": "p50", "75": "p75", "90": "p90", "99": "p99"}

// aiperfFigures, aiperfTimes and aiperfStats are the figures of aiperf and of its predecessor.
var (
	aiperfFigures = []Field{
		{"request_throughput/avg", "request throughput"}, {"input_token_throughput/avg", "input throughput"},
		{"output_token_throughput/avg", "output throughput"}, {"total_token_throughput/avg", "total throughput"},
		{"request_count/avg", "completed"}, {"error_request_count/avg", "failed"}, {"goodput/avg", "request goodput"},
		{"input_sequence_length/avg", "mean input tokens"}, {"output_sequence_length/avg", "mean output tokens"},
		{"total_isl/avg", "total input tokens"}, {"total_osl/avg", "total output tokens"},
	}
	aiperfTimes = []Times{
		{"time_to_first_token", "ttft", ""}, {"request_latency", "e2e latency", ""}, {"inter_token_latency", "itl", ""},
		{"inter_chunk_latency", "icl", ""},
	}
	aiperfStats = map[string]string{
		"avg": "mean", "p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "min": "min", "max": "max", "std": "std",
	}
)

// aiperfDifferences also hold for its predecessor.
var aiperfDifferences = []Difference{
	{"itl", "ITL", "(request latency − TTFT) / (output tokens − tokens of the first chunk), one value per request"},
	{"input_throughput", "Input throughput", "prompt tokens by the client's tokenizer / duration"},
	{"output_throughput", "Output throughput", "output tokens by the client's tokenizer / duration"},
	{"total_throughput", "Total throughput", "tokens by the client's tokenizer / duration"},
	{"icl", "ICL", "gap between chunks; percentiles estimated by a t-digest"},
}

// inferenceX are rows that InferenceX (formerly InferenceMAX) makes of results of its copy of
// vLLM's client, one for each configuration and concurrency: times in seconds, and throughput per
// GPU. Its collected file is a list of them. From utils/process_result.py of August 2026.
var inferenceX = []Shape{
	{
		Keys: []string{"hw conc scenario_type"},
		Instead: "a row of InferenceX of agentic sessions, which aiperf measured and defines otherwise: import profile_export_aiperf.json of " +
			"the run",
	},
	{
		Keys: []string{"hw conc tput_per_gpu framework"},
		Params: []Field{
			{"conc", "max_concurrency"}, {"model", "model"}, {"isl", "input_len"}, {"osl", "output_len"}, {"hw", "hw"},
			{"framework", "framework"}, {"precision", "precision"}, {"spec_decoding", "spec_decoding"}, {"disagg", "disagg"}, {"image", "image"},
			{"tp", "tp"}, {"pp", "pp"}, {"ep", "ep"}, {"pcp_size", "pcp_size"}, {"dp_attention", "dp_attention"},
			{"prefill_tp", "prefill_tp"}, {"prefill_ep", "prefill_ep"}, {"prefill_num_workers", "prefill_num_workers"},
			{"num_prefill_gpu", "num_prefill_gpu"},
			{"decode_tp", "decode_tp"}, {"decode_ep", "decode_ep"}, {"decode_num_workers", "decode_num_workers"},
			{"num_decode_gpu", "num_decode_gpu"},
		},
		Reader: "inferencex",
	},
}
