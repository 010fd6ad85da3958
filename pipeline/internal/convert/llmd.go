package convert

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/gates/foreign"
	"github.com/servegate/pipeline/internal/lazyregexp"
)

// isLLMD reports whether an object is a Benchmark Report of llm-d, which holds results of any tool.
func isLLMD(o *value) bool {
	return o.has("results/request_performance run") || o.has("metrics/latency scenario version")
}

// llmdTool returns our name of a tool, by the name of llm-d.
func (t Tools) llmdTool(name string) string {
	for _, row := range t {
		if row.Name == name || slices.Contains(row.Aliases, name) {
			return row.Name
		}
	}
	if name == "unknown" {
		return ""
	}
	return slug(name) // of unknown definitions, so not vLLM's
}

// readLLMD reads a Benchmark Report of llm-d: one run.
func (r *Run) readLLMD(root *value) error {
	switch version := root.at("version").str(); {
	case strings.HasPrefix(version, "0.1") && root.has("metrics/latency"):
		return r.readLLMD01(root)
	case !strings.HasPrefix(version, "0.2"):
		return &Error{r.Source, r.Line, fmt.Errorf("a Benchmark Report of version %s: only 0.2 is read, and 0.1 with its metrics", clip(version))}
	}
	r.Tool = r.table().llmdTool(root.at("scenario/load/standardized/tool").str())
	if own := root.at("results/observability/" + llmdOwn); own != nil {
		return r.takeOwn(own)
	}
	r.fields(root.at("scenario/load/native/args"), "", maxParams)
	for _, p := range []struct{ Path, Name string }{
		{"rate_qps", "request_rate"}, {"concurrency", "max_concurrency"}, {"input_seq_len/value", "input_len"},
		{"output_seq_len/value", "output_len"},
	} {
		r.setParam(p.Name, root.at("scenario/load/standardized/"+p.Path).str())
	}
	if r.Tool == "" {
		r.seriousf("the report does not say which tool measured it: figures are taken as vLLM defines them")
	}
	e, err := llmdEntries(root, r)
	if err != nil {
		return err
	}
	return r.fill(e.entries)
}

// llmdEntries returns the figures of a report under the labels of figureOf.
func llmdEntries(root *value, r *Run) (entryList, error) {
	var e entryList
	aggregate := root.at("results/request_performance/aggregate")
	if err := llmdRequests(&e, aggregate.at("requests"), r); err != nil {
		return e, err
	}
	if err := llmdTimes(&e, aggregate, r); err != nil {
		return e, err
	}
	for _, group := range slices.Sorted(maps.Keys(llmdThroughputs)) {
		e.add(strings.ReplaceAll(group, "_", " "), aggregate.at("throughput/"+llmdThroughputs[group].name+"/mean"))
	}
	if text := root.at("run/time/duration").str(); text != "" {
		seconds, err := isoSeconds(text)
		if err != nil {
			return e, &Error{r.Source, root.line, err}
		}
		r.Duration = seconds
	}
	return e, nil
}

// readLLMD01 reads version 0.1, in which rates are single numbers and durations are in seconds.
func (r *Run) readLLMD01(root *value) error {
	load := root.at("scenario/load")
	r.Tool = r.table().llmdTool(cmp.Or(load.at("name").str(), "unknown"))
	if r.Tool == "" {
		r.seriousf("the report does not say which tool measured it: figures are taken as vLLM defines them")
	}
	r.fields(load.at("args"), "", maxParams)
	if model := root.at("scenario/model/name").str(); model != "unknown" {
		r.setParam("model", model)
	}
	r.setParam("model", load.at("args/server/model_name").str())
	r.setParam("tokenizer", load.at("args/tokenizer/pretrained_model_name_or_path").str())
	kind := load.at("args/data/type").str()
	r.setParam("dataset_name", kind)
	if kind != "" {
		r.fields(load.at("args/data/"+kind), "", maxParams)
	}
	r.setParam("arrival", load.at("args/load/type").str())
	if stages := load.at("args/load/stages"); stages.is('[') {
		if n, err := parseCount(load.at("metadata/stage").str()); err == nil && n < int64(len(stages.items)) {
			r.setParam("request_rate", stages.items[n].at("rate").str())
			r.setParam("max_concurrency", stages.items[n].at("concurrency_level").str())
		}
	}
	var e entryList
	metrics := root.at("metrics")
	if err := llmdRequests(&e, metrics.at("requests"), r); err != nil {
		return err
	}
	if err := llmdTimes(&e, metrics, r); err != nil {
		return err
	}
	for _, f := range []struct{ Path, Name string }{
		{"throughput/requests_per_sec", "request throughput"}, {"throughput/input_tokens_per_sec", "input throughput"},
		{"throughput/output_tokens_per_sec", "output throughput"}, {"throughput/total_tokens_per_sec", "total throughput"},
		{"time/duration", "duration"},
	} {
		e.add(f.Name, metrics.at(f.Path))
	}
	return r.fill(e.entries)
}

