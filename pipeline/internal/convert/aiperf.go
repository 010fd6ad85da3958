package convert

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/servegate/pipeline/gates/foreign"
)

// aiperfStats returns its names of statistics, in JSON and CSV.
var aiperfStats = sync.OnceValue(func() map[string]string { return foreign.ShapeOf("aiperf").Stats })

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

// genaiPerfLength reads the length of answers that was asked for; -1 stands for none.
func genaiPerfLength(root, _ *value, r *Run, _ *entryList) error {
	for _, path := range []string{"input_config/output_tokens_mean", "input_config/input/output_tokens/mean"} {
		if mean := root.at(path); mean.str() != "-1" {
			r.setParam("output_len", mean.str())
		}
	}
	return nil
}

// aiperfAggregate reads profile_export_aiperf_aggregate.json: the mean of each figure over several
// profile runs, under TAG_STATISTIC. The runs used one server, so they are one result, and their
// spread is not that between launches.
func aiperfAggregate(root, _ *value, r *Run, e *entryList) error {
	metrics, single := root.at("metrics"), foreign.ShapeOf("aiperf")
	for _, t := range single.Times {
		for _, stat := range slices.Sorted(maps.Keys(aiperfStats())) {
			t := foreign.Times{Path: t.Path + "_" + stat, Name: t.Name, Unit: t.Unit}
			if err := e.times(metrics.at(t.Path), t, map[string]string{"mean": aiperfStats()[stat]}, r.Source); err != nil {
				return err
			}
		}
	}
	runs, ok := root.at("metadata/num_successful_runs").number()
	if !ok || runs < 1 || runs != math.Trunc(runs) {
		return &Error{r.Source, r.Line, errors.New("metadata.num_successful_runs does not say how many runs the figures are means of")}
	}
	for _, f := range single.Figures {
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
