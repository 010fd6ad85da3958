package convert

import (
	"fmt"
	"math"
)

// trtllmBench reads trtllm-bench throughput --report_json. It measures an engine in its own
// process, without a server.
var trtllmBench = Tool{
	Name: "trtllm-bench", Releases: "1.2",
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
		also: func(root, _ *value, r *Run, e *entryList) error {
			n, _ := root.at("request_info/num_requests").number()
			for _, f := range []Field{{"request_info/avg_input_length", "total input tokens"}, {"request_info/avg_output_length",
				"total output tokens"}} {
				if mean, ok := root.at(f.Path).number(); ok && n > 0 {
					e.text(f.Name, fmt.Sprint(int64(math.Round(n*mean))), root.at(f.Path).line)
				}
			}
			r.audit("client", "none: the engine is measured in its own process")
			return nil
		},
	}},
}
