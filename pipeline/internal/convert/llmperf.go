package convert

import "fmt"

// llmperfSummary reads the statistics, whose names are parts of keys, and the rate per minute.
func llmperfSummary(root, _ *value, r *Run, e *entryList) error {
	for _, t := range []struct{ path, name string }{
		{"ttft_s", "ttft"}, {"inter_token_latency_s", "itl"}, {"end_to_end_latency_s", "e2e latency"},
	} {
		for _, stat := range []string{"mean", "min", "max", "stddev", "p25", "p50", "p75", "p90", "p95", "p99"} {
			key := stat
			if stat[0] == 'p' {
				key = "quantiles_" + stat
			}
			e.add(stat+" "+t.name+" (s)", root.at("results_"+t.path+"_"+key))
		}
	}
	perMinute := root.at("results_num_completed_requests_per_min")
	if v, ok := perMinute.number(); ok {
		e.text("request throughput", fmt.Sprint(v/60), perMinute.line)
		if n, ok := root.at("results_num_completed_requests").number(); ok && v > 0 {
			r.Duration = n / v * 60 // as the tool computed it
		}
	}
	return nil
}
