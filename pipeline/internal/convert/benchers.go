package convert

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// llmperfStats are the keys behind the name of a quantity in LLMPerf's summary.
var llmperfStats = map[string]string{
	"quantiles_p25": "p25", "quantiles_p50": "p50", "quantiles_p75": "p75", "quantiles_p90": "p90", "quantiles_p95": "p95", "quantiles_p99": "p99",
	"mean": "mean", "min": "min", "max": "max", "stddev": "std",
}

// convertLLMPerf reads the summary that LLMPerf's token_benchmark_ray.py writes: one object,
// whose keys are joined by underscores. Statistics are those of requests without an error.
func convertLLMPerf(root *node, r Run) (Run, error) {
	r.Format, r.Tool = FormatLLMPerf, toolLLMPerf
	r.setParam("model", root.get("model").str())
	r.setParam("max_concurrency", root.get("num_concurrent_requests").str())
	r.setParam("input_len", root.get("mean_input_tokens").str())
	r.setParam("output_len", root.get("mean_output_tokens").str())
	for _, key := range []string{"stddev_input_tokens", "stddev_output_tokens", "name", "timestamp"} {
		r.setParam(key, root.get(key).str())
	}
	var e entryList
	e.add("completed", root.get("results_num_completed_requests"))
	e.add("failed", root.get("results_number_errors"))
	for _, q := range []struct{ key, label string }{
		{"ttft_s", "ttft"}, {"inter_token_latency_s", "itl"}, {"end_to_end_latency_s", "e2e latency"},
	} {
		for _, key := range slices.Sorted(maps.Keys(llmperfStats)) {
			e.add(llmperfStats[key]+" "+q.label+" (s)", root.get("results_"+q.key+"_"+key))
		}
	}
	e.add("output throughput", root.get("results_mean_output_throughput_token_per_s"))
	if perMinute := root.get("results_num_completed_requests_per_min"); perMinute != nil {
		if v, ok := perMinute.number(); ok {
			e.text("request throughput", fmt.Sprint(v/60), perMinute.line)
			if n, ok := root.get("results_num_completed_requests").number(); ok && v > 0 {
				r.Duration = n / v * 60 // as the tool computed it
			}
		}
	}
	return r, r.fill(e.entries)
}

// trtllmStats are the keys of a distribution in trtllm-bench's report.
var trtllmStats = map[string]string{
	"p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "minimum": "min", "maximum": "max", "average": "mean",
}

// convertTRTLLM reads the report of trtllm-bench throughput --report_json, in which times are
// milliseconds. It measures an engine in its own process: no server takes part.
func convertTRTLLM(root *node, r Run) (Run, error) {
	r.Format, r.Tool = FormatTRTLLM, toolTRTLLM
	r.fields(root.get("engine"), "engine_")
	r.fields(root.get("machine"), "machine_")
	r.fields(root.get("world_info"), "world_")
	r.setParam("model", root.get("engine", "model").str())
	requests := root.get("request_info")
	r.setParam("num_requests", requests.get("num_requests").str()) // which tells no failures
	r.setParam("input_len", requests.get("avg_input_length").str())
	r.setParam("output_len", requests.get("avg_output_length").str())
	performance, streaming := root.get("performance"), root.get("streaming_metrics")
	var e entryList
	e.add("completed", requests.get("num_requests"))
	if total, ok := performance.get("total_latency_ms").number(); ok {
		r.Duration = total / 1000
	}
	for label, mean := range map[string]*node{"total input tokens": requests.get("avg_input_length"), "total output tokens": requests.get("avg_output_length")} {
		n, ok := requests.get("num_requests").number()
		if v, told := mean.number(); ok && told {
			e.text(label, fmt.Sprint(int64(math.Round(n*v))), mean.line)
		}
	}
	e.statistics(performance.get("request_latency_percentiles_ms"), "e2e latency", "ms", trtllmStats)
	e.statistics(streaming.get("ttft_percentiles"), "ttft", "ms", trtllmStats)
	e.statistics(streaming.get("tpot_percentiles"), "tpot", "ms", trtllmStats)
	e.add("request throughput", performance.get("request_throughput_req_s"))
	e.add("output throughput", performance.get("system_output_throughput_tok_s"))
	e.add("total throughput", performance.get("system_total_throughput_tok_s"))
	r.audit("client", "none: the engine is measured in its own process")
	return r, r.fill(e.entries)
}
