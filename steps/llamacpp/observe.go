package llamacpp

import (
	"context"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// figures lists llama-server's metrics by their names up to b11434. It has no metric of the share of the KV cache in use.
var figures = engine.Metrics{
	Gauges: []engine.Metric{
		{Name: steps.SeriesRunning, From: []string{"llamacpp:requests_processing"}},
		{Name: steps.SeriesWaiting, From: []string{"llamacpp:requests_deferred"}},
		{Name: steps.SeriesKVUsage, From: []string{"llamacpp:kv_cache_usage_ratio"}},
	},
	Counters: []engine.Metric{
		{Name: metric.CounterPromptTokens, From: []string{"llamacpp:prompt_tokens_total"}},
		{Name: metric.CounterGenerationTokens, From: []string{"llamacpp:tokens_predicted_total"}},
		{Name: metric.CounterPrefixHits, From: []string{"llamacpp:prompt_tokens_cached_total"}},
		{Name: metric.CounterDrafts, From: []string{"llamacpp:spec_decode_num_drafts_total"}},
		{Name: metric.CounterDraftTokens, From: []string{"llamacpp:spec_decode_num_draft_tokens_total"}},
		{Name: metric.CounterAcceptedTokens, From: []string{"llamacpp:spec_decode_num_accepted_tokens_total"}},
		{Name: metric.CounterJoules, From: []string{"simulate:joules_total"}},
		{Name: metric.CounterLate, From: []string{"simulate:late_seconds_bucket"}, Label: "le"},
	},
}

// withPrompts completes the counters of prompts: llama-server counts only the tokens that it did not find in its cache.
func withPrompts(o steps.Observation) steps.Observation {
	processed, ok := o.Counters[metric.CounterPromptTokens]
	hits, cached := o.Counters[metric.CounterPrefixHits]
	if ok && cached {
		o.Counters[metric.CounterPromptTokens] = processed + hits
		o.Counters[metric.CounterPrefixQueries] = processed + hits
	}
	if o.Counters[metric.CounterDrafts] == 0 { // without speculative decoding they are 0 for ever
		for _, name := range []string{metric.CounterDrafts, metric.CounterDraftTokens, metric.CounterAcceptedTokens} {
			delete(o.Counters, name)
		}
	}
	return o
}

// startLines matches the lines of a start. The first is printed by default, and counts the cache by slots, which may share
// it; the others need --verbosity 4.
var startLines = []engine.Pattern{
	engine.NewPattern(`initializing, n_slots = ([0-9]+), n_ctx_slot = ([0-9]+), kv_unified = 'false'`,
		engine.Field{Name: slots}, engine.Field{Name: slotTokens}),
	engine.NewPattern(`initializing, n_slots = [0-9]+, n_ctx_slot = ([0-9]+), kv_unified = 'true'`, engine.Field{Name: steps.StartKVTokens}),
	engine.NewPattern(`llama_kv_cache[a-z_]*: size = +([0-9.]+) MiB`, engine.Field{Name: steps.StartKVBytes, Scale: mib}),
	engine.NewPattern(`print_info: file size += ([0-9.]+) MiB`, engine.Field{Name: steps.StartWeights, Scale: mib}),
	engine.NewPattern(`print_info: file size += ([0-9.]+) GiB`, engine.Field{Name: steps.StartWeights, Scale: engine.GiB}),
}

// startSpans is the phase of a start that the times of lines tell: all between the first line about the model and its slots.
var startSpans = []engine.Span{{Name: steps.StartLoad, From: lazyregexp.New(`load_model: loading model`),
	To: lazyregexp.New(`load_model: initializing, n_slots = `), Clock: clock}}

// stamp matches the time of a line since the start: 0.00.293.071 I …, in minutes, seconds, milliseconds and microseconds.
var stamp = lazyregexp.New(`^([0-9]+)\.([0-9]{2})\.([0-9]{3})\.([0-9]{3}) [A-Z] `)

// clock returns the time of a line.
func clock(line string) (time.Time, bool) {
	m := stamp.FindStringSubmatch(line)
	if m == nil {
		return time.Time{}, false
	}
	at, err := time.ParseDuration(m[1] + "m" + m[2] + "s" + m[3] + "ms" + m[4] + "us")
	return time.Unix(0, 0).Add(at), err == nil
}

const mib = 1 << 20

// The fields from which the capacity of the KV cache is computed.
const (
	slots      = "slots"
	slotTokens = "slot_tokens"
)

// Observe scrapes /metrics, which llama-server serves with --metrics (set by Render).
func (l llamacpp) Observe(ctx context.Context, ep steps.Endpoint) (steps.Observation, error) {
	o, err := figures.Scrape(ctx, l.client, ep)
	return withPrompts(o), err
}

// LogPoint reports false: llama-server logs the times of each request, and no gauges.
func (llamacpp) LogPoint(string) (gauges map[string]float64, ok bool) { return nil, false }

// StartFacts parses the lines of a start.
func (llamacpp) StartFacts(log []string) map[string]float64 {
	facts := engine.StartFacts(log, startLines)
	engine.AddSpans(facts, log, startSpans)
	if tokens := facts[slots] * facts[slotTokens]; tokens > 0 {
		facts[steps.StartKVTokens] = tokens
	}
	delete(facts, slots)
	delete(facts, slotTokens)
	return facts
}
