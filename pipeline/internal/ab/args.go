package ab

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/hclfile"
)

// argument holds the value of one server argument on each side, as package hclfile writes it; nil marks an absent
// argument.
type argument struct {
	name       string
	base, head any
}

// differs compares the values as they are written.
func (a argument) differs() bool { return text(a.base) != text(a.head) }

// text returns a value as HCL.
func text(v any) string { return hclfile.Value(v, 0) }

// arguments merges the arguments of both sides with those of the head.
func arguments(both, head []string) ([]argument, error) {
	var out []argument
	for i, given := range slices.Concat(both, head) {
		name, value, err := parseArgument(given)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(out, func(a argument) bool { return a.name == name })
		if at < 0 {
			at = len(out)
			out = append(out, argument{name: name})
		}
		if i < len(both) {
			out[at].base = value
		}
		out[at].head = value
	}
	return out, nil
}

var (
	argumentName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.]*$`)
	number       = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
)

// parseArgument splits NAME=VALUE. The name is written as a flag or as in a file. A number, true, false, null and JSON
// are themselves; anything else is a string.
func parseArgument(given string) (name string, value any, err error) {
	name, word, valued := strings.Cut(strings.TrimLeft(given, "-"), "=")
	name = strings.ReplaceAll(name, "-", "_")
	switch {
	case !argumentName.MatchString(name):
		return "", nil, fmt.Errorf("argument %q is not of the form NAME=VALUE, as in max_model_len=8192", given)
	case !valued, word == "true":
		return name, true, nil
	case word == "false":
		return name, false, nil
	case word == "null":
		return name, nil, nil
	case number.MatchString(word):
		return name, json.Number(word), nil
	case strings.HasPrefix(word, "{"), strings.HasPrefix(word, "["):
		d := json.NewDecoder(strings.NewReader(word))
		d.UseNumber()
		if err = d.Decode(&value); err == nil {
			if _, more := d.Token(); more == io.EOF {
				return name, value, nil
			}
			err = fmt.Errorf("something follows it")
		}
		return "", nil, fmt.Errorf("argument %q: the value is not valid JSON: %w", given, err)
	}
	return name, word, nil
}
