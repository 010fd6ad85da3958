package adopt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/servegate/pipeline/pipeline/internal/hclfile"
)

// Limits of a document with fields.
const (
	maxDocument = 4 << 20
	maxValues   = 100_000 // aliases of YAML count each time
	maxDepth    = 60
)

// errNoDocument means that a text is neither JSON nor YAML with fields.
var errNoDocument = errors.New("is neither JSON nor YAML with fields")

// documents decodes JSON, or YAML of one or more documents. Objects become [hclfile.Map] in their order, lists []any,
// and the rest string, json.Number, bool or nil.
func documents(data []byte) ([]any, error) {
	if len(data) > maxDocument {
		return nil, fmt.Errorf("is longer than %d bytes", maxDocument)
	}
	if t := bytes.TrimSpace(data); len(t) > 0 && (t[0] == '{' || t[0] == '[') {
		d := json.NewDecoder(bytes.NewReader(t))
		d.UseNumber()
		if v, err := decodeJSON(d, 0); err == nil {
			return []any{v}, nil
		} else if t[0] == '{' {
			return nil, fmt.Errorf("%w: %w", errNoDocument, placed(data))
		}
	}
	var out []any
	d := yaml.NewDecoder(bytes.NewReader(data))
	tree := yamlTree{}
	for {
		var node yaml.Node
		switch err := d.Decode(&node); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", errNoDocument, err)
		}
		v, err := tree.value(&node, 0)
		if err != nil {
			return nil, err
		}
		if v != nil {
			out = append(out, v)
		}
	}
}

// placed returns why a text is not JSON, with the line.
func placed(data []byte) error {
	var v any
	err := json.Unmarshal(data, &v)
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:min(int(s.Offset), len(data))], []byte("\n")), err)
	}
	return err
}

func decodeJSON(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("nests deeper than %d levels", maxDepth)
	}
	m, list := hclfile.Map{}, []any{}
	for d.More() {
		name := ""
		if delim == '{' {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			name, _ = key.(string)
		}
		v, err := decodeJSON(d, depth+1)
		if err != nil {
			return nil, err
		}
		if delim == '{' {
			m = set(m, name, v)
		} else {
			list = append(list, v)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if delim == '{' {
		return m, nil
	}
	return list, nil
}

// yamlTree converts nodes, counting them.
type yamlTree struct{ values int }

func (t *yamlTree) value(n *yaml.Node, depth int) (any, error) {
	if t.values++; t.values > maxValues {
		return nil, fmt.Errorf("has more than %d values", maxValues)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: nests deeper than %d levels", n.Line, maxDepth)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return t.value(n.Content[0], depth+1)
	case yaml.AliasNode:
		return t.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := t.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		return t.mapping(n, depth)
	}
	return scalarOf(n)
}

func (t *yamlTree) mapping(n *yaml.Node, depth int) (any, error) {
	m, merged := hclfile.Map{}, hclfile.Map{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		v, err := t.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		if n.Content[i].Tag == "!!merge" {
			from, ok := v.(hclfile.Map)
			for _, one := range listOf(v) {
				more, _ := one.(hclfile.Map)
				from, ok = append(from, more...), true
			}
			if !ok {
				return nil, fmt.Errorf("line %d: << takes an object", n.Content[i].Line)
			}
			merged = append(merged, from...)
			continue
		}
		m = set(m, n.Content[i].Value, v)
	}
	for _, p := range merged {
		if _, own := get(m, p.Name); !own {
			m = append(m, p)
		}
	}
	return m, nil
}

// scalarOf returns a value of YAML as JSON has it. A number keeps its digits if JSON could write it so.
func scalarOf(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return b, err
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value), nil
		}
	}
	return n.Value, nil
}

// textOf returns a scalar as text, "" for everything else.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// listOf returns a list, or nil.
func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

// textsOf returns the scalars of a list; of a scalar, itself.
func textsOf(v any) []string {
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	out := make([]string, len(list))
	for i := range list {
		out[i] = textOf(list[i])
	}
	return out
}

// at returns the value below a path of names.
func at(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(hclfile.Map)
		v, _ = get(m, name)
	}
	return v
}

// wholeOf returns a whole number, also of a string, or 0.
func wholeOf(v any) int {
	n, err := strconv.Atoi(textOf(v))
	if err != nil {
		return 0
	}
	return n
}

// compact returns a value as one line of JSON, cut where it is long: for people.
func compact(v any) string {
	const longest = 160
	text := jsonText(v)
	if s, ok := v.(string); ok {
		text = s
	}
	if r := []rune(dollars(text)); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return dollars(text)
}

// jsonText returns a value as JSON with objects in their order.
func jsonText(v any) string {
	switch v := v.(type) {
	case hclfile.Map:
		parts := make([]string, len(v))
		for i, p := range v {
			parts[i] = jsonText(p.Name) + ":" + jsonText(p.Value)
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = jsonText(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "null"
	}
	return strings.TrimSpace(out.String())
}

// fields reads the fields of an object and knows which were not read.
type fields struct {
	m     hclfile.Map
	where string // in front of the names of fields that are reported
	taken []string
}

func fieldsOf(v any, where string) *fields {
	m, _ := v.(hclfile.Map)
	return &fields{m: m, where: where}
}

// take returns a field and marks it as read.
func (f *fields) take(name string) any {
	v, _ := get(f.m, name)
	f.taken = append(f.taken, name)
	return v
}

// rest calls report for each field that was not read, in order. why may name a reason for a field of its own.
func (f *fields) rest(why map[string]string, report func(what, why string)) {
	for _, p := range f.m {
		if slices.Contains(f.taken, p.Name) {
			continue
		}
		reason, known := why[p.Name]
		if !known {
			reason = "a pipeline file has nothing for it"
		}
		what := f.where + p.Name
		if text := compact(p.Value); text != "" {
			what += " = " + text
		}
		report(what, reason)
	}
}
