package convert

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// llmdTools are the tools by the names that llm-d gives them. InferenceMAX's client is a
// copy of vLLM's.
var llmdTools = map[string]string{
	"vllm-benchmark": toolVLLM, "vllm": toolVLLM, "inferencemax": toolVLLM, "sglang": toolSGLang, "guidellm": toolGuidellm,
	"aiperf": toolAiperf, "inference-perf": toolInferencePerf, "inference-benchmarker": toolHF, "pipeline": toolPipeline,
}

// convertLLMD reads a Benchmark Report of llm-d, version 0.2: one run.
func convertLLMD(root *node, r Run) (Run, error) {
	r.Format = FormatLLMD
	if version := root.get("version").str(); !strings.HasPrefix(version, "0.2") {
		return r, &Error{r.Source, r.Line, fmt.Errorf("a Benchmark Report of version %s: only 0.2 is read", clip(version))}
	}
	load := root.get("scenario", "load")
	name := load.get("standardized", "tool").str()
	r.Tool = llmdTools[name]
	if r.Tool == "" && name != "" && name != "unknown" {
		r.Tool = slug(name) // whose definitions are not known, and so not vLLM's
	}
	if own := root.get("results", "observability", llmdOwn); own != nil {
		return r, r.takeOwn(own)
	}
	r.fields(load.get("native", "args"), "")
	standardized := load.get("standardized")
	r.setParam("request_rate", standardized.get("rate_qps").str())
	r.setParam("max_concurrency", standardized.get("concurrency").str())
	r.setParam("input_len", standardized.get("input_seq_len", "value").str())
	r.setParam("output_len", standardized.get("output_seq_len", "value").str())
	if r.Tool == "" {
		r.alarmf("the report does not say which tool measured it: figures are taken as vLLM defines them")
	}
	e, err := llmdEntries(root, &r)
	if err != nil {
		return r, err
	}
	return r, r.fill(e.entries)
}

// llmdEntries are the figures of a report under the labels that figureOf knows.
func llmdEntries(root *node, r *Run) (entryList, error) {
	var e entryList
	aggregate := root.get("results", "request_performance", "aggregate")
	if err := llmdRequests(&e, aggregate.get("requests"), r); err != nil {
		return e, err
	}
	stats := map[string]string{}
	for ours, theirs := range llmdStats {
		stats[theirs] = ours
	}
	for _, group := range slices.Sorted(maps.Keys(llmdLatencies)) {
		l := llmdLatencies[group]
		n := aggregate.get("latency", l.name)
		if n == nil || group == "token_latency" { // the same field as ntpot
			continue
		}
		unit, _, _ := strings.Cut(n.get("units").str(), "/")
		if _, ok := timeShift[unit]; !ok {
			return e, &Error{r.Source, n.line, fmt.Errorf("%s has the units %s, which are not of time", l.name, clip(n.get("units").str()))}
		}
		e.statistics(n, labelOf(group), unit, stats)
	}
	for _, group := range slices.Sorted(maps.Keys(llmdThroughputs)) {
		e.add(strings.ReplaceAll(group, "_", " "), aggregate.get("throughput", llmdThroughputs[group].name, "mean"))
	}
	if text := root.get("run", "time", "duration").str(); text != "" {
		seconds, err := isoSeconds(text)
		if err != nil {
			return e, &Error{r.Source, root.line, err}
		}
		r.Duration = seconds
	}
	return e, nil
}

// llmdRequests adds how many requests succeeded and failed.
func llmdRequests(e *entryList, requests *node, r *Run) error {
	if requests == nil || requests.isNull() {
		return nil
	}
	if requests.kind != '{' {
		return &Error{r.Source, requests.line, errors.New("requests is not an object: it has total, failures and incomplete")}
	}
	total, known, err := r.countIn(requests, "total")
	failures, told, failuresErr := r.countIn(requests, "failures")
	incomplete, _, incompleteErr := r.countIn(requests, "incomplete")
	if err := cmp.Or(err, failuresErr, incompleteErr); err != nil || !known {
		return err
	}
	if failures+incomplete > total {
		return &Error{r.Source, requests.line, fmt.Errorf("%d of %d requests failed and %d are incomplete", failures, total, incomplete)}
	}
	e.text("completed", fmt.Sprint(total-failures-incomplete), requests.line)
	if told {
		e.text("failed", fmt.Sprint(failures), requests.line)
	}
	if incomplete > 0 {
		r.audit("incomplete_requests", float64(incomplete))
	}
	return nil
}

// countIn reads a count of an object; told is false where it is not there.
func (r *Run) countIn(n *node, key string) (count int64, told bool, err error) {
	c := n.get(key)
	if c == nil || c.isNull() {
		return 0, false, nil
	}
	if count, err = parseCount(c.str()); err != nil {
		return 0, false, &Error{r.Source, c.line, fmt.Errorf("%s: %w", key, err)}
	}
	return count, true, nil
}

// labelOf is a label of a group of times that figureOf understands.
func labelOf(group string) string {
	if group == "e2el" {
		return "e2e latency"
	}
	return group
}

// takeOwn reads the figures that WriteLLMD put beside those of the report.
func (r *Run) takeOwn(own *node) error {
	r.Tool = own.get("tool").str()
	r.fields(own.get("parameters"), "")
	metrics := own.get("metrics")
	if metrics == nil || metrics.kind != '{' {
		return &Error{r.Source, own.line, errors.New("metrics are missing among our own figures")}
	}
	for i, id := range metrics.keys {
		if !isID(id) {
			return &Error{r.Source, metrics.items[i].line, fmt.Errorf("%s is no id of a metric", clip(id))}
		}
		if err := r.setID(id, metrics.items[i].str(), metrics.items[i].line); err != nil {
			return err
		}
	}
	if definitions := own.get("definitions"); definitions != nil && definitions.kind == '{' {
		for i, id := range definitions.keys {
			if _, ok := r.Definitions[id]; ok {
				r.define(id, definitions.items[i].str())
			}
		}
	}
	var e entryList
	e.add("completed", own.get("succeeded"))
	e.add("failed", own.get("failed"))
	e.add("total input tokens", own.get("input_tokens"))
	e.add("total output tokens", own.get("output_tokens"))
	e.add("duration", own.get("duration_s"))
	if err := r.fill(e.entries); err != nil {
		return err
	}
	sent, told, err := r.countIn(own, "sent")
	if err != nil || !told {
		return err
	}
	if sent < int64(r.Counts.Succeeded+r.Counts.Failed) || sent >= 1<<31 {
		return &Error{r.Source, own.get("sent").line, fmt.Errorf("sent: %d requests, of which %d succeeded and %d failed", sent, r.Counts.Succeeded, r.Counts.Failed)}
	}
	r.Counts.Sent = int(sent)
	return nil
}

var isoDuration = regexp.MustCompile(`^PT(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d+(?:\.\d+)?)S)?$`)

// isoSeconds reads a duration of ISO 8601, PT1H2M3.5S.
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
