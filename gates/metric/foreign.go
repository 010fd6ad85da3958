package metric

import (
	"math"
	"slices"
	"strings"
)

// difference is a quantity that a load generator defines differently from the registry. Its figures
// have separate names, so that different quantities are never compared.
type difference struct {
	// quantity is the name of the registry's own quantity, or a name that the registry does not
	// have.
	quantity string
	label    string
	why      string
}

// tools lists the load generators with definitions of their own: the name in their results, and the
// prefix of their figures.
//
// Read from the sources of SGLang 0.5.23, guidellm (August 2026), aiperf 0.13, GenAI-Perf 0.0.16,
// inference-perf (August 2026), inference-benchmarker (April 2026), LLMPerf (2024) and TensorRT-LLM
// 1.2.
var tools = []struct {
	name, prefix string
	differences  []difference
}{
	{"sglang", "sglang", []difference{
		{"e2el", "E2EL", "end-to-end latency until the last line of the stream, usage and [DONE] included"},
		{"tpot", "TPOT", "(end-to-end latency until the last line of the stream − TTFT) / (output tokens − 1)"},
	}},
	{"guidellm", "guidellm", []difference{
		{"e2el", "E2EL", "request latency until the end of the response; percentiles without interpolation"},
		{"ttft", "TTFT", "time to first token by the wall clock; percentiles without interpolation"},
		{"tpot", "TPOT", "(last token − start) / output tokens, so the first token is in it; weighted by output tokens"},
		{"itl", "ITL", "(last − first token) / (output tokens − 1) per request, weighted by output tokens − 1"},
		{"request_throughput", "Request throughput", "rate of completions averaged over time, not successes / duration"},
		{"output_throughput", "Output throughput", "output tokens per second averaged over time, not tokens / duration"},
		{"total_throughput", "Total throughput", "tokens per second averaged over time, not tokens / duration"},
		{"concurrency", "Concurrency", "requests in flight, weighted by time"},
	}},
	{"aiperf", "aiperf", aiperf},
	{"genai-perf", "genai_perf", slices.Concat(aiperf, []difference{
		{"e2el", "E2EL", "request latency until the last response, the one with the usage included"},
		{"ttft", "TTFT", "time to the first response that is not empty"},
	})},
	{"inference-perf", "inference_perf", []difference{
		{"e2el", "E2EL", "request latency until the end of the response"},
		{"itl", "ITL", "gap between tokens where the tokens of one chunk are 0 apart"},
		{"ntpot", "NTPOT", "request latency / output tokens, so the first token is in it"},
	}},
	{"inference-benchmarker", "hf", []difference{
		{"e2el", "E2EL", "end-to-end latency until [DONE] or the finish reason"},
		{"itl", "ITL", "sum of gaps / (output tokens − 1), one value per request"},
		{"request_throughput", "Request throughput",
			"successes / time from the start of the first completed to the end of the last completed request"},
		{"output_throughput", "Output throughput",
			"tokens counted by a tokenizer on each delta / time from the first completed to the last completed request"},
	}},
	{"llmperf", "llmperf", []difference{
		{"e2el", "E2EL", "request latency until the end of the stream"},
		{"ttft", "TTFT", "time to the first delta with content; percentiles by pandas"},
		{"itl", "ITL", "sum of gaps, the time to the first token included, / output tokens by the client's tokenizer, one value per request"},
		{"request_throughput", "Request throughput", "completed requests / time of the whole test, which waits for stragglers at its end"},
		{"output_throughput", "Output throughput", "output tokens by the client's tokenizer / time of the whole test"},
	}},
	{"trtllm-bench", "trtllm", []difference{
		{"e2el", "E2EL", "latency of a request inside the process of the engine, without a server; percentiles without interpolation"},
		{"ttft", "TTFT", "time to first token inside the process of the engine, without a server; percentiles without interpolation"},
		{"tpot", "TPOT", "(latency − TTFT) / (output tokens − 1) inside the process of the engine; percentiles without interpolation"},
		{"request_throughput", "Request throughput",
			"requests / time from the first request to the end of the last, inside the process of the engine"},
		{"output_throughput", "Output throughput",
			"output tokens / time from the first request to the end of the last, inside the process of the engine"},
		{"total_throughput", "Total throughput", "tokens / time from the first request to the end of the last, inside the process of the engine"},
	}},
}

