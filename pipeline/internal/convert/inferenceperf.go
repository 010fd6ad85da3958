package convert

import "path/filepath"

// inferencePerf reads summary_ and stage_N_lifecycle_metrics.json. All times are in seconds.
var inferencePerf = Tool{
	Name: "inference-perf", Releases: "of August 2026", Command: "inference-perf",
	Shapes: []Shape{{
		Keys:   []string{"successes load_summary", "successes failures"},
		Params: []Field{{"load_summary/requested_rate", "request_rate"}, {"load_summary/concurrency", "max_concurrency"}},
		Audit: []Field{
			{"load_summary/achieved_rate", "achieved_rate"}, {"load_summary/send_duration", "send_duration_s"},
			{"load_summary/schedule_delay/mean", "schedule_delay_s"},
		},
		Figures: []Field{
			{"successes/count", "completed"}, {"failures/count", "failed"}, {"benchmark_time_seconds", "duration"},
			{"successes/prompt_len/mean", "mean input tokens"}, {"successes/output_len/mean", "mean output tokens"},
			{"successes/throughput/requests_per_sec", "request throughput"}, {"successes/throughput/input_tokens_per_sec", "input throughput"},
			{"successes/throughput/output_tokens_per_sec", "output throughput"}, {"successes/throughput/total_tokens_per_sec", "total throughput"},
		},
		Times: []Times{
			{"successes/latency/time_to_first_token", "ttft", "s"}, {"successes/latency/time_per_output_token", "tpot", "s"},
			{"successes/latency/inter_token_latency", "itl", "s"}, {"successes/latency/request_latency", "e2e latency", "s"},
			{"successes/latency/normalized_time_per_output_token", "ntpot", "s"},
		},
		Stats: map[string]string{
			"mean": "mean", "median": "p50", "p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p99.9": "p99.9",
			"min": "min", "max": "max",
		},
		also: func(_, item *value, r *Run, _ *entryList) error {
			r.summary = !item.has("load_summary/requested_rate") && !item.has("load_summary/concurrency")
			asked, okAsked := item.at("load_summary/requested_rate").number()
			sent, okSent := item.at("load_summary/achieved_rate").number()
			if okAsked && okSent {
				r.checkAchieved(asked, sent)
			}
			return nil
		},
	}},
}

// achieved is the smallest share of the requested rate that a load must reach.
const achieved = 0.95

// checkAchieved adds a note if a load generator sent fewer requests per second than requested.
func (r *Run) checkAchieved(asked, sent float64) {
	if asked > 0 && sent < achieved*asked {
		r.seriousf("%.4g of the %.4g requests per second that were asked for were sent: the load is not the one that it is called", sent, asked)
	}
}

// summarised returns a stage whose figures a summary repeats, nil if there is none. The stage is in
// the same folder, from the same tool, and has the rate or the concurrency that the summary lacks.
func summarised(r *Run, runs []Run) *Run {
	for i := range runs {
		o := &runs[i]
		if r.summary && o.Tool == r.Tool && !o.summary && filepath.Dir(o.Source) == filepath.Dir(r.Source) {
			return o
		}
	}
	return nil
}
