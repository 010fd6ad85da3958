package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
)

// isVLLM reports whether an object has vLLM's counts, with the duration or a rate, or else one of
// its figures.
func isVLLM(o *value) bool {
	if o.has("completed duration") || o.has("completed request_throughput") {
		return true
	}
	for i, key := range o.keys {
		label, text := unitInValue(key, o.items[i].str())
		f, ok := figureOf(label)
		if ok && isNumber(text) && (f.kind == latency && (f.shift != 0 || label != key) || f.kind == rate) {
			return true
		}
	}
	return false
}

// useRequests computes missing figures of the file from the requests, and checks the others.
func (r *Run) useRequests(q *requests, opt ReadOptions) error {
	switch {
	case q.large:
		r.warnf("more requests than are kept: the figures are the file's own")
		return nil
	case !q.detailed():
		return nil
	case r.Params["max_concurrency"] == "": // vLLM 0.33 always writes times in the queue
		q.queues = nil
	}
	rec, err := q.run(r.Duration)
	if err != nil {
		return err
	}
	timed, silent := len(q.starts) > 0, q.silent
	*q = requests{json: q.json} // the records have the arrays
	computed := record.Reduce(*rec)
	left := []string{"success."}
	if r.group("itl") != "itl" { // other gaps than those of the records
		left = append(left, "itl.")
	}
	if !timed { // it is unknown what ran at the same time
		left = append(left, "concurrency.peak", "concurrency.mean")
	}
	maps.DeleteFunc(computed, func(id string, _ float64) bool {
		return slices.ContainsFunc(left, func(prefix string) bool { return strings.HasPrefix(id, prefix) })
	})
	if silent > 0 {
		r.leaveOutZeros(silent)
	}
	if n := record.OnePiece(*rec); n > 0 {
		r.leaveOutPieces(n)
	}
	r.merge(computed)
	r.recount(rec)
	if opt.Records {
		r.Records = rec
	}
	return nil
}

// leaveOutZeros removes the file's own figures that count requests without a token as 0, so that
// what the client did not see makes nothing faster.
func (r *Run) leaveOutZeros(requests int) {
	r.seriousf("%d requests brought no text, which the tool counts as a time to the first token of 0: they are left out of TTFT, and its "+
		"own TTFT and TPOT are not used", requests)
	polluted := func(id string) bool {
		return strings.HasPrefix(id, "ttft.") || strings.HasPrefix(id, "tpot.") || strings.HasPrefix(id, "sglang_tpot.")
	}
	maps.DeleteFunc(r.Metrics, func(id string, _ float64) bool { return polluted(id) })
	maps.DeleteFunc(r.Definitions, func(id string, _ string) bool { return polluted(id) })
}

// leaveOutPieces removes the file's own times between tokens, which count requests with all tokens
// in one piece as 0. The times of the other requests replace them, unless too many requests are
// affected.
func (r *Run) leaveOutPieces(requests int) {
	r.audit(result.OnePiece, float64(requests))
	r.warnf("%d requests got their tokens in one piece, which the tool counts as a TPOT of 0: they are left out", requests)
	untimed := func(id string) bool {
		m, ok := metric.Lookup(id)
		return ok && m.BetweenTokens()
	}
	maps.DeleteFunc(r.Metrics, func(id string, _ float64) bool { return untimed(id) })
	maps.DeleteFunc(r.Definitions, func(id string, _ string) bool { return untimed(id) })
}

// merge stores computed values. A different value of the file goes to the audit with a warning,
// because the file contradicts itself.
func (r *Run) merge(computed map[string]float64) {
	for _, id := range slices.Sorted(maps.Keys(computed)) {
		own, had := r.Metrics[id]
		ours := computed[id]
		m, _ := metric.Lookup(id)
		switch {
		case !had:
			put(&r.Metrics, id, ours)
		case m.Unit == metric.Seconds && math.Abs(own-ours) > agreement(own):
			r.seriousf("%s is %.6g s by the requests and %.6g s by the file's own summary", id, ours, own)
			r.audit("summary_"+id, own)
			r.Metrics[id] = ours
			delete(r.steps, id)
		} // the file's own value has more digits than nanoseconds
	}
}

// agreement returns the tolerated difference of two values from the same requests: nanoseconds, and
// a little for another order of summation.
func agreement(v float64) float64 { return 5e-9 + 1e-7*math.Abs(v) }

// recount sets counts that the file does not report from the requests.
func (r *Run) recount(rec *record.Run) {
	t := record.Count(*rec)
	c := &r.Counts
	if !c.FailedKnown {
		c.Sent, c.Failed, c.FailedKnown = t.Requests, t.Failed, true
	}
	if t.Succeeded != c.Succeeded {
		r.seriousf("%d requests succeeded by their records and %d by the file's own summary", t.Succeeded, c.Succeeded)
	}
	r.audit("records", fmt.Sprintf("%d requests, %d token events", rec.Requests.Len(), rec.Audit.Events))
}

// WriteVLLM writes runs in the format of `vllm bench serve` 0.33, one object a line as with
// --append-result, so that programs for those files can read them. A run with records has the
// arrays of --save-detailed, as in load.VLLMJSON; others have aggregates. Figures with other
// definitions than vLLM's are omitted, because its keys would mislabel them.
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
	if rate, ok := r.Metrics["goodput.rate"]; ok { // the requests do not report the limits
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

// vllmKeys maps our ids to vLLM's keys of single figures.
var vllmKeys = map[string]string{
	"request_throughput.mean": "request_throughput", "output_throughput.mean": "output_throughput",
	"total_throughput.mean": "total_token_throughput", "goodput.rate": "request_goodput",
	"output_throughput.peak_second": "max_output_tokens_per_s", "concurrency.peak_second": "max_concurrent_requests",
	"spec_decode.acceptance_length": "spec_decode_acceptance_length", "spec_decode.drafts": "spec_decode_num_drafts",
	"spec_decode.draft_tokens": "spec_decode_draft_tokens", "spec_decode.accepted_tokens": "spec_decode_accepted_tokens", "rtfx.mean": "rtfx",
}

// vllmGroups maps our groups of times to vLLM's names.
var vllmGroups = map[string]string{
	"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2el",
	"queue": "client_queue_time", "e2el_from_schedule": "e2el_including_client_queue",
	"probe_e2el": "probe_e2el", "token_latency": "token_latency", // the last from a fork
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
	for _, c := range r.counted() {
		if c.value != nil {
			m[c.vllm] = c.value
		}
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

// shifted returns v times ten to the power of shift as text, without rounding: it changes only the
// exponent. Reading it with the opposite shift gives v.
func shifted(v float64, shift int) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	e, err := strconv.Atoi(exponent)
	if err != nil {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return mantissa + "e" + strconv.Itoa(e+shift)
}
