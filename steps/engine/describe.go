package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
	"github.com/servegate/pipeline/steps/secret"
)

const (
	maxFacts = 400 // entries of a description
	maxFact  = 400 // bytes of a value
)

// ofTheStart are names whose values a server draws at each start, so they are not settings.
var ofTheStart = []string{"engine_id", "instance_id"}

// Facts is a flat map of what a server reports about itself. Its size is limited, because servers
// are not trusted.
type Facts map[string]string

// redacted replaces a value that may be a secret.
const redacted = "(redacted)"

// Set stores one fact. It drops empty values, cuts values to the limits, and replaces values whose
// name looks like a secret.
func (f Facts) Set(key, value string) {
	if secret.Name(key) && value != "" {
		value = redacted
	}
	f.put(key, value)
}

// put stores a fact without a secret.
func (f Facts) put(key, value string) {
	value = steps.Line(value, maxFact)
	if value == "" || len(f) >= maxFacts {
		return
	}
	f[key] = value
}

// JSON stores a JSON document under prefix: objects as prefix.name; lists and values nested deeper
// than three levels as compact JSON. It leaves out top-level names in skip. It visits keys in
// order, so that the limits always cut the same ones.
func (f Facts) JSON(prefix string, data []byte, skip ...string) error {
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return fmt.Errorf("%s: not JSON: %w", prefix, err)
	}
	if m, ok := doc.(map[string]any); ok {
		for _, name := range skip {
			delete(m, name)
		}
	}
	f.flatten(prefix, doc, 3)
	return nil
}

func (f Facts) flatten(key string, v any, depth int) {
	switch v := v.(type) {
	case nil:
	case string:
		f.Set(key, v)
	case bool:
		f.put(key, strconv.FormatBool(v))
	case json.Number:
		f.put(key, hiddenNumber(v, secret.Name(key)))
	case map[string]any:
		if depth == 0 {
			f.nested(key, v)
			return
		}
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if !slices.Contains(ofTheStart, name) {
				f.flatten(join(key, name), v[name], depth-1)
			}
		}
	default:
		f.nested(key, v)
	}
}

func (f Facts) nested(key string, v any) {
	v = scrub(v, secret.Name(key))
	text, err := argument.CompactJSON(v)
	if err == nil && text != "{}" && text != "[]" {
		f.put(key, text)
	}
}

// scrub replaces texts under names that look like secrets, at any depth; hidden is set if v is
// under such a name. Booleans and numbers stay, because a threshold of tokens is a setting.
func scrub(v any, hidden bool) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = scrub(inner, hidden || secret.Name(name))
		}
	case []any:
		for i := range v {
			v[i] = scrub(v[i], hidden)
		}
	case string:
		if hidden {
			return redacted
		}
	case json.Number:
		if text := hiddenNumber(v, hidden); text == redacted {
			return redacted
		}
	}
	return v
}

// hiddenNumber returns a number as text. Under the name of a secret, it replaces a number that is
// as long as a password of digits.
func hiddenNumber(n json.Number, hidden bool) string {
	if hidden && len(secret.Values("password", n.String())) > 0 {
		return redacted
	}
	return n.String()
}

func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

// Model stores the facts of the served model: model, model_root and max_model_len.
func (f Facts) Model(models []Model, want string) {
	for _, m := range models {
		if m.ID != want && want != "" {
			continue
		}
		f.Set("model", m.ID)
		f.Set("model_root", m.Root)
		if m.MaxModelLen > 0 {
			f.Set("max_model_len", strconv.FormatInt(m.MaxModelLen, 10))
		}
		return
	}
}
