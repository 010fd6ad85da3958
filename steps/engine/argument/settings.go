package argument

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/flags"
)

// Settings are the arguments of a server in a normal form that does not depend on how a file writes
// them. Each value is a text, keyed by the full name of its argument and, within a document, its
// path: "max_num_seqs", "hf_overrides.num_hidden_layers". A dotted argument, an object and its JSON
// text are one setting; so are tp and tp_size, and enable_x = false and no_enable_x = true.
// Arguments that omit their flag are not included.
type Settings map[string]string

// SettingsOf returns the settings of a server.
func SettingsOf(spec steps.ServerSpec) Settings {
	l := NewLists(spec.Engine, "", spec.EngineVersion())
	out := Settings{}
	for _, a := range l.expand(spec.Args) {
		out.add(l, a)
	}
	return out
}

// expand returns arguments with the settings of files of options behind them, because these take precedence over flags.
func (l Lists) expand(args []steps.Arg) []steps.Arg {
	var flat, inFiles []steps.Arg
	for _, a := range args {
		settings, ok := a.Value.(map[string]any)
		if def, known := l.Lookup(a.Name); !ok || !known || def.Kind != flags.Options {
			flat = append(flat, a)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			inFiles = append(inFiles, steps.Arg{Name: name, Value: settings[name]})
		}
	}
	return append(flat, inFiles...)
}

// FullName returns the full name of an argument of a server, without its key in a document.
func FullName(spec steps.ServerSpec, name string) string {
	return NewLists(spec.Engine, "", spec.EngineVersion()).Full(name)
}

func (s Settings) add(l Lists, a steps.Arg) {
	def, _ := l.Lookup(a.Name)
	path := l.Full(a.Name)
	if _, key, dotted := strings.Cut(a.Name, "."); dotted {
		path += "." + key
	}
	value := a.Value
	if on, isBool := value.(bool); isBool {
		switch {
		case def.Kind == flags.Off:
			value = !on
		case def.Kind == flags.Switch && !on:
			return
		}
	}
	s.put(path, value)
}

func (s Settings) put(path string, value any) {
	if text, ok := value.(string); ok {
		if m := document(text); m != nil {
			value = m
		}
	}
	switch v := value.(type) {
	case nil:
		return
	case map[string]any:
		for key, inner := range v {
			s.put(path+"."+key, inner)
		}
		if len(v) == 0 {
			s[path] = "{}"
		}
		return
	case []any:
		if text, err := CompactJSON(v); err == nil {
			s[path] = text
			return
		}
	case bool:
		s[path] = strconv.FormatBool(v)
		return
	case json.Number:
		if x, err := v.Float64(); err == nil && float64(int64(x)) != x || strings.ContainsAny(v.String(), ".eE") {
			value = x
		} else {
			value = v.String()
		}
	}
	text, err := scalar(value)
	if err != nil {
		text = fmt.Sprint(value)
	}
	s[path] = text
}

// document parses the text of a JSON object, nil if it is not one.
func document(text string) map[string]any {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var m map[string]any
	if dec.Decode(&m) != nil || dec.More() {
		return nil
	}
	return m
}

// On reports whether an argument is true.
func (s Settings) On(name string) bool { return s[name] == "true" }