var aiperf = []difference{
	{"itl", "ITL", "(request latency − TTFT) / (output tokens − tokens of the first chunk), one value per request"},
	{"input_throughput", "Input throughput", "prompt tokens by the client's tokenizer / duration"},
	{"output_throughput", "Output throughput", "output tokens by the client's tokenizer / duration"},
	{"total_throughput", "Total throughput", "tokens by the client's tokenizer / duration"},
	{"icl", "ICL", "gap between chunks; percentiles estimated by a t-digest"},
}

// foreignStats are the statistics of times that any load generator reports.
var foreignStats = []struct {
	stat     string
	quantile float64
}{
	{"mean", 0}, {"std", 0}, {"min", 0}, {"max", 0}, {"p1", 0.01}, {"p5", 0.05}, {"p10", 0.1}, {"p25", 0.25}, {"p50", 0.5},
	{"p60", 0.6}, {"p70", 0.7},
	{"p75", 0.75}, {"p80", 0.8}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999},
}

// foreign holds the groups of all tools, built once like the registry.
var (
	foreign     = foreignGroups()
	foreignByID = index(foreign)
)

// Foreign returns, by group, the figures of other load generators whose definitions differ from the
// registry. They are not measured here, but may be compared and gated in the results of these
// tools. The caller may modify the slices.
func Foreign() []Group { return cloned(foreign) }

// ForeignTool returns the tool whose figures have a prefix, as in metric.guidellm.ttft.p99:
// guidellm. It reports whether there is one.
func ForeignTool(prefix string) (tool string, ok bool) {
	for _, t := range tools {
		if t.prefix == prefix {
			return t.name, true
		}
	}
	return "", false
}

// Tools returns the load generators whose results can be read, by their names in results and in
// files of gates. Those whose definitions all equal the registry's come first.
func Tools() []string {
	names := []string{"vllm", "pipeline"}
	for _, t := range tools {
		names = append(names, t.name)
	}
	return names
}

func foreignGroups() []Group {
	var groups []Group
	for _, t := range tools {
		for _, d := range t.differences {
			g := Group{Name: t.prefix + "_" + d.quantity, Definition: d.why, Source: t.name, Tool: t.name, Quantity: d.quantity}
			g.Metrics = d.metrics(g)
			groups = append(groups, g)
		}
	}
	return groups
}

// metrics returns the statistics of a quantity: one number if the registry has it as one number,
// and all usual statistics if it is a time.
func (d difference) metrics(g Group) []Metric {
	if own, ok := byID[d.quantity+".mean"]; ok && own.Unit != Seconds {
		own.ID, own.Group, own.Tool, own.Source, own.Definition = g.Name+".mean", g.Name, g.Tool, g.Source, g.Definition
		own.Label = d.label + " (" + g.Tool + ")"
		return []Metric{own}
	}
	var out []Metric
	for _, s := range foreignStats {
		out = append(out, Metric{
			ID: g.Name + "." + s.stat, Group: g.Name, Stat: s.stat, Tool: g.Tool, Source: g.Source,
			Label: d.label + " " + s.stat + " (" + g.Tool + ")", Definition: s.stat + " of the " + d.why,
			Unit: Seconds, Direction: LowerIsBetter, Scale: Log, Level: RunLevel,
			Quantile: s.quantile, MinRequests: leastRequests(s.stat, s.quantile), Informational: s.stat == "std",
		})
	}
	return out
}

// leastRequests returns the least number of requests with which a statistic may be gated: ten
// beyond a percentile on its nearer side.
func leastRequests(stat string, quantile float64) int {
	switch stat {
	case "mean", "std":
		return 10
	case "min", "max":
		return 1
	}
	return int(math.Round(10 / min(quantile, 1-quantile)))
}

// foreignOf finds the metric that a foreign or misspelt id means.
func foreignOf(id string) (Metric, bool) {
	if m, ok := foreignByID[id]; ok {
		return m, true
	}
	for _, t := range tools { // guidellm.ttft.p99
		if rest, ok := strings.CutPrefix(id, t.prefix+"."); ok {
			m, ok := foreignByID[t.prefix+"_"+rest]
			return m, ok
		}
	}
	return Metric{}, false
}
