package convert

import (
	"cmp"
	"math"
	"strings"

	"github.com/servegate/pipeline/steps/record"
)

// requests are the arrays over requests of a detailed vLLM or SGLang file. They are read value by
// value, and texts are skipped. Beyond the limits the arrays are dropped, and the aggregates of the
// file are used.
type requests struct {
	json *jsonReader

	inputs, outputs       []float64
	ttfts, starts, queues []float64
	failed                []bool
	events                record.List    // a request for each list of gaps: its first event is at 0, and run completes it
	one                   []record.Event // of the request that is read
	gaps                  int            // number of gaps of all requests
	large                 bool
	silent                int // successful requests without a token at the client
}

// take reads the member at a path of an object if it is one of the arrays.
func (q *requests) take(path string) (bool, error) {
	if strings.Contains(path, "/") {
		return false, nil
	}
	column := map[string]*[]float64{
		"input_lens": &q.inputs, "output_lens": &q.outputs, "ttfts": &q.ttfts, "start_times": &q.starts, "queue_times": &q.queues,
	}[path]
	element := map[string]func() error{"errors": q.outcome, "itls": q.gapsOfOne}[path]
	if column != nil {
		element = func() error { return q.number(column) }
	}
	if element == nil || q.json.PeekKind() != '[' {
		return false, nil
	}
	return true, q.json.array(element)
}

func (q *requests) number(column *[]float64) error {
	v, err := q.json.number()
	if err != nil {
		return err
	}
	if len(*column) >= q.json.lim.Requests {
		q.drop()
	}
	if !q.large {
		*column = append(*column, v)
	}
	return nil
}

// outcome records whether a request failed: then it has an error text.
func (q *requests) outcome() error {
	failed := false
	if q.json.PeekKind() == '"' {
		t, err := q.json.token()
		if err != nil {
			return err
		}
		failed = t.String() != ""
	} else if err := q.json.skip(); err != nil { // null
		return err
	}
	if !q.large && len(q.failed) < q.json.lim.Requests {
		q.failed = append(q.failed, failed)
	}
	return nil
}

// gapsOfOne reads the gaps between the tokens of a request.
func (q *requests) gapsOfOne() error {
	if q.json.PeekKind() != '[' {
		return q.json.errorf("itls has something else than lists of gaps")
	}
	q.one = append(q.one[:0], record.Event{Tokens: 1})
	err := q.json.array(func() error {
		v, err := q.json.number()
		if err != nil {
			return err
		}
		if math.IsNaN(v) || v < 0 || v > 86400 {
			return q.json.errorf("a gap of %v seconds", v)
		}
		if q.gaps++; q.gaps > q.json.lim.Events {
			q.drop()
		}
		if !q.large {
			before := q.one[len(q.one)-1]
			q.one = append(q.one, record.Event{At: before.At + nanoseconds(v), Tokens: before.Tokens + 1})
		}
		return nil
	})
	if !q.large {
		q.events.Add(record.Request{Index: q.events.Len(), Events: q.one})
	}
	return err
}

// drop frees the arrays of a run beyond the limits.
func (q *requests) drop() {
	*q = requests{json: q.json, large: true}
}

// detailed reports whether the arrays of every request exist.
func (q *requests) detailed() bool {
	return len(q.ttfts) > 0 && q.events.Len() > 0 && len(q.outputs) > 0
}

// failImported is the class of a failure from another tool, which kept only its text.
const failImported record.Failure = "imported"

// run rebuilds the records of the requests. Times missing in the file are -1. Every event counts as
// one token, as in the tools.
func (q *requests) run(duration float64) (*record.Run, error) {
	n := len(q.ttfts)
	for _, column := range []struct {
		name   string
		length int
		needed bool
	}{
		{"itls", q.events.Len(), true},
		{"output_lens", len(q.outputs), true},
		{"input_lens", len(q.inputs), false},
		{"start_times", len(q.starts), false},
		{"errors", len(q.failed), false},
		{"queue_times", len(q.queues), false},
	} {
		if column.length != n && (column.needed || column.length != 0) {
			return nil, q.json.errorf("%d %s for %d ttfts", column.length, column.name, n)
		}
	}
	origin := q.origin()
	var failed error
	run := &record.Run{Duration: int64(math.Round(duration * 1e9))}
	q.events.Edit(func(r *record.Request) { failed = cmp.Or(failed, q.complete(r, origin)) })
	run.Requests, run.Audit.Events = q.events, q.events.Events()
	return run, failed
}

// origin returns the time of the first arrival, by the clock of the tool. A request that waited in
// the client arrived before it was sent.
func (q *requests) origin() float64 {
	first := math.Inf(1)
	for i, start := range q.starts {
		if len(q.queues) > 0 && isTime(q.queues[i]) {
			start -= q.queues[i]
		}
		first = min(first, start)
	}
	return first
}

// complete rebuilds a request that has its events, the first at 0.
func (q *requests) complete(r *record.Request, origin float64) error {
	i, events := r.Index, r.Events
	*r = record.Request{Index: i, Planned: -1, Headers: -1, CachedTokens: -1, Status: 200}
	if !isTime(q.ttfts[i]) || !isCount(q.outputs[i]) || len(q.inputs) > 0 && !isCount(q.inputs[i]) {
		return q.json.errorf("request %d: a time or a number of tokens is out of range", i)
	}
	if len(q.inputs) > 0 {
		r.PromptTokens = int(q.inputs[i])
	}
	if len(q.starts) > 0 {
		start := q.starts[i] - origin
		if !isTime(start) {
			return q.json.errorf("request %d: start %v is out of range", i, q.starts[i])
		}
		r.Sent = nanoseconds(start)
		if len(q.queues) > 0 && isTime(q.queues[i]) {
			r.Planned = max(0, r.Sent-nanoseconds(q.queues[i]))
		}
	}
	nothing := q.ttfts[i] == 0 && len(events) == 1
	if len(q.failed) > 0 && q.failed[i] || nothing && (len(q.failed) == 0 || q.outputs[i] == 0) {
		r.Failure, r.Status, r.Done = failImported, 0, r.Sent
		return nil
	}
	r.OutputTokens = int(q.outputs[i])
	if nothing { // SGLang's client skips chunks without text, even if all are
		q.silent++
		r.Done = r.Sent
		return nil
	}
	r.Events = events
	first := r.Sent + nanoseconds(q.ttfts[i])
	for k := range events {
		events[k].At += first
	}
	r.Done = events[len(events)-1].At
	return nil
}

func nanoseconds(s float64) int64 { return int64(math.Round(s * 1e9)) }

// isTime and isCount limit values so that sums cannot overflow.
func isTime(s float64) bool  { return s >= 0 && s < 1e8 }
func isCount(n float64) bool { return n >= 0 && n < 1e9 && n == math.Trunc(n) }
