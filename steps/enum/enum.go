// Package enum holds the allowed values of an argument or a flag, with what each means:
// one table decodes a value, words the message about another, documents both and feeds the
// schemas.
//
//	var endpoints = enum.Values{{"completions", "OpenAI completions"}, {"chat", "OpenAI chat"}}
//	err := endpoints.Check("cat") // must be one of completions, chat; did you mean chat?
package enum

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Value is one allowed value. A name that ends with * stands for all that begin like it.
type Value struct {
	Name string `json:"name"`
	Doc  string `json:"doc,omitempty"`
}

// Values are all allowed values, in the order of the documentation.
type Values []Value

// Prefix returns the beginning of the names that an open value stands for, false for other values.
func (v Value) Prefix() (string, bool) { return strings.CutSuffix(v.Name, "*") }

// Of returns values that need no explanation.
func Of[T ~string](names ...T) Values {
	out := make(Values, len(names))
	for i, name := range names {
		out[i].Name = string(name)
	}
	return out
}

// Names lists the values.
func (v Values) Names() []string {
	out := make([]string, len(v))
	for i, value := range v {
		out[i] = value.Name
	}
	return out
}

// Has reports whether a value is allowed.
func (v Values) Has(name string) bool {
	return slices.ContainsFunc(v, func(value Value) bool {
		prefix, open := value.Prefix()
		return value.Name == name || open && len(name) > len(prefix) && strings.HasPrefix(name, prefix)
	})
}

// String lists the values: "update, new, never".
func (v Values) String() string { return strings.Join(v.Names(), ", ") }

// Doc lists the values with what they mean: "update (one comment), new or never".
func (v Values) Doc() string {
	out := make([]string, len(v))
	for i, value := range v {
		out[i] = value.Name
		if value.Doc != "" {
			out[i] += " (" + value.Doc + ")"
		}
	}
	if n := len(out) - 1; n > 0 {
		return strings.Join(out[:n], ", ") + " or " + out[n]
	}
	return strings.Join(out, "")
}

// Check returns an error that follows the name of a flag or an argument, nil if the value is
// allowed.
func (v Values) Check(name string) error {
	if v.Has(name) {
		return nil
	}
	if near := Nearest(name, v.Names()); near != "" {
		return fmt.Errorf("must be one of %s; did you mean %s?", v, near)
	}
	return fmt.Errorf("must be one of %s, not %q", v, name)
}

// manyNames are too many to compare a misspelt one with, once for each misspelt one.
const manyNames = 1000

// Nearest returns the name that a misspelt one most likely meant, "" if none is near. Two
// letters may be wrong (two swapped ones count so), one of a short name, and a third of a
// long one.
func Nearest(given string, names []string) string {
	if len(names) > manyNames {
		return ""
	}
	best, least := "", max(3, len(given)/3+1)
	if len(given) < 4 {
		least = 2
	}
	for _, name := range names {
		d := levenshtein.Distance(strings.ToLower(given), strings.ToLower(name), nil)
		if d < least || d == least && best != "" && name < best { // whatever their order
			best, least = name, d
		}
	}
	return best
}
