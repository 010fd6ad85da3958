package simulate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps/engine/flags"
)

// arguments holds the parsed command line, by the flag's first name. Of a repeated flag the last
// value counts, as in argparse.
type arguments struct {
	values     map[string][]string
	positional []string
	// keys of JSON flags that were given one by one (--flag.key value), by flag and path.
	keys map[string]map[string]string
}

// usageError is the text that argparse prints before it exits with status 2.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

// parser parses command lines as one version of an engine does.
type parser struct {
	quirks
	table *flags.Table
}

// parserOf returns the parser for an engine's newest known version that is not newer than version,
// or the oldest one.
func parserOf(e engine, version string) (parser, error) {
	q := e.quirks()
	table, ok := flags.Nearest(cmp.Or(q.lists, e.name()), version)
	if !ok {
		return parser{}, fmt.Errorf("the flags of engine %q are not known, so it cannot be simulated", e.name())
	}
	return parser{q, table}, nil
}

// parse parses args as the engine's argparse parser does: --flag value, --flag=value, several
// values for lists, --no-flag. vLLM also accepts underscores for dashes, -O3 and --json-flag.key
// value. A unique prefix of a flag is completed.
func (t parser) parse(args []string) (*arguments, error) {
	out := &arguments{values: make(map[string][]string), keys: make(map[string]map[string]string)}
	var unknown []string
	for i := 0; i < len(args); {
		arg := args[i]
		i++
		if !looksLikeFlag(arg) {
			out.positional = append(out.positional, arg)
			continue
		}
		name, inline, hasInline := strings.Cut(arg, "=")
		def, key, ok := t.lookup(name)
		if !ok {
			if level, found := strings.CutPrefix(arg, "-O"); found && t.levels != "" && level != "" {
				out.values[t.levels] = []string{level}
				continue
			}
			values := valuesOf(args[i:], math.MaxInt)
			unknown = append(append(unknown, arg), values...)
			i += len(values)
			continue
		}
		given := []string{inline}
		if !hasInline {
			given = valuesOf(args[i:], maxValues(def))
			i += len(given)
		}
		values, err := check(def, given, hasInline)
		if err != nil {
			return nil, usageError{fmt.Sprintf("argument %s: %v", name, err)}
		}
		if key != "" {
			if out.keys[def.Name] == nil {
				out.keys[def.Name] = make(map[string]string)
			}
			out.keys[def.Name][key] = values[0]
			continue
		}
		out.values[def.Name] = values
	}
	if len(unknown) > 0 {
		return nil, usageError{"unrecognized arguments: " + strings.Join(unknown, " ")}
	}
	return out, nil
}

// valuesOf returns the first arguments that are no flags, at most most.
func valuesOf(args []string, most int) []string {
	n := 0
	for n < min(most, len(args)) && !looksLikeFlag(args[n]) {
		n++
	}
	return args[:n]
}

// lookup finds a flag. key is set for one key of a JSON flag, --flag.key.
func (t parser) lookup(name string) (def flags.Def, key string, ok bool) {
	dotted := false
	if t.underscores && strings.HasPrefix(name, "--") {
		name, key, dotted = strings.Cut(name, ".")
		name = strings.ReplaceAll(name, "_", "-")
	}
	if def, ok = t.table.Lookup(name); !ok && t.extra.Name == name {
		def, ok = t.extra, name != ""
	}
	if full := t.table.Complete(name); !ok && len(full) == 1 {
		def, ok = full[0], true
	}
	if dotted {
		ok = ok && def.Kind == flags.JSON
		def.Kind = flags.Text
	}
	return def, key, ok
}

// looksLikeFlag applies argparse's rule: a dash, unless it is a negative number.
func looksLikeFlag(arg string) bool {
	if len(arg) < 2 || arg[0] != '-' {
		return false
	}
	_, err := strconv.ParseFloat(arg, 64)
	return err != nil
}

func maxValues(d flags.Def) int {
	switch d.Kind {
	case flags.Switch, flags.OnOff, flags.Off:
		return 0
	case flags.List:
		return math.MaxInt
	}
	return 1
}

