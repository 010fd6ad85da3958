package convert

import (
	"math"

	"github.com/servegate/pipeline/steps/record"
)

// columns are the arrays over requests of a detailed vLLM or SGLang file. They are read
// value by value; the texts are passed over. When there are more requests or gaps than
// the limits allow, the arrays are dropped and the file's own aggregates stand.
type columns struct {
	*scanner
	lim Limits

	inputs, outputs                  []float64
	ttfts, latencies, starts, queues []float64
	failed                           []bool
	gaps                             []int64 // nanoseconds, of all requests
	gapEnds                          []int   // end of the gaps of request i
	large                            bool
	silent                           int // requests that succeeded without a token that the client saw
}

// hook takes the arrays of the top level, and the requests of guidellm.
func (c *columns) hook(path []string) (bool, error) {
	if len(path) == 3 && path[0] == "benchmarks" && path[2] == "requests" {
		return true, c.skip()
	}
	if len(path) != 1 {
		return false, nil
	}
	switch path[0] {
	case "generated_texts", "server_queue_times", "server_ttfts", "cached_tokens_details", "cached_tokens", "timeslices":
		return true, c.skip()
	case "input_lens":
		return c.column(&c.inputs)
	case "output_lens":
		return c.column(&c.outputs)
	case "ttfts":
		return c.column(&c.ttfts)
	case "latencies":
		return c.column(&c.latencies)
	case "start_times":
		return c.column(&c.starts)
	case "queue_times":
		return c.column(&c.queues)
	case "errors":
		return c.errors()
	case "itls":
		return c.itls()
	}
	return false, nil
}

// ifArray reads an array and leaves anything else (null) to the tree.
func (c *columns) ifArray(element func() error) (bool, error) {
	b, err := c.must()
	if err != nil || b != '[' {
		return false, err
	}
	return true, c.array(element)
}

func (c *columns) column(to *[]float64) (bool, error) {
	return c.ifArray(func() error {
		v, err := c.number()
		if err != nil {
			return err
		}
		if len(*to) >= c.lim.Requests {
			c.drop()
		}
		if !c.large {
			*to = append(*to, v)
		}
		return nil
	})
}

// errors keeps which requests failed.
func (c *columns) errors() (bool, error) {
	return c.ifArray(func() error {
		b, err := c.must()
		if err != nil {
			return err
		}
		failed := false
		if b == '"' {
			err = c.eachRune(func(rune) { failed = true })
		} else {
			err = c.skip() // null
		}
		if !c.large && len(c.failed) < c.lim.Requests {
			c.failed = append(c.failed, failed)
		}
		return err
	})
}

func (c *columns) itls() (bool, error) {
	return c.ifArray(func() error {
		err := c.array(func() error {
			v, err := c.number()
			if err != nil {
				return err
			}
			if math.IsNaN(v) || v < 0 || v > 86400 {
				return c.errorf("a gap of %v seconds", v)
			}
			if len(c.gaps) >= c.lim.Events {
				c.drop()
			}
			if !c.large {
				c.gaps = append(c.gaps, int64(math.Round(v*1e9)))
			}
			return nil
		})
		if !c.large {
			c.gapEnds = append(c.gapEnds, len(c.gaps))
		}
		return err
	})
}

// drop gives the memory of a run beyond the limits back.
func (c *columns) drop() {
	*c = columns{scanner: c.scanner, lim: c.lim, large: true}
}

// detailed reports that the arrays of every request are there.
func (c *columns) detailed() bool {
	return len(c.ttfts) > 0 && len(c.gapEnds) > 0 && len(c.outputs) > 0
}

// failImported is the class of a failure of which another tool kept only the text.
const failImported record.Failure = "imported"

// run rebuilds the records of the requests. Times that the file does not have are -1;
// every event is taken to have brought one token, as the tools do.
func (c *columns) run(duration float64) (*record.Run, error) {
	n := len(c.ttfts)
	for _, column := range []struct {
		name   string
		length int
		needed bool
	}{
		{"itls", len(c.gapEnds), true},
		{"output_lens", len(c.outputs), true},
		{"input_lens", len(c.inputs), false},
		{"start_times", len(c.starts), false},
		{"errors", len(c.failed), false},
		{"queue_times", len(c.queues), false},
	} {
		if column.length != n && (column.needed || column.length != 0) {
			return nil, c.errorf("%d %s for %d ttfts", column.length, column.name, n)
		}
	}
	origin := c.origin()
	run := &record.Run{Duration: int64(math.Round(duration * 1e9)), Requests: make([]record.Request, n)}
	events := make([]record.Event, 0, len(c.gaps)+n)
	for i := range n {
		r, err := c.request(i, origin, &events)
		if err != nil {
			return nil, err
		}
		run.Requests[i] = r
	}
	run.Audit.Events = len(events)
	return run, nil
}

// origin is the time of the first arrival, by the tool's own clock. A request that waited
// in the client arrived before it was sent.
func (c *columns) origin() float64 {
	first := math.Inf(1)
	for i, start := range c.starts {
		if len(c.queues) > 0 && isTime(c.queues[i]) {
			start -= c.queues[i]
		}
		first = min(first, start)
	}
	return first
}

// request rebuilds one request; its events are appended to a slice that all share.
func (c *columns) request(i int, origin float64, events *[]record.Event) (record.Request, error) {
	r := record.Request{Index: i, Planned: -1, Headers: -1, CachedTokens: -1, Status: 200}
	if !isTime(c.ttfts[i]) || !isCount(c.outputs[i]) || len(c.inputs) > 0 && !isCount(c.inputs[i]) {
		return r, c.errorf("request %d: a time or a number of tokens is out of range", i)
	}
	if len(c.inputs) > 0 {
		r.PromptTokens = int(c.inputs[i])
	}
	if len(c.starts) > 0 {
		start := c.starts[i] - origin
		if !isTime(start) {
			return r, c.errorf("request %d: start %v is out of range", i, c.starts[i])
		}
		r.Sent = nanoseconds(start)
		if len(c.queues) > 0 && isTime(c.queues[i]) {
			r.Planned = max(0, r.Sent-nanoseconds(c.queues[i]))
		}
	}
	begin := 0
	if i > 0 {
		begin = c.gapEnds[i-1]
	}
	gaps := c.gaps[begin:c.gapEnds[i]]
	nothing := c.ttfts[i] == 0 && len(gaps) == 0
	if len(c.failed) > 0 && c.failed[i] || nothing && (len(c.failed) == 0 || c.outputs[i] == 0) {
		r.Failure, r.Status, r.Done = failImported, 0, r.Sent
		return r, nil
	}
	r.OutputTokens = int(c.outputs[i])
	if nothing { // SGLang's client passes over chunks without text, be they all
		c.silent++
		r.Done = r.Sent
		return r, nil
	}
	first := len(*events)
	at := r.Sent + nanoseconds(c.ttfts[i])
	*events = append(*events, record.Event{At: at, Tokens: 1})
	for k, gap := range gaps {
		at += gap
		*events = append(*events, record.Event{At: at, Tokens: k + 2})
	}
	r.Events = (*events)[first:len(*events):len(*events)]
	r.Done = at
	return r, nil
}

func nanoseconds(s float64) int64 { return int64(math.Round(s * 1e9)) }

// isTime and isCount hold values to a range in which sums cannot overflow.
func isTime(s float64) bool  { return s >= 0 && s < 1e8 }
func isCount(n float64) bool { return n >= 0 && n < 1e9 && n == math.Trunc(n) }
