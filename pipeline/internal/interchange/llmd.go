package interchange

import (
	"errors"
	"fmt"
	"regexp"
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
	r.Tool = llmdTools[load.get("standardized", "tool").str()]
	if own := root.get("results", "observability", llmdOwn); own != nil {
		return r, r.takeOwn(own)
	}
	r.fields(load.get("native", "args"), "")
	for param, path := range map[string][]string{
		"request_rate": {"rate_qps"}, "max_concurrency": {"concurrency"}, "input_len": {"input_seq_len", "value"}, "output_len": {"output_seq_len", "value"},
	} {
		r.setParam(param, load.get("standardized").get(path...).str())
	}
	if r.Tool == "" {
		r.warnf("the report does not say which tool measured it: figures are taken as vLLM defines them")
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
	requests := aggregate.get("requests")
	if total, ok := requests.get("total").number(); ok {
		failures, told := requests.get("failures").number()
		incomplete, _ := requests.get("incomplete").number()
		e.text("completed", fmt.Sprint(int64(total-failures-incomplete)), requests.line)
		if told {
			e.text("failed", fmt.Sprint(int64(failures)), requests.line)
		}
		if incomplete > 0 {
			r.audit("incomplete_requests", incomplete)
		}
	}
	stats := map[string]string{}
	for ours, theirs := range llmdStats {
		stats[theirs] = ours
	}
	for group, l := range llmdLatencies {
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
	for group, t := range llmdThroughputs {
		e.add(strings.ReplaceAll(group, "_", " "), aggregate.get("throughput", t.name, "mean"))
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
	var e entryList
	e.add("completed", own.get("succeeded"))
	e.add("failed", own.get("failed"))
	e.add("total input tokens", own.get("input_tokens"))
	e.add("total output tokens", own.get("output_tokens"))
	e.add("duration", own.get("duration_s"))
	if err := r.fill(e.entries); err != nil {
		return err
	}
	if sent, err := parseCount(own.get("sent").str()); err == nil && sent >= int64(r.Counts.Succeeded) && sent < 1<<31 {
		r.Counts.Sent = int(sent)
	}
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
