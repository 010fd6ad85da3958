package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps/load"
)

// WriteVLLM writes runs in the shape of `vllm bench serve` 0.33, one object a line as with
// --append-result, so that programs made for those files read them. A run with records has
// the arrays of --save-detailed, as load.VLLMJSON writes them; of others the aggregates
// are written. Figures of other definitions than vLLM's are left out: under its keys they
// would be taken for vLLM's.
func WriteVLLM(w io.Writer, runs []Run) error {
	for i := range runs {
		line, err := vllmObject(&runs[i])
		if err != nil {
			return fmt.Errorf("export %s: %w", runs[i].At(), err)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("write export: %w", err)
		}
	}
	return nil
}

func vllmObject(r *Run) ([]byte, error) {
	if r.Records == nil {
		return json.Marshal(vllmAggregates(r))
	}
	opt := load.VLLMOptions{
		Detailed: true, Backend: r.Params["backend"], EndpointType: r.Params["endpoint_type"],
		Date: r.Params["date"], Label: r.Params["label"], ModelID: r.Params["model"],
		Metrics: []string{"ttft", "tpot", "itl", "e2el", "client_queue_time", "e2el_including_client_queue"},
	}
	opt.MaxConcurrency, _ = strconv.Atoi(r.Params["max_concurrency"])
	opt.RequestRate, _ = strconv.ParseFloat(r.Params["request_rate"], 64)
	opt.Burstiness, _ = strconv.ParseFloat(r.Params["burstiness"], 64)
	indented, err := load.VLLMJSON(*r.Records, opt)
	if err != nil {
		return nil, err
	}
	if rate, ok := r.Metrics["goodput.rate"]; ok { // the requests do not tell the limits that were given
		return withGoodput(indented, rate)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, indented); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func withGoodput(object []byte, rate float64) ([]byte, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &fields); err != nil {
		return nil, err
	}
	fields["request_goodput"] = json.RawMessage(number(rate))
	return json.Marshal(fields)
}

// vllmKeys are vLLM's keys of single figures by our ids.
var vllmKeys = map[string]string{
	"request_throughput.mean": "request_throughput", "output_throughput.mean": "output_throughput",
	"total_throughput.mean": "total_token_throughput", "goodput.rate": "request_goodput",
	"output_throughput.peak_second": "max_output_tokens_per_s", "concurrency.peak_second": "max_concurrent_requests",
	"spec_decode.acceptance_length": "spec_decode_acceptance_length", "spec_decode.drafts": "spec_decode_num_drafts",
	"spec_decode.draft_tokens": "spec_decode_draft_tokens", "spec_decode.accepted_tokens": "spec_decode_accepted_tokens", "rtfx.mean": "rtfx",
}

// vllmGroups are vLLM's names of the groups of times.
var vllmGroups = map[string]string{
	"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2el",
	"queue": "client_queue_time", "e2el_from_schedule": "e2el_including_client_queue",
	"probe_e2el": "probe_e2el", "token_latency": "token_latency", // the last of a fork
}

func vllmAggregates(r *Run) map[string]any {
	m := map[string]any{}
	for key, value := range r.Params {
		m[key] = value
	}
	for ours, theirs := range map[string]string{"model": "model_id", "tokenizer": "tokenizer_id"} {
		if v, ok := r.Params[ours]; ok {
			delete(m, ours)
			m[theirs] = v
		}
	}
	for _, key := range []string{"request_rate", "burstiness", "max_concurrency", "num_prompts"} {
		if v := r.Params[key]; isNumber(v) {
			m[key] = json.Number(v)
		}
	}
	for _, c := range r.told() {
		m[c.vllm] = c.value
	}
	for id, v := range r.Metrics {
		if key, ok := vllmKeys[id]; ok {
			m[key] = v
			continue
		}
		if id == "spec_decode.acceptance_rate" {
			m["spec_decode_acceptance_rate"] = json.Number(shifted(v, 2)) // in percent
			continue
		}
		group, stat, _ := strings.Cut(id, ".")
		if name, ok := vllmGroups[group]; ok {
			if stat == "p50" {
				stat = "median"
			}
			m[stat+"_"+name+"_ms"] = json.Number(shifted(v, 3))
		}
	}
	return m
}

// shifted is v times ten to the power of shift as text, without rounding: the digits stay,
// the exponent moves. Reading it with the opposite shift gives v.
func shifted(v float64, shift int) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	e, err := strconv.Atoi(exponent)
	if err != nil {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return mantissa + "e" + strconv.Itoa(e+shift)
}

// counted is what a result tells of what was done, under the names that exports give it.
type counted struct {
	vllm, csv, own string
	value          any
}

// told lists what a result tells. What its source did not say is not there: a zero would be a
// figure.
func (r *Run) told() []counted {
	c := r.Counts
	all := []struct {
		counted
		told bool
	}{
		{counted{"completed", "successful_requests", "succeeded", c.Succeeded}, c.Succeeded > 0 || c.FailedKnown},
		{counted{"failed", "failed_requests", "failed", c.Failed}, c.FailedKnown},
		{counted{"total_input_tokens", "total_input_tokens", "input_tokens", c.InputTokens}, c.InputTokens > 0},
		{counted{"total_output_tokens", "total_generated_tokens", "output_tokens", c.OutputTokens}, c.OutputTokens > 0},
		{counted{"duration", "benchmark_duration_s", "duration_s", json.Number(number(r.Duration))}, r.Duration > 0},
	}
	var out []counted
	for _, x := range all {
		if x.told {
			out = append(out, x.counted)
		}
	}
	return out
}

// csvCounts are the columns of the counts in our CSV.
var csvCounts = []string{"successful_requests", "failed_requests", "total_input_tokens", "total_generated_tokens", "benchmark_duration_s"}

// WriteCSV writes runs as a table, one a row: where each was found, its parameters (columns
// that begin with arg_), its counts and its metrics by id, in stored units. Read reads it
// again without loss, but for what a table does not hold: records, engine lines, audit
// and warnings.
func WriteCSV(w io.Writer, runs []Run) error {
	params, ids := map[string]bool{}, map[string]bool{}
	for i := range runs {
		for key := range runs[i].Params {
			params[key] = true
		}
		for id := range runs[i].Metrics {
			ids[id] = true
		}
	}
	keys, metrics := slices.Sorted(maps.Keys(params)), inRegistryOrder(ids)
	header := []string{"source", "line", "tool"}
	for _, key := range keys {
		header = append(header, "arg_"+key)
	}
	header = slices.Concat(header, csvCounts, metrics)
	return writeRows(w, header, func(row func([]string)) error {
		for i := range runs {
			row(csvRow(&runs[i], keys, metrics))
		}
		return nil
	})
}

func csvRow(r *Run, keys, metrics []string) []string {
	row := []string{r.Source, strconv.Itoa(r.Line), r.Tool}
	for _, key := range keys {
		row = append(row, r.Params[key])
	}
	told := map[string]string{}
	for _, c := range r.told() {
		told[c.csv] = fmt.Sprint(c.value)
	}
	for _, column := range csvCounts {
		row = append(row, told[column])
	}
	for _, id := range metrics {
		cell := ""
		if v, ok := r.Metrics[id]; ok {
			cell = number(v)
		}
		row = append(row, cell)
	}
	return row
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
