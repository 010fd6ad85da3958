package convert

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// node is a JSON value that is small enough to be held: what is not an array over
// requests.
type node struct {
	kind  byte // '{', '[', '"' or '0' (number or literal, in text)
	text  string
	keys  []string // of an object, in order
	items []*node
	line  int
}

// get follows keys, nil where there is no such value.
func (n *node) get(path ...string) *node {
	for _, key := range path {
		if n == nil || n.kind != '{' {
			return nil
		}
		var found *node
		for i, k := range n.keys {
			if k == key {
				found = n.items[i] // the last of several, as in Python
			}
		}
		n = found
	}
	return n
}

func (n *node) has(keys ...string) bool {
	for _, key := range keys {
		if n.get(key) == nil {
			return false
		}
	}
	return true
}

func (n *node) isNull() bool { return n.kind == '0' && n.text == "null" }

// str is the text of a string, a number or a literal; "" for null and for structures.
func (n *node) str() string {
	if n == nil || n.kind == '{' || n.kind == '[' || n.isNull() {
		return ""
	}
	return n.text
}

// number reports a finite number.
func (n *node) number() (float64, bool) {
	if n == nil || n.kind != '0' || !isNumber(n.text) {
		return 0, false
	}
	v, err := strconv.ParseFloat(n.text, 64)
	return v, err == nil
}

// first is the first element of an array, nil where there is none.
func (n *node) first() *node {
	if n == nil || n.kind != '[' || len(n.items) == 0 {
		return nil
	}
	return n.items[0]
}

// sum adds up a count of the elements of an array; it reports false where that is not what
// there is.
func (n *node) sum(key string) (int64, bool) {
	if n == nil || n.kind != '[' {
		return 0, false
	}
	total := int64(0)
	for _, item := range n.items {
		c, err := parseCount(item.get(key).str())
		if err != nil {
			return 0, false
		}
		total += c
	}
	return total, total < 1<<53
}

// treeReader builds trees; what hook takes is not part of them.
type treeReader struct {
	*scanner
	// hook may read the value at a path itself and report that it did.
	hook func(path []string) (taken bool, err error)
	path []string
}

func (t *treeReader) value() (*node, error) {
	if t.values++; t.values > t.lim.Values {
		return nil, t.errorf("more than %d values: %w", t.lim.Values, ErrLimit)
	}
	c, err := t.must()
	if err != nil {
		return nil, err
	}
	n := &node{kind: c, line: t.line}
	switch c {
	case '{':
		err = t.object(func(key string) error { return t.member(n, key) })
	case '[':
		err = t.array(func() error { return t.member(n, "[]") })
	case '"':
		n.text, err = t.text()
	default:
		n.kind = '0'
		var word []byte
		word, err = t.word()
		if n.text = string(word); err == nil && n.text != "true" && n.text != "false" {
			_, err = t.asNumber(word)
		}
	}
	return n, err
}

func (t *treeReader) member(parent *node, key string) error {
	t.path = append(t.path, key)
	defer func() { t.path = t.path[:len(t.path)-1] }()
	if taken, err := t.hook(t.path); taken || err != nil {
		return err
	}
	child, err := t.value()
	if err != nil {
		return err
	}
	if parent.kind == '{' {
		parent.keys = append(parent.keys, key)
	}
	parent.items = append(parent.items, child)
	return nil
}

// readJSON reads the objects of a file, one after the other or in an array.
func readJSON(r *bufio.Reader, name string, opt ReadOptions) ([]Run, error) {
	if bom, err := r.Peek(3); err == nil && string(bom) == "\xef\xbb\xbf" {
		_, _ = r.Discard(3) // peeked, so it is there
	}
	s := newScanner(r, name, opt.Limits)
	var runs []Run
	object := func() error {
		found, err := readObject(s, opt)
		runs = append(runs, found...)
		if err == nil && len(runs) > opt.Limits.Runs {
			err = s.errorf("more than %d results: %w", opt.Limits.Runs, ErrLimit)
		}
		return err
	}
	for {
		c, err := s.peek()
		if errors.Is(err, io.EOF) {
			return runs, nil
		}
		switch {
		case err != nil:
			err = s.errorf("%w", err)
		case c == '[':
			err = s.array(object)
		case c == '{':
			err = object()
		default:
			err = s.errorf("%q where an object should begin", c)
		}
		if err != nil {
			return nil, err
		}
	}
}

