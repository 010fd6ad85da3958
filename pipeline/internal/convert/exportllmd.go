package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// WriteLLMD writes runs as Benchmark Reports of llm-d, version 0.2, in JSON, which is YAML too. A
// report is about one run: several are JSON lines, a report each. Its fields take every tool's
// figures under one name and leave the definition to the tool, so figures of all definitions are
// written, and the tool beside them. What it has no field for stands among the observations,
// which its schema leaves open, so that Read reads the run again without loss.
func WriteLLMD(w io.Writer, runs []Run) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if len(runs) == 1 {
		encoder.SetIndent("", "  ")
	}
	for i := range runs {
		if err := encoder.Encode(llmdReport(&runs[i])); err != nil {
			return fmt.Errorf("export %s: %w", runs[i].At(), err)
		}
	}
	return nil
}

func llmdReport(r *Run) map[string]any {
	report := map[string]any{
		"version": "0.2",
		"run":     llmdRun(r),
		"results": map[string]any{
			"request_performance": map[string]any{"aggregate": llmdAggregate(r)},
			"observability":       map[string]any{llmdOwn: ownFigures(r)},
		},
	}
	if scenario := llmdScenario(r); scenario != nil {
		report["scenario"] = scenario
	}
	return report
}

// llmdOwn is the name of our own figures in a report.
const llmdOwn = "pipeline"

// ownFigures are what a report has no field for, or under another name.
func ownFigures(r *Run) map[string]any {
	own := map[string]any{"metrics": r.Metrics}
	if r.Tool != "" {
		own["tool"] = r.Tool
	}
	if len(r.Params) > 0 {
		own["parameters"] = r.Params
	}
	if len(r.Definitions) > 0 {
		own["definitions"] = r.Definitions
	}
	for _, c := range r.told() {
		own[c.own] = c.value
	}
	if r.Counts.Sent > 0 {
		own["sent"] = r.Counts.Sent
	}
	return own
}

// llmdRun names the run by where it was found and what it measured, so that the same
// result has the same name again.
func llmdRun(r *Run) map[string]any {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%v\n%v", r.At(), r.Counts, r.Metrics)) // maps print sorted
	run := map[string]any{"uid": hex.EncodeToString(sum[:16]), "description": r.At()}
	if r.Duration > 0 {
		run["time"] = map[string]any{"duration": "PT" + strconv.FormatFloat(r.Duration, 'f', -1, 64) + "S"}
	}
	return run
}

// llmdScenario describes the load; the report wants the length of the input for that.
func llmdScenario(r *Run) map[string]any {
	in, ok := r.numberParam("input_len")
	if !ok {
		return nil
	}
	length := func(v float64) map[string]any { return map[string]any{"distribution": "other", "value": v} }
	standardized := map[string]any{
		"tool": toolName(r.Tool), "tool_version": "unknown", "source": "unknown", "input_seq_len": length(in),
	}
	if out, ok := r.numberParam("output_len"); ok {
		standardized["output_seq_len"] = length(out)
	}
	if rate, ok := r.numberParam("request_rate"); ok {
		standardized["rate_qps"] = rate
	}
	if n, ok := r.numberParam("max_concurrency"); ok {
		standardized["concurrency"] = n
	}
	return map[string]any{"load": map[string]any{
		"metadata": map[string]any{}, "standardized": standardized, "native": map[string]any{"args": r.Params},
	}}
}

func toolName(tool string) string {
	if tool == "" {
		return "unknown"
	}
	return tool
}

func (r *Run) numberParam(key string) (float64, bool) {
	text, _ := r.Param(key)
	v, err := parseNumber(text, 0)
	return v, err == nil
}

// llmdLatencies are the report's names of groups of times, and its units.
var llmdLatencies = map[string]struct{ name, unit string }{
	"ttft": {"time_to_first_token", "s"}, "tpot": {"time_per_output_token", "s/token"},
	"itl": {"inter_token_latency", "s/token"}, "e2el": {"request_latency", "s"},
	"token_latency": {"normalized_time_per_output_token", "s/token"}, "ntpot": {"normalized_time_per_output_token", "s/token"},
}

var llmdThroughputs = map[string]struct{ name, unit string }{
	"request_throughput": {"request_rate", "queries/s"}, "input_throughput": {"input_token_rate", "tokens/s"},
	"output_throughput": {"output_token_rate", "tokens/s"}, "total_throughput": {"total_token_rate", "tokens/s"},
}

func llmdAggregate(r *Run) map[string]any {
	latency, throughput := map[string]any{}, map[string]any{}
	groups := r.byGroup()
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		stats := groups[group]
		if stats["mean"] == nil {
			continue // the report has no statistics without it
		}
		quantity := quantityOf(group)
		if l, ok := llmdLatencies[quantity]; ok && r.preferred(group, quantity) {
			stats["units"] = l.unit
			latency[l.name] = stats
		}
		if t, ok := llmdThroughputs[quantity]; ok {
			throughput[t.name] = map[string]any{"units": t.unit, "mean": stats["mean"]}
		}
	}
	aggregate := map[string]any{"latency": latency, "throughput": throughput}
	requests := map[string]any{}
	if n := max(r.Counts.Sent, r.Counts.Succeeded); n > 0 {
		requests["total"] = n
	}
	if r.Counts.FailedKnown {
		requests["failures"] = r.Counts.Failed
	}
	if len(requests) > 0 {
		aggregate["requests"] = requests
	}
	return aggregate
}

// preferred settles which of two definitions of a quantity is written: the registry's own.
func (r *Run) preferred(group, quantity string) bool {
	_, own := r.Metrics[quantity+".mean"]
	return group == quantity || !own
}

// llmdStats are the report's names of statistics.
var llmdStats = map[string]string{
	"mean": "mean", "std": "stddev", "min": "min", "max": "max", "p0.1": "p0p1", "p1": "p1", "p5": "p5", "p10": "p10",
	"p25": "p25", "p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p99.9": "p99p9",
}

// byGroup sorts the metrics into groups, with the statistics that the report knows.
func (r *Run) byGroup() map[string]map[string]any {
	groups := map[string]map[string]any{}
	for id, v := range r.Metrics {
		group, stat, _ := strings.Cut(id, ".")
		name, ok := llmdStats[stat]
		if !ok {
			continue
		}
		if groups[group] == nil {
			groups[group] = map[string]any{}
		}
		groups[group][name] = v
	}
	return groups
}
