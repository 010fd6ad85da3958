package sglang

import (
	"context"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// figures lists SGLang's metrics by their names from 0.5.5 to 0.5.23, the current name first. All prompt tokens
// count as queried, because all are looked up in the radix cache.
var figures = engine.Metrics{
	Gauges: []engine.Metric{
		{Name: steps.SeriesRunning, From: []string{"sglang:num_running_reqs"}},
		{Name: steps.SeriesWaiting, From: []string{"sglang:num_queue_reqs"}},
		{Name: steps.SeriesKVUsage, From: []string{"sglang:token_usage", "sglang:full_token_usage"}, Mean: true},
		{Name: steps.SeriesHitRate, From: []string{"sglang:cache_hit_rate"}, Mean: true},
		{Name: steps.SeriesOutput, From: []string{"sglang:gen_throughput"}},
	},
	Counters: []engine.Metric{
		{Name: metric.CounterPromptTokens, From: []string{"sglang:prompt_tokens_total"}},
		{Name: metric.CounterGenerationTokens, From: []string{"sglang:generation_tokens_total"}},
		{Name: metric.CounterPreemptions, From: []string{"sglang:num_retracted_requests_total", "sglang:num_retractions"}},
		{Name: metric.CounterPrefixQueries, From: []string{"sglang:prompt_tokens_total"}},
		{Name: metric.CounterPrefixHits, From: []string{"sglang:cached_tokens_total"}},
		{Name: metric.CounterQueueSeconds, From: []string{"sglang:queue_time_seconds_sum"}},
		{Name: metric.CounterQueued, From: []string{"sglang:queue_time_seconds_count"}},
		{Name: metric.CounterDrafts, From: []string{"sglang:spec_verify_calls_total"}},
		{Name: metric.CounterTransferBytes, From: []string{"sglang:kv_transfer_total_mb"}, Scale: 1 << 20},
		{Name: metric.CounterTransferSeconds, From: []string{"sglang:kv_transfer_latency_ms"}, Scale: 1e-3},
		{Name: metric.CounterTransferFailures, From: []string{"sglang:num_transfer_failed_reqs_total"}},
		{Name: "num_bootstrap_failed_reqs", From: []string{"sglang:num_bootstrap_failed_reqs_total"}},
		{Name: "num_aborted_requests", From: []string{"sglang:num_aborted_requests_total"}},
		{Name: metric.CounterJoules, From: []string{"simulate:joules_total"}},
		{Name: metric.CounterLate, From: []string{"simulate:late_seconds_bucket"}, Label: "le"},
	},
}

// statistics matches fields in SGLang's batch lines, which other fields may surround. LogPoint computes the hit
// rate from the tokens of a prefill batch.
//
//	Decode batch, #running-req: 7, #token: 3580, token usage: 0.02, cuda graph: True, gen throughput (token/s): 812.11, #queue-req: 0,
//	Prefill batch, #new-seq: 1, #new-token: 512, #cached-token: 128, token usage: 0.01, #running-req: 3, #queue-req: 0, input throughput (token/s): 4096.00
var statistics = []engine.Gauge{
	{Name: steps.SeriesRunning, Before: []string{"#running-req: "}},
	{Name: steps.SeriesWaiting, Before: []string{"#queue-req: "}},
	{Name: steps.SeriesKVUsage, Before: []string{", token usage: ", ", full token usage: "}},
	{Name: steps.SeriesOutput, Before: []string{"gen throughput (token/s): "}},
	{Name: steps.SeriesPrompt, Before: []string{"input throughput (token/s): "}},
	{Name: newTokens, Before: []string{"#new-token: "}, After: ", #cached-token: "},
	{Name: cachedTokens, Before: []string{", #cached-token: "}},
}

// The fields from which the hit rate is computed.
const (
	newTokens    = "new_tokens"
	cachedTokens = "cached_tokens"
)

// startLines matches the lines that SGLang logs at its start.
var startLines = []engine.Pattern{
	engine.NewPattern(`max_total_num_tokens=([0-9]+)`, engine.Field{Name: steps.StartKVTokens}),
	engine.NewPattern(`KV [Cc]ache (?:is )?allocated\..*#tokens: ([0-9]+)`, engine.Field{Name: steps.StartKVTokens}),
	engine.NewPattern(`KV [Cc]ache (?:is )?allocated\..*KV size: ([0-9.]+) GB`, engine.Field{Name: steps.StartKVBytes, Scale: engine.GiB}),
	engine.NewPattern(`KV [Cc]ache (?:is )?allocated\..*K size: ([0-9.]+) GB, V size: ([0-9.]+) GB`,
		engine.Field{Name: keyBytes, Scale: engine.GiB}, engine.Field{Name: valueBytes, Scale: engine.GiB}),
	engine.NewPattern(`Load weight end\..*mem usage=([0-9.]+) GB`, engine.Field{Name: steps.StartWeights, Scale: engine.GiB}),
	engine.NewPattern(`Load weight end\. elapsed=([0-9.]+) s`, engine.Field{Name: steps.StartLoad}),
	engine.NewPattern(`Capture .*graph end\. (?:Time elapsed: |elapsed=)([0-9.]+) s`, engine.Field{Name: steps.StartGraphs}),
}

// Keys and values are allocated separately.
const (
	keyBytes   = "k_cache_bytes"
	valueBytes = "v_cache_bytes"
)

// Observe scrapes /metrics, which SGLang serves with --enable-metrics (set by Render).
func (s sglang) Observe(ctx context.Context, ep steps.Endpoint) (steps.Observation, error) {
	return figures.Scrape(ctx, s.client, ep)
}

// LogPoint parses a line about a prefill or decode batch.
func (sglang) LogPoint(line string) (map[string]float64, bool) {
	gauges, ok := engine.Point(line, "#running-req: ", statistics)
	if !ok {
		return nil, false
	}
	if all := gauges[newTokens] + gauges[cachedTokens]; all > 0 {
		gauges[steps.SeriesHitRate] = gauges[cachedTokens] / all
	}
	delete(gauges, newTokens)
	delete(gauges, cachedTokens)
	return gauges, true
}

// StartFacts parses the lines of a start.
func (sglang) StartFacts(log []string) map[string]float64 {
	facts := engine.StartFacts(log, startLines)
	if kv := facts[keyBytes] + facts[valueBytes]; kv > 0 {
		facts[steps.StartKVBytes] = kv
	}
	delete(facts, keyBytes)
	delete(facts, valueBytes)
	return facts
}