// readObject reads one object and makes runs of it.
func readObject(s *scanner, opt ReadOptions) ([]Run, error) {
	s.values = 0
	d := &columns{scanner: s, lim: opt.Limits}
	t := &treeReader{scanner: s, hook: d.hook}
	line := s.line
	root, err := t.value()
	if err != nil {
		return nil, err
	}
	if root.kind != '{' {
		return nil, &Error{s.source, line, errors.New("not an object: the results of a load generator are")}
	}
	root.line = line
	return convert(root, d, s.source, opt)
}

// convert tells whose object it is by its keys.
func convert(root *node, d *columns, source string, opt ReadOptions) ([]Run, error) {
	base := Run{Source: source, Line: root.line}
	switch {
	case root.has("benchmarks") && (root.has("metadata") || root.has("args")):
		return convertGuidellm(root, base)
	case root.has("metrics") && root.get("metadata", "aggregation_type").str() == "confidence":
		return one(convertAiperfAggregate(root, base))
	case isServerMetrics(root):
		return nil, &Error{source, root.line, fmt.Errorf("%w: what a server said of itself while aiperf measured it (server_metrics_export.json): import profile_export_aiperf.json beside it", ErrNoResult)}
	case root.has("aiperf_version"), root.get("time_to_first_token", "unit") != nil, root.get("request_latency", "unit") != nil:
		return one(convertAiperf(root, base))
	case root.has("successes") && (root.has("load_summary") || root.has("failures")):
		return one(convertInferencePerf(root, base))
	case root.has("results") && root.has("config"):
		return convertHF(root, base)
	case root.has("total_output_tokens_retokenized"), root.has("mean_e2e_latency_ms"), root.has("server_info", "completed"):
		return one(convertSGLang(root, d, base, opt))
	case root.get("results", "request_performance") != nil && root.has("run"):
		return one(convertLLMD(root, base))
	case root.has("completed") && (root.has("duration") || root.has("request_throughput")):
		return one(convertVLLM(root, d, base, opt))
	case root.has("results_num_completed_requests"), root.has("results_ttft_s_mean"):
		return one(convertLLMPerf(root, base))
	case root.has("performance", "request_info") && root.get("performance").has("request_throughput_req_s"):
		return one(convertTRTLLM(root, base))
	case root.has("error_code", "ttft_s"):
		return nil, &Error{source, root.line, fmt.Errorf("%w: records of single requests (LLMPerf's individual_responses.json): import the summary beside it", ErrNoResult)}
	case hasMeasured(root):
		return one(convertVLLM(root, d, base, opt))
	case root.has("metrics", "metadata"):
		return nil, &Error{source, root.line, errors.New("records of single requests (aiperf's profile_export.jsonl): import profile_export_aiperf.json beside it")}
	}
	keys := root.keys[:min(len(root.keys), 8)]
	return nil, &Error{source, root.line, errors.Join(ErrNoResult, errors.New("no load generator is known that writes the keys "+clip(strings.Join(keys, ", "))))}
}

func one(r Run, err error) ([]Run, error) {
	if err != nil {
		return nil, err
	}
	return []Run{r}, nil
}

// isServerMetrics recognises the metrics of servers that aiperf collects beside its own: each has
// series.
func isServerMetrics(root *node) bool {
	metrics := root.get("metrics")
	if metrics == nil || metrics.kind != '{' {
		return root.has("endpoint_url", "metrics")
	}
	for _, m := range metrics.items {
		if m.get("series") != nil {
			return true
		}
	}
	return root.has("summary", "input_config") && root.get("summary", "endpoints_configured") != nil
}

// hasMeasured reports that an object has a figure of vLLM's result files among its fields: those
// of a result that tells neither how many requests it had nor how long it took.
func hasMeasured(root *node) bool {
	for i, key := range root.keys {
		f, ok := figureOf(key)
		if _, number := root.items[i].number(); ok && number && (f.kind == latency && f.shift != 0 || f.kind == rate) {
			return true
		}
	}
	return false
}
