package convert

import (
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// commandArgs parses the options of a command line: --key value, --key=value, --flag. A word that
// begins with two dashes is never a value.
func commandArgs(line string) map[string]string {
	words := shellWords(line)
	args := map[string]string{}
	for i := 0; i < len(words) && len(args) < maxParams; i++ {
		key, ok := strings.CutPrefix(words[i], "--")
		if !ok || key == "" {
			continue
		}
		if key, value, ok := strings.Cut(key, "="); ok {
			args[canonicalKey(key)] = value
			continue
		}
		value := "true"
		if i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") && !slices.Contains(operators, words[i+1]) {
			i++
			value = words[i]
		}
		args[canonicalKey(key)] = value
	}
	delete(args, "")
	return args
}

// operators end the arguments of a command.
var operators = []string{"|", "||", "&", "&&", ";", ">", ">>", "2>&1", "2>", "<", "\\"}

// shellWords splits a line like a shell, with quotes and backslashes but without expansion.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	started, escaped := false, false
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, started = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, started = c, true
		case c == ' ' || c == '\t':
			if started {
				words = append(words, word.String())
				word.Reset()
				started = false
			}
		default:
			word.WriteRune(c)
			started = true
		}
	}
	if started {
		words = append(words, word.String())
	}
	return words
}

// namespaceArgs parses a dump of Python's argparse, Namespace(key=value, …), anywhere in the line.
// Values that were not given (None) are omitted.
func namespaceArgs(line string) map[string]string {
	_, rest, ok := strings.Cut(line, "Namespace(")
	if !ok {
		return nil
	}
	args := map[string]string{}
	for rest != "" && len(args) < maxParams {
		key, after, ok := strings.Cut(rest, "=")
		key = strings.Trim(key, ", \t")
		if !ok || !identifier.MatchString(key) {
			break
		}
		value, tail := pythonValue(after)
		if v := canonicalValue(value); v != "" && !objectAddress.MatchString(v) {
			args[canonicalKey(key)] = v
		}
		rest, ok = strings.CutPrefix(tail, ",")
		if !ok {
			break
		}
	}
	return args
}

// objectAddress matches a Python object, whose address differs in each process.
var objectAddress = lazyregexp.New(`^<.* at 0x[0-9a-f]+>$`)

var identifier = lazyregexp.New(`^[A-Za-z_]\w*$`)

// pythonValue cuts one value off a Python representation: up to the comma or parenthesis after it,
// outside quotes and brackets.
func pythonValue(s string) (value, rest string) {
	depth := 0
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(' || c == '[' || c == '{' || c == '<':
			depth++
		case depth == 0 && (c == ',' || c == ')'):
			return s[:i], s[i:]
		case c == ')' || c == ']' || c == '}' || c == '>':
			depth--
		}
	}
	return s, ""
}