// llmdTimes adds the distributions of times.
func llmdTimes(e *entryList, aggregate *value, r *Run) error {
	stats := map[string]string{}
	for ours, theirs := range llmdStats {
		stats[theirs] = ours
	}
	for _, group := range slices.Sorted(maps.Keys(llmdLatencies)) {
		l := llmdLatencies[group]
		v := aggregate.at("latency/" + l.name)
		if v == nil || group == "token_latency" { // the same field as ntpot
			continue
		}
		unit, _, _ := strings.Cut(v.at("units").str(), "/")
		if _, ok := timeShift[unit]; !ok {
			return &Error{r.Source, v.line, fmt.Errorf("%s has the units %s, which are not of time", l.name, clip(v.at("units").str()))}
		}
		if err := e.times(v, foreign.Times{Path: l.name, Name: l.label, Unit: unit}, stats, r.Source); err != nil {
			return err
		}
	}
	return nil
}

// llmdRequests adds the successful and failed requests.
func llmdRequests(e *entryList, requests *value, r *Run) error {
	if requests == nil || requests.is('n') {
		return nil
	}
	if !requests.is('{') {
		return &Error{r.Source, requests.line, errors.New("requests is not an object: it has total, failures and incomplete")}
	}
	total, known, err := r.countIn(requests, "total")
	failures, reported, failuresErr := r.countIn(requests, "failures")
	incomplete, _, incompleteErr := r.countIn(requests, "incomplete")
	if err := cmp.Or(err, failuresErr, incompleteErr); err != nil || !known {
		return err
	}
	if failures+incomplete > total {
		return &Error{r.Source, requests.line, fmt.Errorf("%d of %d requests failed and %d are incomplete", failures, total, incomplete)}
	}
	e.text("completed", fmt.Sprint(total-failures-incomplete), requests.line)
	e.add("mean input tokens", requests.at("input_length/mean"))
	e.add("mean output tokens", requests.at("output_length/mean"))
	if reported {
		e.text("failed", fmt.Sprint(failures), requests.line)
	}
	if incomplete > 0 {
		r.audit("incomplete_requests", float64(incomplete))
	}
	return nil
}

// countIn reads a count of an object; reported is false if it is absent.
func (r *Run) countIn(n *value, key string) (count int64, reported bool, err error) {
	c := n.at(key)
	if c == nil || c.is('n') {
		return 0, false, nil
	}
	if count, err = parseCount(c.str()); err != nil {
		return 0, false, &Error{r.Source, c.line, fmt.Errorf("%s: %w", key, err)}
	}
	return count, true, nil
}

// takeOwn reads the figures that WriteLLMD added to the report.
func (r *Run) takeOwn(own *value) error {
	r.Tool = own.at("tool").str()
	r.fields(own.at("parameters"), "", maxParams)
	metrics := own.at("metrics")
	if !metrics.is('{') {
		return &Error{r.Source, own.line, errors.New("metrics are missing among our own figures")}
	}
	for i, id := range metrics.keys {
		if !isID(id) {
			return &Error{r.Source, metrics.items[i].line, fmt.Errorf("%s is not the ID of a metric", clip(id))}
		}
		if err := r.setID(id, metrics.items[i].str(), metrics.items[i].line); err != nil {
			return err
		}
	}
	if definitions := own.at("definitions"); definitions.is('{') {
		for i, id := range definitions.keys {
			if _, ok := r.Definitions[id]; ok {
				put(&r.Definitions, id, definitions.items[i].str())
			}
		}
	}
	var e entryList
	e.add("completed", own.at("succeeded"))
	e.add("failed", own.at("failed"))
	e.add("total input tokens", own.at("input_tokens"))
	e.add("total output tokens", own.at("output_tokens"))
	e.add("duration", own.at("duration_s"))
	if err := r.fill(e.entries); err != nil {
		return err
	}
	sent, reported, err := r.countIn(own, "sent")
	if err != nil || !reported {
		return err
	}
	if sent < int64(r.Counts.Succeeded+r.Counts.Failed) || sent >= 1<<31 {
		return &Error{r.Source, own.at("sent").line, fmt.Errorf("sent: %d requests, of which %d succeeded and %d failed", sent,
			r.Counts.Succeeded, r.Counts.Failed)}
	}
	r.Counts.Sent = int(sent)
	return nil
}

