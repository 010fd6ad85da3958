package trtllm

import (
	"context"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// figures lists the server's Prometheus metrics. 1.2 has those of requests and of the cache, and later versions count tokens
// and requests as well. GET /metrics is another thing: it takes the statistics of steps out of a queue.
var figures = engine.Metrics{
	Path: "/prometheus/metrics",
	Gauges: []engine.Metric{
		{Name: steps.SeriesRunning, From: []string{"trtllm_num_requests_running"}},
		{Name: steps.SeriesWaiting, From: []string{"trtllm_num_requests_waiting"}},
		{Name: steps.SeriesKVUsage, From: []string{"trtllm_kv_cache_utilization"}, Mean: true},
		{Name: steps.SeriesHitRate, From: []string{"trtllm_kv_cache_hit_rate"}, Mean: true},
	},
	Counters: []engine.Metric{
		{Name: metric.CounterPromptTokens, From: []string{"trtllm_prompt_tokens_total"}},
		{Name: metric.CounterGenerationTokens, From: []string{"trtllm_generation_tokens_total"}},
		{Name: metric.CounterPrefixHits, From: []string{"trtllm_prompt_cached_tokens_total"}},
		{Name: metric.CounterQueueSeconds, From: []string{"trtllm_request_queue_time_seconds_sum"}},
		{Name: metric.CounterQueued, From: []string{"trtllm_request_queue_time_seconds_count"}},
		{Name: metric.CounterDraftTokens, From: []string{"trtllm_spec_decode_drafted_tokens_total"}},
		{Name: metric.CounterAcceptedTokens, From: []string{"trtllm_spec_decode_accepted_tokens_total"}},
		{Name: "request_success", From: []string{"trtllm_request_success_total"}, Label: "finished_reason"},
		{Name: metric.CounterJoules, From: []string{"simulate:joules_total"}},
		{Name: metric.CounterLate, From: []string{"simulate:late_seconds_bucket"}, Label: "le"},
	},
}

// startLines matches the lines of a start.
var startLines = []engine.Pattern{
	engine.NewPattern(`Use ([0-9.]+) GB for model weights`, engine.Field{Name: steps.StartWeights, Scale: engine.GiB}),
	engine.NewPattern(`Model init total -- ([0-9.]+)s`, engine.Field{Name: steps.StartLoad}),
	engine.NewPattern(`Allocated ([0-9.]+) GiB for max tokens in paged KV cache \(([0-9]+)\)`,
		engine.Field{Name: steps.StartKVBytes, Scale: engine.GiB}, engine.Field{Name: steps.StartKVTokens}),
}

// startSpans are the phases of a start that only the times of lines tell, to a second. The server goes through both twice:
// with a small KV cache to measure the memory that it needs, and with the final one.
var startSpans = []engine.Span{
	{Name: steps.StartCompile, From: lazyregexp.New(`Autotuning process starts`), To: lazyregexp.New(`Autotuning process ends`), Clock: clock},
	{Name: steps.StartGraphs, From: lazyregexp.New(`Creating CUDA graph instances for`),
		To: lazyregexp.New(`Memory used after loading model weights|Setting PyTorch memory fraction`), Clock: clock},
}

// stamp matches the time of a line: [12/20/2025-04:21:10] [TRT-LLM] [I] ….
var stamp = lazyregexp.New(`^\[([0-9]{2}/[0-9]{2}/[0-9]{4}-[0-9]{2}:[0-9]{2}:[0-9]{2})\]`)

// clock returns the time of a line.
func clock(line string) (time.Time, bool) {
	m := stamp.FindStringSubmatch(line)
	if m == nil {
		return time.Time{}, false
	}
	at, err := time.Parse("01/02/2006-15:04:05", m[1])
	return at, err == nil
}

// Observe scrapes /prometheus/metrics, which the server has with return_perf_metrics in its options. Render does not
// add it: it costs time, and a side whose version lacks it would have none of that. All prompt tokens count
// as queried, because all are looked up in the cache.
func (t trtllm) Observe(ctx context.Context, ep steps.Endpoint) (steps.Observation, error) {
	o, err := figures.Scrape(ctx, t.client, ep)
	if _, cached := o.Counters[metric.CounterPrefixHits]; cached {
		o.Counters[metric.CounterPrefixQueries] = o.Counters[metric.CounterPromptTokens]
	}
	return o, err
}

// LogPoint reports false: the server logs no gauges by default.
func (trtllm) LogPoint(string) (gauges map[string]float64, ok bool) { return nil, false }

// StartFacts parses the lines of a start.
func (trtllm) StartFacts(log []string) map[string]float64 {
	facts := engine.StartFacts(log, startLines)
	engine.AddSpans(facts, log, startSpans)
	return facts
}
