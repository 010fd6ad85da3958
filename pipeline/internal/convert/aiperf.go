package convert

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// aiperf reads profile_export_aiperf.json: a tag with a unit and statistics for each metric.
// readSections reads its CSV.
var aiperf = Tool{
	Name: "aiperf", Releases: "0.13", Command: `aiperf\s+profile`,
	Shapes: []Shape{
		{Keys: []string{"metrics metadata/aggregation_type=confidence"}, also: aiperfAggregate},
		{
			Keys: []string{"metrics/*/series", "endpoint_url metrics", "summary/endpoints_configured input_config"},
			Instead: "the metrics of a server while aiperf measured it (server_metrics_export.json): import profile_export_aiperf.json " +
				"beside it",
		},
		{
			Keys: []string{"aiperf_version", "time_to_first_token/unit", "request_latency/unit"},
			// Older versions have a load generator here; 0.13 and later have the measured phase and
			// its data set.
			Settings: []Field{{"input_config/loadgen", ""}, {"input_config/endpoint", "endpoint_"}},
			Params: []Field{
				{"start_time", "start_time"}, {"input_config/models/items/0/name", "model"}, {"input_config/tokenizer/name", "tokenizer"},
				{"input_config/datasets/0/type", "dataset_name"}, {"input_config/datasets/0/prompts/isl/mean", "input_len"},
				{"input_config/datasets/0/prompts/osl/mean", "output_len"},
			},
			Figures: aiperfFigures, Times: aiperfTimes, Stats: aiperfStats, also: aiperfRun,
		},
		{
			Keys:    []string{"metrics metadata"},
			Instead: "records of single requests (aiperf's profile_export.jsonl): import profile_export_aiperf.json beside it",
		},
	},
	Sheets: []Sheet{{
		Headers: []string{"Endpoint,Type,Metric"},
		Instead: "the metrics of a server while aiperf measured it (server_metrics_export.csv): import profile_export_aiperf.json beside it",
	}},
}

var aiperfTimes = []Times{
	{"time_to_first_token", "ttft", ""}, {"request_latency", "e2e latency", ""}, {"inter_token_latency", "itl", ""},
	{"inter_chunk_latency", "icl", ""},
}

var aiperfStats = map[string]string{
	"avg": "mean", "p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "min": "min", "max": "max", "std": "std",
}

var aiperfFigures = []Field{
	{"request_throughput/avg", "request throughput"}, {"input_token_throughput/avg", "input throughput"},
	{"output_token_throughput/avg", "output throughput"}, {"total_token_throughput/avg", "total throughput"},
	{"request_count/avg", "completed"}, {"error_request_count/avg", "failed"}, {"goodput/avg", "request goodput"},
	{"input_sequence_length/avg", "mean input tokens"}, {"output_sequence_length/avg", "mean output tokens"},
	{"total_isl/avg", "total input tokens"}, {"total_osl/avg", "total output tokens"},
}

// aiperfRun reads the measured phase, the failures and the duration of a run.
func aiperfRun(root, _ *value, r *Run, e *entryList) error {
	if phases := root.at("input_config/phases"); phases != nil {
		for _, phase := range phases.items {
			if phase.has("kind=profiling") {
				r.setParam("arrival", phase.at("type").str())
				r.setParam("request_rate", phase.at("rate").str())
				r.setParam("max_concurrency", phase.at("concurrency").str())
				r.setParam("num_prompts", phase.at("requests").str())
			}
		}
	}
	if failures, ok := root.at("error_summary").sum("count"); ok && root.at("error_request_count") == nil {
		e.text("failed", fmt.Sprint(failures), root.line) // the count is absent if nothing failed
	}
	e.add("duration ("+root.at("benchmark_duration/unit").str()+")", root.at("benchmark_duration/avg"))
	if root.has("is_complete=false") || root.has("was_cancelled=true") {
		r.Cut = "the run did not end as planned: " + clip(root.at("incomplete_reason").str())
		r.seriousf("%s", r.Cut)
	}
	return nil
}

// aiperfAggregate reads profile_export_aiperf_aggregate.json: the mean of each figure over several
// profile runs, under TAG_STATISTIC. The runs used one server, so they are one result, and their
// spread is not that between launches.
func aiperfAggregate(root, _ *value, r *Run, e *entryList) error {
	metrics := root.at("metrics")
	for _, t := range aiperfTimes {
		for _, stat := range slices.Sorted(maps.Keys(aiperfStats)) {
			t := Times{t.Path + "_" + stat, t.Name, t.Unit}
			if err := e.times(metrics.at(t.Path), t, map[string]string{"mean": aiperfStats[stat]}, r.Source); err != nil {
				return err
			}
		}
	}
	runs, ok := root.at("metadata/num_successful_runs").number()
	if !ok || runs < 1 || runs != math.Trunc(runs) {
		return &Error{r.Source, r.Line, errors.New("metadata.num_successful_runs does not say how many runs the figures are means of")}
	}
	for _, f := range aiperfFigures {
		v := metrics.at(strings.Replace(f.Path, "/", "_", 1) + "/mean")
		known, _ := figureOf(f.Name)
		if x, ok := v.number(); ok && known.kind == count { // the sum over all runs: a mean would round one failure away
			e.text(f.Name, fmt.Sprint(int64(math.Round(x*runs))), v.line)
			continue
		}
		e.add(f.Name, v)
	}
	duration := metrics.at("benchmark_duration_avg")
	e.add("duration ("+duration.at("unit").str()+")", duration.at("mean"))
	r.warnf("figures are means over %g profile runs of aiperf on one server: together they are one result", runs)
	if asked, ok := root.at("metadata/num_profile_runs").number(); ok && asked != runs {
		r.warnf("%g of %g profile runs succeeded", runs, asked)
	}
	r.audit("passes", runs)
	return nil
}
