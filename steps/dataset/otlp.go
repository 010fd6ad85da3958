package dataset

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// otlpLine is an export of OpenTelemetry spans in OTLP's JSON format, one per line as written by the
// Collector's file exporter (https://opentelemetry.io/docs/specs/otlp).
type otlpLine struct {
	Resources []struct {
		Scopes []struct {
			Spans []otlpSpan `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

type otlpSpan struct {
	Trace  string          `json:"traceId"`
	ID     string          `json:"spanId"`
	Parent string          `json:"parentSpanId"`
	Start  otlpInt         `json:"startTimeUnixNano"`
	End    otlpInt         `json:"endTimeUnixNano"`
	Attrs  []otlpAttribute `json:"attributes"`
	Status struct {
		Code json.RawMessage `json:"code"`
	} `json:"status"`
}

type otlpAttribute struct {
	Key   string `json:"key"`
	Value struct {
		String *string  `json:"stringValue"`
		Int    *otlpInt `json:"intValue"`
		Array  *struct {
			Values []json.RawMessage `json:"values"`
		} `json:"arrayValue"`
	} `json:"value"`
}

// otlpInt is an int64. Proto3's JSON writes it as a string, other programs as a number.
type otlpInt int64

func (n *otlpInt) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseInt(string(trimQuotes(text)), 10, 64)
	if err != nil {
		return fmt.Errorf("%.30s must be an integer", text)
	}
	*n = otlpInt(v)
	return nil
}

func trimQuotes(text []byte) []byte {
	if n := len(text); n > 1 && text[0] == '"' && text[n-1] == '"' {
		return text[1 : n-1]
	}
	return text
}

// Attributes of the semantic conventions for generative AI: current names first, then older ones.
var (
	attrOperation    = []string{"gen_ai.operation.name"}
	attrInput        = []string{"gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"}
	attrOutput       = []string{"gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"}
	attrCached       = []string{"gen_ai.usage.cache_read.input_tokens"}
	attrConversation = []string{"gen_ai.conversation.id"}
)

// attrMessages lists the attributes that make up a prompt, in the order in which chat templates render them.
var attrMessages = [][]string{
	{"gen_ai.tool.definitions"},
	{"gen_ai.system_instructions"},
	{"gen_ai.input.messages", "gen_ai.prompt"},
}

// otlpCalls are the operations that call a generative model.
var otlpCalls = []string{"chat", "text_completion", "generate_content"}

func (s *otlpSpan) attr(names []string) (otlpAttribute, bool) {
	for _, name := range names {
		if i := slices.IndexFunc(s.Attrs, func(a otlpAttribute) bool { return a.Key == name }); i >= 0 {
			return s.Attrs[i], true
		}
	}
	return otlpAttribute{}, false
}

func (s *otlpSpan) text(names []string) string {
	if a, ok := s.attr(names); ok && a.Value.String != nil {
		return *a.Value.String
	}
	return ""
}

// tokens returns a token count, nil if the span has none.
func (s *otlpSpan) tokens(names []string) (*int, error) {
	a, ok := s.attr(names)
	switch {
	case !ok:
		return nil, nil
	case a.Value.Int == nil || *a.Value.Int < 0 || *a.Value.Int > maxLength:
		return nil, fmt.Errorf("%s must be a number of tokens", a.Key)
	}
	n := int(*a.Value.Int)
	return &n, nil
}

// messages returns the messages of a span's prompt, none if the application did not record them.
func (s *otlpSpan) messages() [][]byte {
	var out [][]byte
	for _, names := range attrMessages {
		switch a, ok := s.attr(names); {
		case !ok:
		case a.Value.String != nil:
			out = append(out, messagesOf([]byte(*a.Value.String))...)
		case a.Value.Array != nil:
			for _, raw := range a.Value.Array.Values {
				out = append(out, raw)
			}
		}
	}
	return out
}

// failed reports whether the status of a span is an error, by number or name.
func (s *otlpSpan) failed() bool {
	return string(s.Status.Code) == "2" || bytes.Contains(s.Status.Code, []byte("STATUS_CODE_ERROR"))
}

// otlp reads lines of spans. The spans of one trace may be on any lines, children before parents.
type otlp struct {
	orderer
	begin      int64 // start of the first span, in nanoseconds since 1970
	nodes      []otlpNode
	traces     map[[16]byte]*otlpTrace
	order      []*otlpTrace
	utterances *utterances
}

// otlpNode holds the needed part of a span.
type otlpNode struct {
	id, parent [8]byte
	line       int
	call       *otlpCall
	inner      []int32
	placed     bool
}

// otlpCall is a model call, with times in nanoseconds.
type otlpCall struct {
	start, took   int64
	input, output int
	cached        *int
	lastMessage   *utterance
}

// otlpTrace holds the spans of a trace and the conversation that they belong to.
type otlpTrace struct {
	nodes        []int32
	conversation string
}

// maxSpans is the largest number of spans kept over all traces.
const maxSpans = maxEntries

func beginOTLP(t *Table) (func(int, []byte) error, func() error) {
	o := &otlp{orderer: orderer{table: t}, traces: map[[16]byte]*otlpTrace{}, utterances: newUtterances()}
	return o.line, o.end
}

func (o *otlp) line(n int, text []byte) error {
	var l otlpLine
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("not an export of spans: %w", err)
	}
	for _, r := range l.Resources {
		for _, scope := range r.Scopes {
			for i := range scope.Spans {
				if err := o.span(&scope.Spans[i], n); err != nil {
					return fmt.Errorf("span %.40q: %w", scope.Spans[i].ID, err)
				}
			}
		}
	}
	return nil
}

// span stores the needed part of a span.
func (o *otlp) span(s *otlpSpan, line int) error {
	node := otlpNode{line: line}
	var trace [16]byte
	for _, id := range []struct {
		name, text string
		into       []byte
	}{{"traceId", s.Trace, trace[:]}, {"spanId", s.ID, node.id[:]}, {"parentSpanId", s.Parent, node.parent[:]}} {
		if raw, err := hex.DecodeString(id.text); err != nil || copy(id.into, raw) != len(raw) || len(raw) != len(id.into) && id.text != "" {
			return fmt.Errorf("its %s has not %d hexadecimal digits", id.name, 2*len(id.into))
		}
	}
	switch {
	case s.Trace == "" || s.ID == "":
		return errors.New("it needs traceId and spanId")
	case s.Start <= 0 || s.End < s.Start:
		return errors.New("its startTimeUnixNano is missing or after its endTimeUnixNano: times run backwards")
	case len(o.nodes) == maxSpans:
		return fmt.Errorf("more than %d spans", maxSpans)
	}
	if o.begin == 0 {
		o.begin = int64(s.Start)
	}
	if slices.Contains(otlpCalls, s.text(attrOperation)) && !s.failed() {
		call, err := o.callOf(s)
		if err != nil {
			return err
		}
		node.call = call
	}
	t := o.traces[trace]
	if t == nil {
		t = &otlpTrace{}
		o.traces[trace], o.order = t, append(o.order, t)
	}
	if name := s.text(attrConversation); name != "" {
		t.conversation = name
	}
	t.nodes = append(t.nodes, int32(len(o.nodes)))
	o.nodes = append(o.nodes, node)
	return nil
}

// callOf returns the call that a span recorded, nil if the call has no output.
func (o *otlp) callOf(s *otlpSpan) (*otlpCall, error) {
	in, err1 := s.tokens(attrInput)
	out, err2 := s.tokens(attrOutput)
	cached, err3 := s.tokens(attrCached)
	switch err := errors.Join(err1, err2, err3); {
	case err != nil:
		return nil, err
	case in == nil || out == nil:
		return nil, fmt.Errorf("it is a call without %s and %s: have the application record them", attrInput[0], attrOutput[0])
	case *out == 0:
		return nil, nil
	}
	last := o.utterances.add(o.table, s.messages())
	if o.table.blocks > maxBlocks {
		return nil, errors.New("too many different messages up to here: cut the trace")
	}
	return &otlpCall{int64(s.Start) - o.begin, int64(s.End - s.Start), *in, *out, cached, last}, nil
}

// leaf adds the call of a node.
func (o *otlp) leaf(n *otlpNode) (*span, error) {
	e := Entry{Input: n.call.input, Output: n.call.output, cached: n.call.cached, lastMessage: n.call.lastMessage, line: n.line}
	if err := o.addCall(e, float64(n.call.start)/1e9, float64(n.call.took)/1e9); err != nil {
		return nil, lineError(n.line, "span %x: %w", n.id, err)
	}
	return o.callSpan(len(o.table.Entries) - 1), nil
}

// end arranges the spans of each trace as a tree, and joins traces of one conversation to one session.
func (o *otlp) end() error {
	o.measure()
	var sessions [][]*span
	known := map[string]int{}
	for _, t := range o.order {
		whole, err := o.tree(t)
		if err != nil {
			return err
		}
		if whole == nil {
			continue
		}
		at, ok := known[t.conversation]
		if !ok || t.conversation == "" {
			at = len(sessions)
			known[t.conversation] = at
			sessions = append(sessions, nil)
		}
		sessions[at] = append(sessions[at], whole)
	}
	for _, list := range sessions {
		if _, err := o.arrange(list, nil, 1); err != nil {
			return err
		}
		o.number++
	}
	o.finish()
	return nil
}

// measure divides the tokens of the prompts among their messages, starting with the earliest call.
func (o *otlp) measure() {
	var calls []*otlpCall
	for i := range o.nodes {
		if call := o.nodes[i].call; call != nil && call.lastMessage != nil {
			calls = append(calls, call)
		}
	}
	slices.SortStableFunc(calls, func(a, b *otlpCall) int { return cmp.Compare(a.start, b.start) })
	for _, call := range calls {
		call.lastMessage.measure(call.input)
	}
}

// tree returns a trace as one span, nil if it has no calls.
func (o *otlp) tree(t *otlpTrace) (*span, error) {
	byID := make(map[[8]byte]int32, len(t.nodes))
	for _, n := range t.nodes {
		if _, twice := byID[o.nodes[n].id]; twice {
			return nil, lineError(o.nodes[n].line, "the span %x is there twice", o.nodes[n].id)
		}
		byID[o.nodes[n].id] = n
	}
	var roots []int32
	for _, n := range t.nodes {
		if parent, there := byID[o.nodes[n].parent]; there && o.nodes[n].parent != [8]byte{} {
			o.nodes[parent].inner = append(o.nodes[parent].inner, n)
		} else {
			roots = append(roots, n)
		}
	}
	whole, err := o.roots(roots)
	if err != nil {
		return nil, err
	}
	for _, n := range t.nodes {
		if !o.nodes[n].placed {
			return nil, lineError(o.nodes[n].line, "the span %x is below itself: a cycle of parents", o.nodes[n].id)
		}
	}
	return whole, nil
}

// roots returns the span over a trace's outermost spans. A program's spans often lack the parent that called
// them. That does no harm for spans without calls, or if one of them contains all calls; otherwise it is an error.
func (o *otlp) roots(nodes []int32) (*span, error) {
	var list []*span
	var orphan *otlpNode
	for _, n := range nodes {
		inner, err := o.spans([]int32{n}, 1)
		if err != nil {
			return nil, err
		}
		if inner == nil {
			continue
		}
		if node := &o.nodes[n]; orphan == nil && node.parent != [8]byte{} {
			orphan = node
		}
		if list = append(list, inner); orphan != nil && len(list) > 1 {
			return nil, lineError(orphan.line, "the parent of the span %x, %x, is not in the file, and not all calls of its trace are below it: "+
				"export whole traces, or leave parentSpanId out of the outermost spans", orphan.id, orphan.parent)
		}
	}
	return together(list), nil
}

// spans returns the span over concurrent nodes, nil if they have no calls. If a call contains calls, for
// example because two libraries recorded the same one, only the inner calls count.
func (o *otlp) spans(nodes []int32, depth int) (*span, error) {
	var list []*span
	for _, n := range nodes {
		node := &o.nodes[n]
		node.placed = true
		if depth > maxDepth {
			return nil, lineError(node.line, "more than %d spans within each other", maxDepth)
		}
		inner, err := o.spans(node.inner, depth+1)
		if err != nil {
			return nil, err
		}
		if inner == nil && node.call != nil {
			if inner, err = o.leaf(node); err != nil {
				return nil, err
			}
		}
		if inner != nil {
			list = append(list, inner)
		}
	}
	return together(list), nil
}

// together returns the span over a list, nil if it is empty.
func together(list []*span) *span {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return group(list, list[0].line)
}
