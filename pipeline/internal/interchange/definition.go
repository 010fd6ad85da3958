package interchange

import (
	"fmt"

	"github.com/servegate/pipeline/gates/metric"
)

// The tools whose definitions are known.
const (
	toolVLLM          = "vllm"
	toolSGLang        = "sglang"
	toolGuidellm      = "guidellm"
	toolAiperf        = "aiperf"
	toolInferencePerf = "inference-perf"
	toolHF            = "inference-benchmarker"
	toolPipeline      = "pipeline"
)

// unlike says where a tool defines a group of figures otherwise than the registry does:
// the name the figures get here, and how they differ. What is not listed is alike.
//
// Read from the sources of vLLM 0.33, SGLang 0.5.23, guidellm (August 2026), aiperf 0.13,
// inference-perf (August 2026) and inference-benchmarker (April 2026).
var unlike = map[string]map[string]struct{ group, why string }{
	toolSGLang: {
		"e2el": {"sglang_e2el", "end-to-end latency until the last line of the stream, usage and [DONE] included"},
		"tpot": {"sglang_tpot", "(end-to-end latency until the last line of the stream − TTFT) / (output tokens − 1)"},
	},
	toolGuidellm: {
		"e2el":               {"guidellm_e2el", "request latency until the end of the response; percentiles without interpolation"},
		"ttft":               {"guidellm_ttft", "time to first token by the wall clock; percentiles without interpolation"},
		"tpot":               {"guidellm_tpot", "(last token − start) / output tokens, so the first token is in it; weighted by output tokens"},
		"itl":                {"guidellm_itl", "(last − first token) / (output tokens − 1) per request, weighted by output tokens − 1"},
		"request_throughput": {"guidellm_request_throughput", "rate of completions averaged over time, not successes / duration"},
		"output_throughput":  {"guidellm_output_throughput", "output tokens per second averaged over time, not tokens / duration"},
		"total_throughput":   {"guidellm_total_throughput", "tokens per second averaged over time, not tokens / duration"},
		"concurrency":        {"guidellm_concurrency", "requests in flight, weighted by time"},
	},
	toolAiperf: {
		"itl":               {"aiperf_itl", "(request latency − TTFT) / (output tokens − tokens of the first chunk), one value per request"},
		"input_throughput":  {"aiperf_input_throughput", "prompt tokens by the client's tokenizer / duration"},
		"output_throughput": {"aiperf_output_throughput", "output tokens by the client's tokenizer / duration"},
		"total_throughput":  {"aiperf_total_throughput", "tokens by the client's tokenizer / duration"},
		"icl":               {"aiperf_icl", "gap between chunks; percentiles estimated by a t-digest"},
	},
	toolInferencePerf: {
		"e2el":  {"inference_perf_e2el", "request latency until the end of the response"},
		"itl":   {"inference_perf_itl", "gap between tokens where the tokens of one chunk are 0 apart"},
		"ntpot": {"inference_perf_ntpot", "request latency / output tokens, so the first token is in it"},
	},
	toolHF: {
		"e2el":               {"hf_e2el", "end-to-end latency until [DONE] or the finish reason"},
		"itl":                {"hf_itl", "sum of gaps / (output tokens − 1), one value per request"},
		"request_throughput": {"hf_request_throughput", "successes / time from the start of the first completed to the end of the last completed request"},
		"output_throughput":  {"hf_output_throughput", "tokens counted by a tokenizer on each delta / time from the first completed to the last completed request"},
	},
}

// nearly says where a tool's figure is taken for the registry's although its requests may
// differ a little: comparisons with another tool say so.
var nearly = map[string]map[string]string{
	toolSGLang: {
		"ttft": "SGLang's client opens a connection for each request, which is in its time, passes over chunks without text, and counts a request without any as 0",
		"itl":  "SGLang's client passes over chunks without text, so that a gap may hold several tokens",
	},
}

// named are groups that only other tools have.
var named = map[string]string{
	"token_latency":             "end-to-end latency / output tokens, so the first token is in it",
	"probe_e2el":                "end-to-end latency of vLLM's independent probe requests",
	"goodput":                   "requests per second that met the latency limits which the tool was given",
	"spec_decode":               "speculative decoding, as the tool counts it over the run",
	"rtfx":                      "seconds of audio per second (inverse real-time factor)",
	"input_sequence_throughput": "sequences per second (pooling)",
}

// metricID is the id under which a figure is stored, and its definition if it is not one
// of the registry. SGLang's gap between tokens depends on the endpoint that was used.
func (r *Run) metricID(group, stat string) (id, definition string) {
	if r.Tool == toolSGLang && group == "itl" {
		group = r.sglangITL()
	}
	if u, ok := unlike[r.Tool][group]; ok {
		return u.group + "." + stat, fmt.Sprintf("%s of %s: %s", stat, r.Tool, u.why)
	}
	id = group + "." + stat
	if _, ok := metric.Lookup(id); ok {
		return id, ""
	}
	return id, describeForeign(r.Tool, group, stat)
}

// sglangITL tells which gap SGLang's "ITL" is: for the native endpoint each gap counts
// once per token; elsewhere once per chunk, as vLLM's.
func (r *Run) sglangITL() string {
	switch r.Params["backend"] {
	case "", "sglang", "sglang-native":
		return "itl_token"
	}
	return "itl"
}

// describeForeign defines an id that the registry lacks.
func describeForeign(tool, group, stat string) string {
	if stat == "peak_second" {
		return "the largest count in one whole second; not the exact peak"
	}
	if d, ok := named[group]; ok {
		return stat + " of the " + d
	}
	for _, g := range metric.Groups() {
		if g.Name == group {
			return stat + " of the " + g.Definition
		}
	}
	if tool == "" {
		tool = "the tool"
	}
	return fmt.Sprintf("%s of %s as %s prints it", stat, group, tool)
}
