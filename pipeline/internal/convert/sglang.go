package convert

import (
	"slices"

	engine "github.com/servegate/pipeline/steps/sglang"
)

// sglang reads the objects that sglang.bench_serving appends to its --output-file.
var sglang = Tool{
	Name: "sglang", Releases: "0.5.23", Counted: true,
	Command: `sglang\.bench_serving|sglang\.benchmark\.serving|bench_serving\.py|sglang-bench`,
	Bulk:    []string{"server_queue_times", "server_ttfts", "cached_tokens_details", "cached_tokens", "timeslices"},
	Shapes: []Shape{{
		Keys:     []string{"total_output_tokens_retokenized", "mean_e2e_latency_ms", "server_info completed"},
		Flat:     true,
		Settings: []Field{{"server_info", "server_"}},
		Params:   []Field{{"server_info/model_path", "model"}},
		also: func(root, _ *value, r *Run, _ *entryList) error {
			if hit, ok := root.at("cache_report/cache_hit_rate_pct").number(); ok {
				r.audit("prefix_hit_rate", hit/100)
			}
			return nil
		},
	}},
	Engine: engine.New,
	Prints: []string{"Backend", "(retokenized)", "E2E Latency"},
	Approximates: map[string]string{
		"ttft": "SGLang's client opens a connection for each request, which is in its time, passes over chunks without text, and counts a " +
			"request without any as 0",
		"itl": "SGLang's client passes over chunks without text, so that a gap may hold several tokens",
	},
	group: func(r *Run, group string) string {
		if group == "itl" && sglangNative(r) {
			return "itl_token"
		}
		return group
	},
}

// sglangNative reports whether requests went to SGLang's own endpoint. Each gap then counts once
// per token, otherwise once per chunk, as in vLLM.
func sglangNative(r *Run) bool {
	return slices.Contains([]string{"", "sglang", "sglang-native"}, r.Params["backend"])
}