// check validates the values of a flag by its kind and returns the values to store.
func check(d flags.Def, values []string, inline bool) ([]string, error) {
	switch d.Kind {
	case flags.Switch, flags.OnOff, flags.Off:
		if inline {
			return nil, fmt.Errorf("ignored explicit argument '%s'", values[0])
		}
		return []string{strconv.FormatBool(d.Kind != flags.Off)}, nil
	case flags.StoreBool:
		if len(values) == 0 {
			return []string{"true"}, nil
		}
		v := strings.ToLower(values[0])
		if v != "true" && v != "false" {
			return nil, usageError{fmt.Sprintf("invalid boolean value: %s. Expected 'true' or 'false'.", values[0])}
		}
		return []string{v}, nil
	case flags.Optional:
		return values, nil
	case flags.List:
		if len(values) == 0 {
			return nil, fmt.Errorf("expected at least one argument")
		}
		return values, nil
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("expected one argument")
	}
	return values, checkValue(d, values[0])
}

func checkValue(d flags.Def, v string) (err error) {
	switch d.Kind {
	case flags.Int:
		if _, err = strconv.Atoi(v); err != nil {
			err = fmt.Errorf("invalid int value: '%s'", v)
		}
	case flags.Size:
		_, err = parseSize(v)
	case flags.Float:
		if _, err = strconv.ParseFloat(v, 64); err != nil {
			err = fmt.Errorf("invalid float value: '%s'", v)
		}
	case flags.JSON:
		if !json.Valid([]byte(v)) {
			return usageError{fmt.Sprintf("Value %s cannot be converted to <function loads>.", v)}
		}
	case flags.Choice:
		if !slices.Contains(d.Choices, v) {
			return fmt.Errorf("invalid choice: '%s' (choose from '%s')", v, strings.Join(d.Choices, "', '"))
		}
	}
	if isNone(v) {
		return nil
	}
	return err
}

// isNone reports whether an optional value is unset.
func isNone(v string) bool { return v == "" || v == "None" }

// parseSize parses an integer with an optional decimal (k, m, g, t) or binary (K, M, G, T) suffix,
// like vLLM's human_readable_int; "auto" and -1 are 0.
func parseSize(v string) (int, error) {
	if v == "auto" || v == "-1" {
		return 0, nil
	}
	units := map[byte]float64{'k': 1e3, 'm': 1e6, 'g': 1e9, 't': 1e12, 'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40}
	number, unit := v, 1.0
	if v != "" {
		if u, ok := units[v[len(v)-1]]; ok {
			number, unit = v[:len(v)-1], u
		}
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f < 0 || f*unit > math.MaxInt32*1024 || unit == 1 && f != math.Trunc(f) {
		return 0, fmt.Errorf("invalid human_readable_int value: '%s'", v)
	}
	return int(f * unit), nil
}

// first returns the first value of a flag, false if it is absent or None.
func (a *arguments) first(name string) (string, bool) {
	v := a.values[name]
	if len(v) == 0 || isNone(v[0]) {
		return "", false
	}
	return v[0], true
}

func (a *arguments) has(name string) bool {
	v, ok := a.values[name]
	return ok && (len(v) == 0 || !isNone(v[0]))
}

func (a *arguments) str(name, fallback string) string {
	if v, ok := a.first(name); ok {
		return v
	}
	return fallback
}

// int returns the value of a checked flag; fallback if it is absent or None.
func (a *arguments) int(name string, fallback int) int {
	v, _ := a.first(name)
	if n, err := parseSize(v); err == nil && n != 0 {
		return n
	}
	if n, err := strconv.Atoi(v); err == nil {
		return n
	}
	return fallback
}

func (a *arguments) float(name string, fallback float64) float64 {
	v, _ := a.first(name)
	if f, err := strconv.ParseFloat(v, 64); err == nil {
		return f
	}
	return fallback
}

func (a *arguments) bool(name string, fallback bool) bool {
	if v, ok := a.first(name); ok {
		return v == "true"
	}
	return fallback
}
