package simulate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// arguments of a command line, by the flag's first name. A flag given twice keeps its
// last value, as argparse does.
type arguments struct {
	values     map[string][]string
	positional []string
	// keys of JSON flags given one by one (--flag.key value), by flag and path.
	keys map[string]map[string]string
}

// usageError is what argparse prints before it exits with status 2.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

// parseArgs reads args as the engine's argparse parser does: --flag value, --flag=value,
// several values for lists, --no-flag; vLLM also takes underscores for dashes, -O3 and
// --json-flag.key value. Abbreviated flags are not accepted.
func (t *flagTable) parseArgs(args []string) (*arguments, error) {
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
			unknown = append(unknown, arg)
			for i < len(args) && !looksLikeFlag(args[i]) {
				unknown = append(unknown, args[i])
				i++
			}
			continue
		}
		var given []string
		if hasInline {
			given = []string{inline}
		} else {
			n := 0
			for n < def.maxValues() && i+n < len(args) && !looksLikeFlag(args[i+n]) {
				n++
			}
			given = args[i : i+n]
			i += n
		}
		values, err := def.check(given, hasInline)
		if err != nil {
			return nil, usageError{fmt.Sprintf("argument %s: %v", name, err)}
		}
		if key != "" {
			if out.keys[def.name] == nil {
				out.keys[def.name] = make(map[string]string)
			}
			out.keys[def.name][key] = values[0]
			continue
		}
		out.values[def.name] = values
	}
	if len(unknown) > 0 {
		return nil, usageError{"unrecognized arguments: " + strings.Join(unknown, " ")}
	}
	return out, nil
}

// lookup finds a flag. key is set for one key of a JSON flag, --flag.key.
func (t *flagTable) lookup(name string) (def flagDef, key string, ok bool) {
	if t.underscores && strings.HasPrefix(name, "--") {
		head, tail, dotted := strings.Cut(name, ".")
		head = strings.ReplaceAll(head, "_", "-")
		if dotted {
			def, ok = t.flags[head]
			return flagDef{name: def.name, kind: "str"}, tail, ok && def.kind == "json"
		}
		name = head
	}
	def, ok = t.flags[name]
	return def, "", ok
}

// looksLikeFlag is argparse's rule: a dash, unless it is a negative number.
func looksLikeFlag(arg string) bool {
	if len(arg) < 2 || arg[0] != '-' {
		return false
	}
	_, err := strconv.ParseFloat(arg, 64)
	return err != nil
}

func (d flagDef) maxValues() int {
	switch d.kind {
	case "true", "bool", "no":
		return 0
	case "list":
		return math.MaxInt
	}
	return 1
}

// check validates the values of a flag by its kind and returns what is stored.
func (d flagDef) check(values []string, inline bool) ([]string, error) {
	switch d.kind {
	case "true", "bool":
		if inline {
			return nil, fmt.Errorf("ignored explicit argument '%s'", values[0])
		}
		return []string{"true"}, nil
	case "no":
		if inline {
			return nil, fmt.Errorf("ignored explicit argument '%s'", values[0])
		}
		return []string{"false"}, nil
	case "storebool":
		return checkStoreBool(values)
	case "optstr":
		return values, nil
	case "list":
		if len(values) == 0 {
			return nil, fmt.Errorf("expected at least one argument")
		}
		return values, nil
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("expected one argument")
	}
	return values, d.checkValue(values[0])
}

func checkStoreBool(values []string) ([]string, error) {
	if len(values) == 0 {
		return []string{"true"}, nil
	}
	v := strings.ToLower(values[0])
	if v != "true" && v != "false" {
		return nil, usageError{fmt.Sprintf("invalid boolean value: %s. Expected 'true' or 'false'.", values[0])}
	}
	return []string{v}, nil
}

func (d flagDef) checkValue(v string) error {
	switch d.kind {
	case "int":
		if _, err := strconv.Atoi(v); err != nil && !isNone(v) {
			return fmt.Errorf("invalid int value: '%s'", v)
		}
	case "size":
		if _, err := parseSize(v); err != nil && !isNone(v) {
			return err
		}
	case "float":
		if _, err := strconv.ParseFloat(v, 64); err != nil && !isNone(v) {
			return fmt.Errorf("invalid float value: '%s'", v)
		}
	case "json":
		if !json.Valid([]byte(v)) {
			return usageError{fmt.Sprintf("Value %s cannot be converted to <function loads>.", v)}
		}
	case "choice":
		if !slices.Contains(d.choices, v) {
			quoted := make([]string, len(d.choices))
			for i, c := range d.choices {
				quoted[i] = "'" + c + "'"
			}
			return fmt.Errorf("invalid choice: '%s' (choose from %s)", v, strings.Join(quoted, ", "))
		}
	}
	return nil
}

// isNone is true for the spellings of an optional value that is not set.
func isNone(v string) bool { return v == "" || v == "None" }

// parseSize reads an integer with an optional decimal (k, m, g, t) or binary (K, M, G, T)
// suffix, as vLLM's human_readable_int; "auto" and -1 are 0.
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

func (a *arguments) has(name string) bool {
	v, ok := a.values[name]
	return ok && (len(v) == 0 || !isNone(v[0]))
}

func (a *arguments) str(name, fallback string) string {
	if v := a.values[name]; len(v) > 0 && !isNone(v[0]) {
		return v[0]
	}
	return fallback
}

// int of a flag that the table has checked; fallback when it is absent or none.
func (a *arguments) int(name string, fallback int) int {
	if v := a.values[name]; len(v) > 0 {
		if n, err := parseSize(v[0]); err == nil && n != 0 {
			return n
		}
		if n, err := strconv.Atoi(v[0]); err == nil {
			return n
		}
	}
	return fallback
}

func (a *arguments) float(name string, fallback float64) float64 {
	if v := a.values[name]; len(v) > 0 {
		if f, err := strconv.ParseFloat(v[0], 64); err == nil {
			return f
		}
	}
	return fallback
}

func (a *arguments) bool(name string, fallback bool) bool {
	if v := a.values[name]; len(v) > 0 {
		return v[0] == "true"
	}
	return fallback
}
