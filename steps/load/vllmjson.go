package load

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/servegate/pipeline/steps/record"
)

// VLLMJSON renders a run in the format of `vllm bench serve` 0.33 --save-result, or of --save-detailed with
// opt.Detailed, for programs that read those files. As there, times are in seconds in arrays and in
// milliseconds in statistics. It omits fields that are not recorded: generated_texts and tokenizer_id.
func VLLMJSON(run record.Run, opt VLLMOptions) ([]byte, error) {
	opt = opt.withDefaults(run)
	m := vllmHead(run, opt)
	s := summarize(run)
	maps.Copy(m, map[string]any{
		"duration": s.seconds, "completed": s.Succeeded, "failed": s.Failed,
		"total_input_tokens": s.InputTokens, "total_output_tokens": s.OutputTokens,
		"request_throughput": s.perSecond(s.Succeeded), "request_goodput": s.goodput,
		"output_throughput":       s.perSecond(s.OutputTokens),
		"total_token_throughput":  s.perSecond(s.InputTokens + s.OutputTokens),
		"max_output_tokens_per_s": s.peakTokens, "max_concurrent_requests": s.peakConcurrentSuccess,
		"rtfx": 0.0,
	})
	if s.embeddings {
		maps.DeleteFunc(m, func(key string, _ any) bool { return slices.Contains(notPooled, key) })
		m["total_input_sequences"], m["input_sequence_throughput"] = s.Succeeded, s.perSecond(s.Succeeded)
	}
	for _, g := range vllmGroups(run, opt) {
		mean, median, std, ps := g.stats(opt.Percentiles)
		m["mean_"+g.attr+"_ms"], m["median_"+g.attr+"_ms"], m["std_"+g.attr+"_ms"] = mean, median, std
		for i, p := range opt.Percentiles {
			m["p"+percentileWord(p)+"_"+g.attr+"_ms"] = ps[i]
		}
	}
	vllmArrays(m, run, opt.Detailed)
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("vLLM-shaped result: %w", err)
	}
	return append(b, '\n'), nil
}

// notPooled are keys that vLLM does not write for embeddings.
var notPooled = []string{
	"failed", "total_output_tokens", "request_goodput", "output_throughput", "max_output_tokens_per_s", "max_concurrent_requests", "rtfx",
}

// vllmHead returns the fields that describe the command. An unlimited rate is the string "inf".
func vllmHead(run record.Run, opt VLLMOptions) map[string]any {
	m := map[string]any{
		"date": opt.Date, "endpoint_type": opt.EndpointType, "backend": opt.Backend, "label": nil,
		"model_id": opt.ModelID, "num_prompts": opt.NumPrompts, "request_rate": any("inf"),
		"burstiness": opt.Burstiness, "max_concurrency": nil,
	}
	if opt.Label != "" {
		m["label"] = opt.Label
	}
	if opt.NumPrompts == 0 {
		m["num_prompts"] = run.Requests.Len()
	}
	if opt.RequestRate > 0 {
		m["request_rate"] = opt.RequestRate
	}
	if opt.MaxConcurrency > 0 {
		m["max_concurrency"] = opt.MaxConcurrency
	}
	return m
}

// vllmArrays adds the arrays over all requests; the value of a failed one is 0. As in vLLM, latencies and
// queue_times are included without detail too.
func vllmArrays(m map[string]any, run record.Run, detailed bool) {
	n := run.Requests.Len()
	var (
		latencies, queues, ttfts, starts = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		inputs, outputs                  = make([]int, n), make([]int, n)
		itls, errs                       = make([][]float64, n), make([]string, n)
	)
	for i, r := range run.Requests.All() {
		starts[i], errs[i], inputs[i], itls[i] = float64(r.Sent)/1e9, r.Error, r.PromptTokens, []float64{}
		if r.Planned >= 0 {
			queues[i] = float64(r.Sent-r.Planned) / 1e9
		}
		if r.Failure != "" || len(r.Events) == 0 {
			continue
		}
		outputs[i] = r.OutputTokens
		if r.First().Tokens > 0 {
			ttfts[i] = float64(r.First().At-r.Sent) / 1e9
		}
		latencies[i] = float64(r.Events[len(r.Events)-1].At-r.Sent) / 1e9
		for k := 1; k < len(r.Events); k++ {
			itls[i] = append(itls[i], float64(r.Events[k].At-r.Events[k-1].At)/1e9)
		}
	}
	m["latencies"], m["queue_times"] = latencies, queues
	if detailed {
		m["input_lens"], m["output_lens"], m["ttfts"], m["itls"] = inputs, outputs, ttfts, itls
		m["start_times"], m["errors"] = starts, errs
	}
}
