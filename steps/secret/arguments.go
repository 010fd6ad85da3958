package secret

import (
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

var (
	// variable matches a setting of an environment variable (HF_TOKEN=…).
	variable = lazyregexp.New(`^[A-Z][A-Z0-9_]*$`)
	// line matches a header (X-Api-Key: …) or a line of YAML.
	line = lazyregexp.New(`^\s*["']?([A-Za-z][A-Za-z0-9_.-]*)["']?\s*:\s+["']?([^\s"'][^"'\r\n,]*)["']?,?\s*$`)
	// login matches a password of netrc.
	login = lazyregexp.New(`(?:^|\s)(?:login|account)\s+\S+\s+password\s+(\S+)`)
)

// InArguments returns the secrets in the arguments of a command, by the names of flags (--api-key X, --api-key=X),
// of variables (HF_TOKEN=X) and of headers (-H "X-Api-Key: X"), and those that [Within] finds. An argument that
// contains spaces is also read as a command (sh -c "…").
func InArguments(argv []string) []string {
	var out []string
	for i, arg := range argv {
		out = append(out, Within(arg)...)
		name, value, set := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch flag := strings.HasPrefix(arg, "-"); {
		case set && !strings.ContainsAny(name, " \n"):
			out = append(out, argument(name, value)...)
		case flag && i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-"):
			out = append(out, argument(name, argv[i+1])...)
		}
		if words := split(arg); len(words) > 1 && strings.ContainsAny(arg, " \n") && !strings.HasPrefix(strings.TrimSpace(arg), "{") {
			out = append(out, InArguments(strings.FieldsFunc(arg, separatesWords))...)
		}
	}
	return out
}

// separatesWords reports whether a shell may separate words at a character, or drop it.
func separatesWords(r rune) bool { return strings.ContainsRune(" \t\r\n;&|\"'`()<>", r) }

// argument returns the secrets in the value of a flag or variable. Many flags are about tokens of a language model
// (--long-prefill-token-threshold), so the last word of a flag's name must mean a secret.
func argument(name, value string) []string {
	value = strings.Trim(value, `"'`)
	words := split(name)
	if variable.MatchString(name) || len(words) > 0 && Name(name) && wordStrength(words, len(words)-1, digitless(words[len(words)-1])) > weak {
		return Values(name, value)
	}
	return Within(value)
}

// inLines returns the secrets of headers, of lines of YAML and of netrc.
func inLines(text string) []string {
	var out []string
	for l := range strings.Lines(text) {
		if m := line.FindStringSubmatch(l); m != nil {
			value := strings.TrimSpace(m[2])
			if Name(m[1]) && !strings.Contains(value, " ") && !harmless(value, strengthOf(m[1])) {
				out = append(out, value)
			}
			out = append(out, fromScheme(m[2])...)
		}
	}
	for _, m := range login.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return slices.DeleteFunc(out, func(s string) bool { return len(s) < 6 })
}
