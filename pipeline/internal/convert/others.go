package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// convertGuidellm reads guidellm's benchmarks.json (version 2): one run for each
// benchmark of the file. Statistics are those of the successful requests.
func convertGuidellm(root *node, base Run) ([]Run, error) {
	var runs []Run
	list := root.get("benchmarks")
	if list == nil || list.kind != '[' {
		return nil, &Error{base.Source, base.Line, fmt.Errorf("benchmarks is not a list")}
	}
	for _, b := range list.items {
		r := base
		r.Line, r.Format, r.Tool = b.line, FormatGuidellm, toolGuidellm
		r.fields(b.get("config"), "")
		r.setParam("start_time", b.get("start_time").str())
		r.fields(b.get("config", "strategy"), "strategy_")
		r.setParam("model", b.get("config", "backend", "model").str())
		r.setParam("request_rate", b.get("config", "strategy", "rate").str())
		r.setParam("max_concurrency", b.get("config", "strategy", "streams").str())
		r.setParam("endpoint_type", b.get("config", "backend", "request_format").str())
		r.setParam("num_prompts", b.get("config", "constraints", "max_requests", "args", "count").str())
		if data := root.get("config", "spec", "data").first(); data != nil {
			r.setParam("input_len", data.get("prompt_tokens").str())
			r.setParam("output_len", data.get("output_tokens").str())
		}
		m := b.get("metrics")
		if m == nil {
			return nil, &Error{base.Source, b.line, fmt.Errorf("a benchmark without metrics: is this a file of guidellm's version 2?")}
		}
		var e entryList
		e.add("completed", m.get("request_totals", "successful"))
		if failed, ok := m.get("request_totals", "errored").number(); ok {
			incomplete, _ := m.get("request_totals", "incomplete").number()
			r.audit("incomplete_requests", incomplete)
			e.text("failed", fmt.Sprint(failed), b.line)
		}
		e.add("duration", b.get("duration"))
		for _, g := range []struct{ key, label, unit string }{
			{"time_to_first_token_ms", "ttft", "ms"}, {"time_per_output_token_ms", "tpot", "ms"},
			{"inter_token_latency_ms", "itl", "ms"}, {"request_latency", "e2e latency", "s"},
		} {
			e.statistics(m.get(g.key, "successful"), g.label, g.unit, guidellmStats)
		}
		e.add("request throughput", m.get("requests_per_second", "successful", "mean"))
		e.add("output throughput", m.get("output_tokens_per_second", "successful", "mean"))
		e.add("total throughput", m.get("tokens_per_second", "successful", "mean"))
		e.add("concurrency", m.get("request_concurrency", "successful", "mean"))
		e.add("total input tokens", m.get("prompt_token_count", "successful", "total_sum"))
		e.add("total output tokens", m.get("output_token_count", "successful", "total_sum"))
		if err := r.fill(e.entries); err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// guidellmStats are the keys of a distribution. Its p01 is the first percentile and its
// p001 a tenth of that.
var guidellmStats = map[string]string{
	"mean": "mean", "median": "p50", "std_dev": "std", "min": "min", "max": "max",
	"percentiles.p75": "p75", "percentiles.p90": "p90", "percentiles.p95": "p95", "percentiles.p99": "p99", "percentiles.p999": "p99.9",
}

// aiperfTimes are the tags that have statistics over requests.
var aiperfTimes = []struct{ tag, label string }{
	{"time_to_first_token", "ttft"}, {"request_latency", "e2e latency"},
	{"inter_token_latency", "itl"}, {"inter_chunk_latency", "icl"},
}

// aiperfSums are the tags of a whole run; counts are whole numbers.
var aiperfSums = []struct {
	tag, label string
	count      bool
}{
	{"request_throughput", "request throughput", false}, {"input_token_throughput", "input throughput", false},
	{"output_token_throughput", "output throughput", false}, {"total_token_throughput", "total throughput", false},
	{"request_count", "completed", true}, {"error_request_count", "failed", true}, {"goodput", "request goodput", false},
	{"total_isl", "total input tokens", true}, {"total_osl", "total output tokens", true},
}

// convertAiperf reads aiperf's profile_export_aiperf.json: a tag with unit and statistics
// for each metric.
func convertAiperf(root *node, r Run) (Run, error) {
	r.Format, r.Tool = FormatAiperf, toolAiperf
	r.aiperfParams(root.get("input_config"))
	r.setParam("start_time", root.get("start_time").str())
	var e entryList
	for _, g := range aiperfTimes {
		tag := root.get(g.tag)
		if tag == nil {
			continue
		}
		unit := tag.get("unit").str()
		if _, ok := timeShift[unit]; !ok {
			return r, &Error{r.Source, tag.line, fmt.Errorf("%s has the unit %s, which is not one of time", g.tag, clip(unit))}
		}
		e.statistics(tag, g.label, unit, aiperfStats)
	}
	for _, g := range aiperfSums {
		e.add(g.label, root.get(g.tag, "avg"))
	}
	if failures, ok := root.get("error_summary").sum("count"); ok && root.get("error_request_count") == nil {
		e.text("failed", fmt.Sprint(failures), root.line) // a run without failures has no count of them
	}
	e.add("duration ("+root.get("benchmark_duration", "unit").str()+")", root.get("benchmark_duration", "avg"))
	if complete := root.get("is_complete").str(); complete == "false" || root.get("was_cancelled").str() == "true" {
		r.alarmf("the run did not end as planned: %s", clip(root.get("incomplete_reason").str()))
	}
	return r, r.fill(e.entries)
}

// aiperfParams reads the settings of a run: those of a load generator in older versions,
// the phase that is measured and its data set from 0.13 on.
func (r *Run) aiperfParams(config *node) {
	r.fields(config.get("loadgen"), "")
	r.fields(config.get("endpoint"), "endpoint_")
	r.setParam("model", config.get("models", "items").first().get("name").str())
	r.setParam("tokenizer", config.get("tokenizer", "name").str())
	data := config.get("datasets").first()
	r.setParam("dataset_name", data.get("type").str())
	r.setParam("input_len", data.get("prompts", "isl", "mean").str())
	r.setParam("output_len", data.get("prompts", "osl", "mean").str())
	if phases := config.get("phases"); phases != nil {
		for _, phase := range phases.items {
			if phase.get("kind").str() == "profiling" {
				r.setParam("arrival", phase.get("type").str())
				r.setParam("request_rate", phase.get("rate").str())
				r.setParam("max_concurrency", phase.get("concurrency").str())
				r.setParam("num_prompts", phase.get("requests").str())
			}
		}
	}
}

var aiperfStats = map[string]string{
	"avg": "mean", "p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "min": "min", "max": "max", "std": "std",
}

// convertInferencePerf reads inference-perf's summary_ or stage_N_lifecycle_metrics.json,
// in which all times are seconds.
func convertInferencePerf(root *node, r Run) (Run, error) {
	r.Format, r.Tool = FormatInferencePerf, toolInferencePerf
	r.fields(root.get("load_summary"), "")
	ok := root.get("successes")
	var e entryList
	e.add("completed", ok.get("count"))
	e.add("failed", root.get("failures", "count"))
	e.add("duration", root.get("benchmark_time_seconds"))
	for _, g := range []struct{ key, label string }{
		{"time_to_first_token", "ttft"}, {"time_per_output_token", "tpot"}, {"inter_token_latency", "itl"},
		{"request_latency", "e2e latency"}, {"normalized_time_per_output_token", "ntpot"},
	} {
		e.statistics(ok.get("latency", g.key), g.label, "s", inferencePerfStats)
	}
	t := ok.get("throughput")
	e.add("request throughput", t.get("requests_per_sec"))
	e.add("input throughput", t.get("input_tokens_per_sec"))
	e.add("output throughput", t.get("output_tokens_per_sec"))
	e.add("total throughput", t.get("total_tokens_per_sec"))
	if rate, ok := root.get("load_summary", "requested_rate").number(); ok {
		r.setParam("request_rate", fmt.Sprint(rate))
	}
	return r, r.fill(e.entries)
}

var inferencePerfStats = map[string]string{
	"mean": "mean", "median": "p50", "p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p99.9": "p99.9", "min": "min", "max": "max",
}

// convertHF reads the results of Hugging Face's inference-benchmarker: one run for each
// benchmark but the warm-up.
func convertHF(root *node, base Run) ([]Run, error) {
	list := root.get("results")
	if list == nil || list.kind != '[' {
		return nil, &Error{base.Source, base.Line, fmt.Errorf("results is not a list")}
	}
	var runs []Run
	for _, b := range list.items {
		if b.get("id").str() == "warmup" {
			continue
		}
		r := base
		r.Line, r.Format, r.Tool = b.line, FormatHF, toolHF
		r.fields(root.get("config"), "")
		r.fields(b.get("config"), "")
		r.setParam("id", b.get("id").str())
		r.setParam("executor", b.get("executor_type").str())
		var e entryList
		e.add("completed", b.get("successful_requests"))
		e.add("failed", b.get("failed_requests"))
		e.add("total input tokens", b.get("total_tokens_sent"))
		e.add("total output tokens", b.get("total_tokens"))
		e.add("request throughput", b.get("request_rate"))
		e.add("output throughput", b.get("token_throughput_secs"))
		for _, g := range []struct{ key, label string }{
			{"time_to_first_token_ms", "ttft"}, {"inter_token_latency_ms", "itl"}, {"e2e_latency_ms", "e2e latency"},
		} {
			e.statistics(b.get(g.key), g.label, "ms", hfStats)
		}
		if v, ok := b.get("duration_ms").number(); ok {
			r.Duration = v / 1000
		}
		if err := r.fill(e.entries); err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

var hfStats = map[string]string{
	"avg": "mean", "p50": "p50", "p60": "p60", "p70": "p70", "p80": "p80", "p90": "p90", "p95": "p95", "p99": "p99",
}

// fields keeps the scalars of an object as parameters.
func (r *Run) fields(n *node, prefix string) {
	if n == nil || n.kind != '{' {
		return
	}
	for i, key := range n.keys {
		if text := n.items[i].str(); text != "" {
			r.setParam(prefix+key, text)
		}
	}
}

// entryList collects figures of a JSON tree under the labels that figureOf knows.
type entryList struct{ entries []entry }

func (e *entryList) add(label string, n *node) {
	if n.str() != "" {
		e.text(label, n.str(), n.line)
	}
}

func (e *entryList) text(label, value string, line int) {
	e.entries = append(e.entries, entry{label, value, line})
}

// statistics adds the statistics of a distribution. Keys with a dot lead into an object,
// unless there is a key with the dot in it.
func (e *entryList) statistics(n *node, label, unit string, stats map[string]string) {
	if n == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(stats)) {
		stat, v := stats[key], n.get(key)
		if outer, inner, ok := strings.Cut(key, "."); v == nil && ok {
			v = n.get(outer, inner)
		}
		e.add(stat+" "+label+" ("+unit+")", v)
	}
}
