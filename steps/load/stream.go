package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps/record"
)

// maxError limits Request.Error, in bytes.
const maxError = 300

// stream converts the events of one response to the request's record. It holds the state to classify the
// outcome, and of the answer's text only its hash unless keep is set.
type stream struct {
	endpoint  endpoint
	ignoreEOS bool
	several   bool    // the request asks for several answers, whose tokens are counted together
	scale     float64 // model time per wall time
	rec       *record.Request
	sse       sse

	seen      int // tokens so far
	output    bool
	repeated  unrepeated // text that the events of the generate endpoint have in common
	text      textSum
	blank     int   // token-bearing events before the first one with text, -1 while there is none
	events    int   // data events of any kind
	after     int64 // the current read arrived later than this, wall
	read      int64 // when the read returned, wall
	coalesced coalesced
	bound     int64  // the last one that was added to coalesced
	done      bool   // [DONE]
	streamErr string // an error object
	garbage   string // how it violates the protocol
	tail      bool   // reading the rest after the stream ended
	torn      bool   // it ended within an event
	closing   bool   // the last token-bearing event has a finish reason and no text
	head      []byte // first bytes of the body, for messages
	onFirst   func(ttft int64)
	keep      bool                            // kept is needed
	kept      []byte                          // the message so far, a JSON string without quotes
	words     *words                          // holds the answer if it is collected
	stop      string                          // the string that cut it
	witness   func(index int, at, seen int64) // Options.Witness
	most      int                             // limit of recorded events
	flooded   bool                            // the limit was exceeded
}

// Limits of the events of one request: a server that never ends must not exhaust the client's memory.
const (
	maxAnswer  = 4 << 20 // of an answer that a later turn repeats
	minEvents  = 1 << 16
	maxReserve = 1 << 16
)

var errFlood = errors.New("far more events than tokens were asked for")

func newStream(e endpoint, ignoreEOS bool, scale float64, rec *record.Request) *stream {
	s := &stream{endpoint: e, ignoreEOS: ignoreEOS, scale: scale, rec: rec, text: newTextSum(), blank: -1}
	s.sse.emit = s.event
	s.most = max(8*rec.WantTokens, minEvents)
	rec.Events = make([]record.Event, 0, min(rec.WantTokens+2, maxReserve))
	return s
}

// coalesced counts the events that share a read with an earlier one. All but the last of a read arrived
// earlier than their recorded time, by at most the time since the previous read.
type coalesced struct {
	events   int
	sum, max int64 // of these limits, wall
}

func (c *coalesced) add(bound int64) {
	c.events++
	c.sum += bound
	c.max = max(c.max, bound)
}

// onRead records the earliest possible arrival of a read's bytes.
func (s *stream) onRead(after, _, seen int64) { s.after, s.read = after, seen }

// model converts wall nanoseconds since the start of the run to record time.
func (s *stream) model(at int64) int64 { return toModel(at, s.scale) }

func toModel(at int64, scale float64) int64 {
	if scale == 1 {
		return at
	}
	return int64(float64(at) * scale)
}

// body consumes a piece of the response's body.
func (s *stream) body(b []byte, at int64) error {
	if n := maxError - len(s.head); n > 0 {
		s.head = append(s.head, b[:min(n, len(b))]...)
	}
	if s.rec.Status/100 != 2 {
		return nil
	}
	if err := s.sse.feed(b, at); err != nil {
		return err
	}
	if s.flooded {
		return errFlood
	}
	return nil
}

// end handles the end of the response, with the error that ended it if any. Data without a final empty line
// counts if it is complete.
func (s *stream) end(err error) error {
	if err != nil {
		s.sse.dispatch()
	} else {
		s.tail = true
		err = s.sse.finish()
	}
	s.dropClosing()
	if !s.repeated.broken {
		s.rec.Text = s.text.record(max(s.blank, 0))
	}
	return err
}

// dropClosing removes the last event if it only ends the answer: it has no text, and the server counts one token less than
// events. vLLM's last event bears a token. llama.cpp, among others, sends the finish reason in an event of its own.
func (s *stream) dropClosing() {
	n, tokens := len(s.rec.Events), s.rec.OutputTokens
	if !s.closing || n < 2 || tokens == 0 {
		return
	}
	before, last := s.rec.Events[n-2], s.rec.Events[n-1]
	if last.Tokens != tokens+1 && (last.Tokens != tokens || before.Tokens != tokens) {
		return
	}
	s.rec.Events = s.rec.Events[:n-1]
	if before.At == last.At {
		s.coalesced.events--
		s.coalesced.sum -= s.bound
	}
}

