package vllm

import (
	"context"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// figures are vLLM's metrics by their names from 0.6 to 0.33, the current one first.
var figures = engine.Metrics{
	Gauges: []engine.Metric{
		{Name: steps.SeriesRunning, From: []string{"vllm:num_requests_running"}},
		{Name: steps.SeriesWaiting, From: []string{"vllm:num_requests_waiting"}},
		{Name: steps.SeriesKVUsage, From: []string{"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"}, Mean: true},
		{Name: steps.SeriesHitRate, From: []string{"vllm:gpu_prefix_cache_hit_rate"}, Mean: true}, // before V1
		{Name: steps.SeriesPrompt, From: []string{"vllm:avg_prompt_throughput_toks_per_s"}},
		{Name: steps.SeriesOutput, From: []string{"vllm:avg_generation_throughput_toks_per_s"}},
	},
	Counters: []engine.Metric{
		{Name: metric.CounterPromptTokens, From: []string{"vllm:prompt_tokens_total"}},
		{Name: metric.CounterGenerationTokens, From: []string{"vllm:generation_tokens_total"}},
		{Name: metric.CounterPreemptions, From: []string{"vllm:num_preemptions_total"}},
		{Name: metric.CounterPrefixQueries, From: []string{"vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"}},
		{Name: metric.CounterPrefixHits, From: []string{"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"}},
		{Name: metric.CounterQueueSeconds, From: []string{"vllm:request_queue_time_seconds_sum"}},
		{Name: metric.CounterQueued, From: []string{"vllm:request_queue_time_seconds_count"}},
		{Name: metric.CounterDrafts, From: []string{"vllm:spec_decode_num_drafts_total"}},
		{Name: metric.CounterDraftTokens, From: []string{"vllm:spec_decode_num_draft_tokens_total"}},
		{Name: metric.CounterAcceptedTokens, From: []string{"vllm:spec_decode_num_accepted_tokens_total"}},
		{Name: metric.CounterExternalQueries, From: []string{"vllm:external_prefix_cache_queries_total"}},
		{Name: metric.CounterExternalHits, From: []string{"vllm:external_prefix_cache_hits_total"}},
		{Name: metric.CounterTransferBytes, From: []string{"vllm:nixl_bytes_transferred", "vllm:mooncake_bytes_transferred"}},
		{Name: metric.CounterTransferSeconds, From: []string{"vllm:nixl_xfer_time_seconds", "vllm:mooncake_xfer_time_seconds"}},
		{Name: metric.CounterTransferFailures, From: []string{"vllm:nixl_num_failed_transfers_total", "vllm:mooncake_num_failed_recvs_total"}},
		{Name: "nixl_num_kv_expired_reqs", From: []string{"vllm:nixl_num_kv_expired_reqs_total"}},
		{Name: "prompt_tokens_by_source", From: []string{"vllm:prompt_tokens_by_source_total"}, Label: "source"},
		{Name: "request_success", From: []string{"vllm:request_success_total"}, Label: "finished_reason"},
		{Name: "admission_rejections", From: []string{"vllm:admission_rejections_total"}},
		{Name: metric.CounterJoules, From: []string{"simulate:joules_total"}},
		{Name: metric.CounterLate, From: []string{"simulate:late_seconds_bucket"}, Label: "le"},
	},
}

// statistics match the fields of vLLM's line of statistics, in any order and among others.
//
//	Engine 000: Avg prompt throughput: 64.0 tokens/s, Avg generation throughput: 16.0 tokens/s,
//	  Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.4%, Prefix cache hit rate: 0.0%
//	Avg prompt throughput: 64.0 tokens/s, Running: 3 reqs, Swapped: 0 reqs, Pending: 1 reqs,
//	  GPU KV cache usage: 0.4%, CPU KV cache usage: 0.0%.
var statistics = []engine.Gauge{
	{Name: steps.SeriesPrompt, Before: []string{"Avg prompt throughput: "}, After: " tokens/s"},
	{Name: steps.SeriesOutput, Before: []string{"Avg generation throughput: "}, After: " tokens/s"},
	{Name: steps.SeriesRunning, Before: []string{"Running: "}, After: " reqs"},
	{Name: steps.SeriesWaiting, Before: []string{"Waiting: ", "Pending: "}, After: " reqs"},
	{Name: steps.SeriesKVUsage, Before: []string{"KV cache usage: "}, After: "%", Scale: engine.Percent}, // the GPU's comes first
	{Name: steps.SeriesHitRate, Before: []string{", Prefix cache hit rate: ", ", Prefix cache hit rate: GPU: "}, After: "%",
		Scale: engine.Percent},
}

// startLines match the lines that vLLM logs at its start.
var startLines = []engine.Pattern{
	engine.NewPattern(`KV cache size: ([0-9,]+) tokens`, engine.Field{Name: steps.StartKVTokens}),
	engine.NewPattern(`Available KV cache memory: ([0-9.]+) GiB`, engine.Field{Name: steps.StartKVBytes, Scale: engine.GiB}),
	engine.NewPattern(`(?:Explicitly|Auto) set \(([0-9.]+)/[0-9.]+\) GiB for KV cache`, engine.Field{Name: steps.StartKVBytes,
		Scale: engine.GiB}),
	engine.NewPattern(`Model loading took ([0-9.]+) Gi?B(?: memory)? and [0-9.]+ seconds`, engine.Field{Name: steps.StartWeights,
		Scale: engine.GiB}),
	engine.NewPattern(`Loading model weights took ([0-9.]+) GB`, engine.Field{Name: steps.StartWeights, Scale: engine.GiB}),
	engine.NewPattern(`Loading weights took ([0-9.]+) seconds`, engine.Field{Name: steps.StartLoad}),
	engine.NewPattern(`torch\.compile (?:took|takes) ([0-9.]+) s in total`, engine.Field{Name: steps.StartCompile}),
	engine.NewPattern(`Graph capturing finished in ([0-9]+) secs`, engine.Field{Name: steps.StartGraphs}),
	engine.NewPattern(`init engine \(profile, create kv cache, warmup model\) took ([0-9.]+) s`, engine.Field{Name: startEngine}),
	engine.NewPattern(`Maximum concurrency for [0-9,]+ tokens per request: ([0-9.]+)x`, engine.Field{Name: steps.StartConcurrency}),
	engine.NewPattern(`# (?:GPU|CPU|cuda|cpu) blocks: ([0-9]+)`, engine.Field{Name: startBlocks}),
	engine.NewPattern(`Maximum concurrency for ([0-9,]+) tokens per request`, engine.Field{Name: startLength}),
}

// Figures from which others are computed: the capacity in tokens, which V0 does not log, and the phases of a start.
const (
	startBlocks = "kv_cache_blocks"
	startLength = "max_model_len"
	startEngine = "init_engine_seconds"
)

// Observe scrapes /metrics.
func (v vllm) Observe(ctx context.Context, ep steps.Endpoint) (steps.Observation, error) {
	return figures.Scrape(ctx, v.client, ep)
}

// LogPoint reads a line of statistics, which vLLM writes every VLLM_LOG_STATS_INTERVAL
// seconds.
func (vllm) LogPoint(line string) (map[string]float64, bool) {
	return engine.Point(line, "Avg prompt throughput: ", statistics)
}

// StartFacts reads the lines of a start. For versions that report blocks instead of tokens it
// computes the capacity from the concurrency, which has two decimals.
func (vllm) StartFacts(log []string) map[string]float64 {
	facts := engine.StartFacts(log, startLines)
	if _, told := facts[steps.StartKVTokens]; !told {
		if tokens := facts[startLength] * facts[steps.StartConcurrency]; tokens > 0 {
			facts[steps.StartKVTokens] = float64(int64(tokens + 0.5))
		}
	}
	delete(facts, startLength)
	// Compiling and capturing are parts of it.
	if rest := facts[startEngine] - facts[steps.StartCompile] - facts[steps.StartGraphs]; rest > 0 {
		facts[steps.StartProfile] = rest
	}
	delete(facts, startEngine)
	return facts
}