var isoDuration = lazyregexp.New(`^PT(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d+(?:\.\d+)?)S)?$`)

// isoSeconds parses a duration of ISO 8601, PT1H2M3.5S.
func isoSeconds(text string) (float64, error) {
	m := isoDuration.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("duration: %s is not one of ISO 8601, such as PT90S", clip(text))
	}
	total := 0.0
	for i, unit := range []float64{3600, 60, 1} {
		if v, err := strconv.ParseFloat(m[i+1], 64); err == nil {
			total += v * unit
		}
	}
	return total, nil
}

// WriteLLMD writes runs as Benchmark Reports of llm-d, version 0.2, in JSON, which is also YAML.
// Several runs are reports on JSON lines. The fields of a report have one name for the figures of
// all tools and no definition, so figures of all definitions are written, with the tool. Other
// figures go to the observations, whose schema is open, so that Read reads the run again without
// loss.
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

// ownFigures returns all figures under our names, and other values without a field in a report.
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
	for _, c := range r.counted() {
		if c.value != nil {
			own[c.own] = c.value
		}
	}
	if r.Counts.Sent > 0 {
		own["sent"] = r.Counts.Sent
	}
	return own
}

// llmdRun identifies the run by its source and its figures, so that the same result always has the
// same uid.
func llmdRun(r *Run) map[string]any {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%v\n%v", r.At(), r.Counts, r.Metrics)) // maps print in sorted order
	run := map[string]any{"uid": hex.EncodeToString(sum[:16]), "description": r.At()}
	if r.Duration > 0 {
		run["time"] = map[string]any{"duration": "PT" + strconv.FormatFloat(r.Duration, 'f', -1, 64) + "S"}
	}
	return run
}

// llmdScenario describes the load, if the input length is known: a report requires it.
func llmdScenario(r *Run) map[string]any {
	in, ok := r.numberParam("input_len")
	if !ok {
		return nil
	}
	length := func(v float64) map[string]any { return map[string]any{"distribution": "other", "value": v} }
	standardized := map[string]any{
		"tool": cmp.Or(r.Tool, "unknown"), "tool_version": "unknown", "source": "unknown", "input_seq_len": length(in),
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

func (r *Run) numberParam(key string) (float64, bool) {
	text, _ := r.Param(key)
	v, err := parseNumber(text, 0)
	return v, err == nil
}

// llmdLatencies are the names and units of groups of times in a report.
var llmdLatencies = map[string]struct{ name, unit, label string }{
	"ttft": {"time_to_first_token", "s", "ttft"}, "tpot": {"time_per_output_token", "s/token", "tpot"},
	"itl": {"inter_token_latency", "s/token", "itl"}, "e2el": {"request_latency", "s", "e2e latency"},
	"token_latency": {"normalized_time_per_output_token", "s/token", ""}, "ntpot": {"normalized_time_per_output_token", "s/token", "ntpot"},
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
			continue // a report has no statistics without it
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

// preferred reports whether to write this definition of a quantity: the registry's, if a result has
// two.
func (r *Run) preferred(group, quantity string) bool {
	_, own := r.Metrics[quantity+".mean"]
	return group == quantity || !own
}

// llmdStats are the names of statistics in a report.
var llmdStats = map[string]string{
	"mean": "mean", "std": "stddev", "min": "min", "max": "max", "p0.1": "p0p1", "p1": "p1", "p5": "p5", "p10": "p10",
	"p25": "p25", "p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p99.9": "p99p9",
}

// byGroup groups the metrics, with the statistics that a report has.
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
