package convert

import (
	"fmt"
	"slices"

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
	toolGenAIPerf     = "genai-perf"
	toolLLMPerf       = "llmperf"
	toolTRTLLM        = "trtllm-bench"
	toolPipeline      = "pipeline"
)

// unlike says where a tool defines a group of figures otherwise than the registry does: the
// name the figures get here, and how they differ. What is not listed is alike.
var unlike = unlikeGroups()

type unlikeGroup struct{ group, why string }

func unlikeGroups() map[string]map[string]unlikeGroup {
	out := map[string]map[string]unlikeGroup{}
	for _, g := range metric.Foreign() {
		if out[g.Tool] == nil {
			out[g.Tool] = map[string]unlikeGroup{}
		}
		out[g.Tool][g.Quantity] = unlikeGroup{g.Name, g.Definition}
	}
	return out
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
	if r.Tool != "" && !slices.Contains(metric.Tools(), r.Tool) {
		return slug(r.Tool) + "_" + group + "." + stat, describeForeign(r.Tool, group, stat)
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