// event consumes one server-sent event.
func (s *stream) event(data []byte, isError bool, at int64) {
	s.events++
	if isDone(data) {
		s.done = true
		return
	}
	var c chunk
	if !scanChunk(data, &c) || (s.rare(&c) && !json.Valid(data)) {
		switch {
		case isError:
			s.fail(errorText(data))
		case s.tail:
			s.torn = true
		case s.garbage == "":
			s.garbage = fmt.Sprintf("an event that is not a JSON object: %.80q", data)
		}
		return
	}
	if c.failure != nil || isError {
		s.fail(errorText(bytes.TrimSpace(orElse(c.failure, data))))
		return
	}
	s.usage(&c)
	if s.endpoint == endpointGenerate {
		c.content = s.repeated.cut(c.content)
	}
	s.text.addChunk(&c)
	if c.bearsToken(s.endpoint, s.seen) {
		s.token(&c, at)
	}
	s.output = s.output || c.text
	if s.words != nil {
		s.words.add(&c)
	}
	if c.stop != nil {
		s.stop = unquote(c.stop)
	}
	if s.keep && s.endpoint == endpointChat && len(s.kept)+len(c.content) <= maxAnswer {
		s.kept = append(s.kept, c.content...)
	}
	if c.finish != nil {
		s.rec.Finish = clip(string(c.finish), 40)
	}
}

// rare reports whether the event is one of the few per request whose syntax is checked completely.
func (s *stream) rare(c *chunk) bool {
	return s.events == 1 || c.finish != nil || c.failure != nil || !c.choices
}

func orElse(v, other []byte) []byte {
	if v != nil {
		return v
	}
	return other
}

func (s *stream) fail(text string) {
	if s.streamErr == "" {
		s.streamErr = text
	}
}

func (s *stream) usage(c *chunk) {
	if c.prompt > 0 {
		s.rec.PromptTokens = c.prompt
	}
	if c.completion >= 0 {
		s.rec.OutputTokens = max(s.rec.OutputTokens, c.completion)
	}
	if c.cached >= 0 {
		s.rec.CachedTokens = c.cached
	}
}

// token records a token-bearing event at a wall time.
func (s *stream) token(c *chunk, wall int64) {
	at := s.model(wall)
	if c.completion >= 0 {
		s.seen = max(s.seen, c.completion)
	} else {
		s.seen++
	}
	ev := s.rec.Events
	if len(ev) == s.most {
		s.flooded = true
		return
	}
	if len(ev) > 0 && ev[len(ev)-1].At == at {
		s.bound = max(wall-s.after, 0)
		s.coalesced.add(s.bound)
	}
	if s.blank < 0 && s.text.visible {
		s.blank = len(ev)
		if s.onFirst != nil {
			s.onFirst(at - s.rec.Sent)
		}
	}
	if s.witness != nil {
		s.witness(s.rec.Index, wall, s.read)
	}
	s.closing = c.finish != nil && !c.text
	s.rec.Events = append(s.rec.Events, record.Event{At: at, Tokens: s.seen})
}

// message returns the server's answer, a JSON string, or nil if it has no valid text.
func (s *stream) message() json.RawMessage {
	text := slices.Concat([]byte{'"'}, s.kept, []byte{'"'})
	if len(s.kept) == 0 || !json.Valid(text) {
		return nil
	}
	return text
}

// errorText returns the message of an error object, or the object itself.
func errorText(raw []byte) string {
	var obj struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Type    string          `json:"type"`
	}
	if json.Unmarshal(raw, &obj) == nil {
		switch {
		case obj.Message != "" && obj.Type != "":
			return clip(obj.Type+": "+obj.Message, maxError)
		case obj.Message != "":
			return clip(obj.Message, maxError)
		case len(obj.Error) > 0 && len(obj.Error) < len(raw):
			return errorText(obj.Error)
		}
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return clip(text, maxError)
	}
	return clip(string(raw), maxError)
}

// clip returns a valid string of limited length. It cuts between words: the beginning of a secret that is cut
// in two could not be masked.
func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n]
		if end := strings.LastIndexAny(s, " \t\r\n"); end >= 0 {
			s = s[:end]
		} else {
			s = "…"
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(s, "�"))
}
