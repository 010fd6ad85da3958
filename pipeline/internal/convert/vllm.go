package convert

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps/record"
)

// convertVLLM reads the object that `vllm bench serve --save-result` writes, and that of
// the older benchmark_serving.py.
func convertVLLM(root *node, d *columns, r Run, opt ReadOptions) (Run, error) {
	r.Format, r.Tool = FormatVLLM, toolVLLM
	entries := r.scalars(root)
	if err := r.fill(entries); err != nil {
		return r, err
	}
	if d.large {
		r.warnf("more requests than are kept: the figures are the file's own")
		return r, nil
	}
	if !d.detailed() {
		return r, nil
	}
	d.plan(r.Params["max_concurrency"] != "")
	return r, r.useRecords(d, opt, nil)
}

// scalars splits the fields of an object into figures and parameters.
func (r *Run) scalars(root *node) []entry {
	var entries []entry
	for i, key := range root.keys {
		v := root.items[i]
		text := v.str()
		if text == "" || v.kind == '{' || v.kind == '[' {
			continue
		}
		f, ok := figureOf(key)
		switch {
		case !ok || f.kind == param:
			r.setParam(key, text)
		case f.group == "rtfx" && text == "0.0": // vLLM writes it for text, too
		default:
			entries = append(entries, entry{key, text, v.line})
		}
	}
	return entries
}

// plan keeps the queue times only where a bound on concurrency makes them mean something:
// vLLM 0.33 writes them always.
func (c *columns) plan(bounded bool) {
	if !bounded {
		c.queues = nil
	}
}

// useRecords computes what the file does not say from the requests, and checks what it
// says. Metrics named in without are of another definition than the records'.
func (r *Run) useRecords(d *columns, opt ReadOptions, without []string) error {
	rec, err := d.run(r.Duration)
	if err != nil {
		return err
	}
	computed := record.Reduce(*rec)
	for _, group := range append(without, "success") {
		maps.DeleteFunc(computed, func(id string, _ float64) bool { return strings.HasPrefix(id, group+".") })
	}
	if len(d.starts) == 0 { // nothing is known of what ran at the same time
		delete(computed, "concurrency.peak")
		delete(computed, "concurrency.mean")
	}
	if d.silent > 0 {
		r.leaveOutZeros(d.silent)
	}
	r.merge(computed)
	r.recount(rec)
	if opt.Records {
		r.Records = rec
	}
	return nil
}

// leaveOutZeros drops the file's own figures that count requests without a token as 0: so
// that what the client did not see makes nothing faster.
func (r *Run) leaveOutZeros(requests int) {
	r.alarmf("%d requests brought no text, which the tool counts as a time to the first token of 0: they are left out of TTFT, and its own TTFT and TPOT are not used", requests)
	polluted := func(id string) bool {
		return strings.HasPrefix(id, "ttft.") || strings.HasPrefix(id, "tpot.") || strings.HasPrefix(id, "sglang_tpot.")
	}
	maps.DeleteFunc(r.Metrics, func(id string, _ float64) bool { return polluted(id) })
	maps.DeleteFunc(r.Definitions, func(id string, _ string) bool { return polluted(id) })
}

// merge takes computed values over. A value of the file that differs from ours is kept
// aside, with a warning: the file does not agree with itself.
func (r *Run) merge(computed map[string]float64) {
	if r.Metrics == nil {
		r.Metrics = map[string]float64{}
	}
	for _, id := range slices.Sorted(maps.Keys(computed)) {
		own, had := r.Metrics[id]
		ours := computed[id]
		m, _ := metric.Lookup(id)
		switch {
		case !had:
			r.Metrics[id] = ours
		case m.Unit == metric.Seconds && math.Abs(own-ours) > agreement(own):
			r.alarmf("%s is %.6g s by the requests and %.6g s by the file's own summary", id, ours, own)
			r.audit("summary_"+id, own)
			r.Metrics[id] = ours
		case m.Unit == metric.Seconds:
			// The file's own value has more digits than nanoseconds have.
		}
	}
}

// agreement is how far two values may be apart that were computed from the same requests:
// nanoseconds, and a hair for other summation.
func agreement(v float64) float64 { return 5e-9 + 1e-7*math.Abs(v) }

// recount sets the counts by the requests where the file does not tell them.
func (r *Run) recount(rec *record.Run) {
	t := record.Count(*rec)
	c := &r.Counts
	if !c.FailedKnown {
		c.Sent, c.Failed, c.FailedKnown = t.Requests, t.Failed, true
	}
	if t.Succeeded != c.Succeeded {
		r.alarmf("%d requests succeeded by their records and %d by the file's own summary", t.Succeeded, c.Succeeded)
	}
	r.audit("records", fmt.Sprintf("%d requests, %d token events", len(rec.Requests), rec.Audit.Events))
}
