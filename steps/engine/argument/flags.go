package argument

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
)

// FlagStyle defines how an engine's command line writes special values.
type FlagStyle struct {
	// Full returns the full name of an argument, like [Lists.Full]; nil keeps names.
	Full func(name string) string
	// False returns how an argument, spelled with underscores, is set to false; nil means OmitFalse
	// for all.
	False func(name string) FalseForm
	// Repeat holds the full names of the arguments whose lists repeat the flag. Other lists follow
	// one flag as several words.
	Repeat map[string]bool
	// JSON reports whether the lists of an argument are written as one JSON array; nil means never.
	JSON func(name string) bool
	// Underscores is set if the parser's flags have underscores where others have dashes.
	Underscores bool
	// Apart is set if the parser takes every word after a flag for its value, and knows no --flag=value.
	Apart bool
	// Reserved maps the full names of arguments that the engine sets itself to an advice for the
	// user.
	Reserved map[string]string
}

// FalseForm is how a flag is set to false.
type FalseForm int

// The forms.
const (
	// OmitFalse leaves the flag out. This means false for flags that only enable something
	// (argparse's store_true).
	OmitFalse FalseForm = iota
	// NegateFalse writes --no-flag (argparse.BooleanOptionalAction).
	NegateFalse
	// WriteFalse writes --flag=False (vLLM's StoreBoolean).
	WriteFalse
)

var argName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// Flags renders arguments as words of a command line, in order. Underscores of a name become dashes
// up to the first dot: vLLM's --kv-transfer-config.kv_role keeps its inner names.
func Flags(args []steps.Arg, style FlagStyle) ([]string, error) {
	var argv []string
	seen := map[string]string{}
	for _, a := range args {
		if err := CheckArg(a.Name, style); err != nil {
			return nil, err
		}
		flag := FlagName(a.Name)
		same := style.full(a.Name)
		if _, key, dotted := strings.Cut(a.Name, "."); dotted {
			same += "." + key
		}
		if other, dup := seen[same]; dup {
			return nil, fmt.Errorf("args: %s and %s are the same flag %s", other, a.Name, FlagName(same))
		}
		seen[same] = a.Name
		if style.Underscores {
			flag = "--" + strings.ReplaceAll(flag[2:], "-", "_")
		}
		words, err := flagWords(a, flag, style)
		if err != nil {
			return nil, fmt.Errorf("args.%s: %w", a.Name, err)
		}
		argv = append(argv, words...)
	}
	return argv, nil
}

// CheckArg returns an error for an invalid name of an argument.
func CheckArg(name string, style FlagStyle) error {
	if strings.HasPrefix(name, "-") {
		return fmt.Errorf("args: write %s instead of %s", strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_"), name)
	}
	if !argName.MatchString(name) {
		return fmt.Errorf("args: %q is not the name of a flag; names have letters, digits, underscores, dashes and dots", name)
	}
	head, _, _ := strings.Cut(Canonical(name), ".")
	for _, n := range []string{head, style.full(name)} {
		if instead, ok := style.Reserved[n]; ok {
			return fmt.Errorf("args: %s cannot be set here; %s", name, instead)
		}
	}
	return nil
}

// full returns the full name of an argument, without its key in a document.
func (s FlagStyle) full(name string) string {
	if s.Full != nil {
		return s.Full(name)
	}
	head, _, _ := strings.Cut(Canonical(name), ".")
	return head
}

// Canonical returns the name of an argument with underscores and in lower case.
func Canonical(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, "-", "_"))
}

// FlagName returns the flag of an argument: --kv-transfer-config.kv_role for kv_transfer_config.kv_role.
func FlagName(name string) string {
	head, tail, dotted := strings.Cut(name, ".")
	flag := "--" + strings.ReplaceAll(head, "_", "-")
	if dotted {
		flag += "." + tail
	}
	return flag
}

func flagWords(a steps.Arg, flag string, style FlagStyle) ([]string, error) {
	switch v := a.Value.(type) {
	case nil:
		return nil, nil
	case bool:
		if v {
			return []string{flag}, nil
		}
		return falseWords(a.Name, flag, style)
	case []any:
		return listWords(v, a.Name, flag, style)
	case map[string]any:
		text, err := CompactJSON(v)
		if err != nil {
			return nil, err
		}
		return []string{flag, text}, nil
	}
	text, err := scalar(a.Value)
	if err != nil {
		return nil, err
	}
	// A value that begins with a dash would be read as a flag.
	if strings.HasPrefix(text, "-") && !style.Apart {
		return []string{flag + "=" + text}, nil
	}
	return []string{flag, text}, nil
}

func falseWords(name, flag string, style FlagStyle) ([]string, error) {
	form := OmitFalse
	if style.False != nil {
		form = style.False(Canonical(name))
	}
	switch {
	case form == OmitFalse:
		return nil, nil
	case form == WriteFalse:
		return []string{flag + "=False"}, nil
	case strings.HasPrefix(flag, "--no-"):
		return nil, fmt.Errorf("false would negate twice; write %s = true", strings.ReplaceAll(flag[len("--no-"):], "-", "_"))
	}
	return []string{"--no-" + flag[2:]}, nil
}

func listWords(list []any, name, flag string, style FlagStyle) ([]string, error) {
	if style.JSON != nil && style.JSON(Canonical(name)) {
		text, err := CompactJSON(list)
		if err != nil {
			return nil, err
		}
		return []string{flag, text}, nil
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("is an empty list, which no flag can say; use null to leave the flag out")
	}
	var words []string
	for i, e := range list {
		text, err := element(e)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		if strings.HasPrefix(text, "-") {
			return nil, fmt.Errorf("[%d]: %q begins with a dash and would be read as a flag", i, text)
		}
		if style.Repeat[style.full(name)] {
			words = append(words, flag, text)
			continue
		}
		words = append(words, text)
	}
	if style.Repeat[style.full(name)] {
		return words, nil
	}
	return append([]string{flag}, words...), nil
}

// element returns an element of a list: a scalar, or JSON for a nested list or object.
func element(v any) (string, error) {
	switch v := v.(type) {
	case map[string]any, []any:
		return CompactJSON(v)
	case bool:
		return strconv.FormatBool(v), nil
	}
	return scalar(v)
}

func scalar(v any) (string, error) {
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			return "", fmt.Errorf("contains a zero byte")
		}
		return v, nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case nil:
		return "", fmt.Errorf("is null inside a list; leave it out")
	}
	return "", fmt.Errorf("is a %T; it must be a string, a number, a bool, a list or an object", v)
}

// CompactJSON returns compact JSON with sorted keys. It does not escape <, > and &.
func CompactJSON(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("cannot be written as JSON: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
