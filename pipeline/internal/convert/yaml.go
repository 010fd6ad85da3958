package convert

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/servegate/pipeline/internal/lazyregexp"
	"go.yaml.in/yaml/v3"
)

// yamlHead matches the start of a Benchmark Report of llm-d in YAML: its keys are not indented.
var yamlHead = lazyregexp.New(`(?m)^(?:results|scenario|run|metrics):\s*(?:#.*)?\r?$`)

// maxYAML bounds a YAML file, which is held in memory. A report has some kilobytes.
const maxYAML = 32 << 20

// readYAML reads the documents of a file, one result each.
func readYAML(r *bufio.Reader, name string, opt ReadOptions) ([]Run, error) {
	limited := &io.LimitedReader{R: r, N: maxYAML + 1}
	decoder := yaml.NewDecoder(limited)
	var runs []Run
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if limited.N <= 0 {
			return nil, fmt.Errorf("%s: more than %d bytes of YAML: %w", name, maxYAML, ErrLimit)
		}
		if errors.Is(err, io.EOF) {
			return runs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		t := yamlTree{source: name, lim: opt.Limits}
		root, err := t.value(&document, 0)
		if err != nil {
			return nil, err
		}
		if !root.is('{') {
			continue // an empty document
		}
		more, err := opt.runs(root, &requests{}, name)
		if err != nil {
			return nil, err
		}
		if runs = append(runs, more...); len(runs) > opt.Limits.Runs {
			return nil, fmt.Errorf("%s: more than %d results: %w", name, opt.Limits.Runs, ErrLimit)
		}
	}
}

// yamlTree converts a document to the value of the same JSON.
type yamlTree struct {
	source string
	lim    Limits
	values int
}

func (t *yamlTree) value(y *yaml.Node, depth int) (*value, error) {
	fail := func(format string, args ...any) (*value, error) {
		return nil, &Error{t.source, max(1, y.Line), fmt.Errorf(format, args...)}
	}
	if t.values++; t.values > t.lim.Values {
		return fail("more than %d values: %w", t.lim.Values, ErrLimit)
	}
	if depth > t.lim.Depth {
		return fail("nesting deeper than %d: %w", t.lim.Depth, ErrLimit)
	}
	n := &value{line: max(1, y.Line)}
	switch y.Kind {
	case yaml.DocumentNode:
		if len(y.Content) == 0 {
			n.kind, n.text = 'n', "null"
			return n, nil
		}
		return t.value(y.Content[0], depth)
	case yaml.MappingNode:
		n.kind = '{'
		for i := 0; i+1 < len(y.Content); i += 2 {
			child, err := t.value(y.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			n.keys, n.items = append(n.keys, y.Content[i].Value), append(n.items, child)
		}
	case yaml.SequenceNode:
		n.kind = '['
		for _, item := range y.Content {
			child, err := t.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, child)
		}
	case yaml.AliasNode:
		return fail("an alias (*%s) is not read: write its value out", y.Value)
	default:
		n.kind, n.text = scalar(y)
		if len(n.text) > t.lim.String {
			n.text = n.text[:t.lim.String]
		}
	}
	return n, nil
}

// scalar returns a scalar as in JSON: a number, a literal or a string.
func scalar(y *yaml.Node) (kind jsontext.Kind, text string) {
	switch y.ShortTag() {
	case "!!null":
		return 'n', "null"
	case "!!bool":
		var v bool
		if y.Decode(&v) == nil && v {
			return 't', "true"
		}
		return 'f', "false"
	case "!!int", "!!float":
		if isNumber(y.Value) {
			return '0', y.Value
		}
		if y.Value == ".nan" || y.Value == ".NaN" || y.Value == ".NAN" {
			return '"', "NaN"
		}
	}
	return '"', y.Value
}
