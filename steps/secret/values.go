package secret

import (
	"slices"
	"strings"
	"unicode"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// FromEnviron returns the secrets of an environment: the values of variables whose names mean one,
// and passwords in addresses and connection strings, whatever the variable (HTTPS_PROXY,
// DATABASE_URL).
func FromEnviron(environ []string) []string {
	var out []string
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			out = append(out, Values(name, value)...)
		}
	}
	return out
}

// Values returns the secrets in a value of a variable, header or field with this name: the value
// itself if it is one, and secrets within it.
func Values(name, value string) []string {
	var out []string
	s := strengthOf(name)
	if s > none && !harmless(value, s) {
		out = append(out, value)
	}
	return append(out, Within(value)...)
}

// harmless reports whether a value is plainly not a secret, given the strength of its name.
func harmless(value string, s strength) bool {
	value = strings.TrimSpace(value)
	switch {
	case len(value) < 6, slices.Contains(switches, strings.ToLower(value)):
		return true
	case number.MatchString(value):
		return s != chosen || len(value) < 8 || strings.ContainsAny(value, ".,+- ")
	case version.MatchString(value), reference.MatchString(value), digest.MatchString(value):
		return true
	case s != chosen && placeholder.MatchString(value):
		return true
	case isURL(value), isPath(value, s):
		return true // secrets in an address are found by Within
	case s == chosen:
		return len(value) < 8 && lower.MatchString(value)
	case s == strong:
		return len(value) < 8 || modelName.MatchString(value) && !random(value)
	}
	return !random(value)
}

// switches are values that are not secrets, and words of our own reports.
var switches = []string{
	"true", "false", "none", "null", "undefined", "unset", "empty", "dummy", "enabled", "disabled", "default", "auto", "automatic",
	"required", "optional",
	"always", "never", "anonymous", "public", "private", "internal", "external", "inherit", "password", "secret", "token", "bearer",
	"redacted", "(redacted)",
	"server", "pipeline", "performance", "localhost", "production",
	"staging", "development",
}

var (
	number  = lazyregexp.New(`^[-+]?[0-9][0-9., _-]*$`)
	version = lazyregexp.New(`^v?[0-9]+(\.[0-9]+)+([-+.][0-9A-Za-z.]+)?$`)
	lower   = lazyregexp.New(`^[a-z]+$`)
	// reference matches $NAME, ${NAME}, ${NAME:?message} and ${NAME:-} of a shell, and references of a pipeline file.
	reference = lazyregexp.New(`^(?:\$[A-Za-z_][A-Za-z0-9_]*|\$\{[A-Za-z_][A-Za-z0-9_]*(?::?\?[^}]*|:?-)?\}|` +
		`(?:\$\{ *)?(?:[a-z_]+\()?(?:var|local|each|step|matrix)(?:\.[A-Za-z_][A-Za-z0-9_-]*)+(?:\[[^\]]*\])?[)}\], ]*)$`)
	// placeholder matches <api-key>, a special token of a model (<|image|>), and how $(command) and ${NAME:?message} begin.
	placeholder = lazyregexp.New(`^(?:<[^<>]+>|\$\(.*|\$\{[A-Za-z_][A-Za-z0-9_]*:?\?.*)$`)
	// digest matches the digest of an image or a file, also behind the name of what it is the digest of.
	digest    = lazyregexp.New(`^(?:[A-Za-z0-9_./:-]+@)?sha(?:256|384|512):[0-9a-f]+$`)
	modelName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_.-]*/[A-Za-z0-9_.-]+$`)
	address   = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	// variablePart matches a variable that a path begins with: $HOME/x, ${RUNNER_TEMP}/x.
	variablePart = lazyregexp.New(`^\$(?:\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)/`)
	// rooted matches a path from the user's or the process's folder (~/x, ../x), or whose first folder is a word
	// (/scratch/x, /Users/x), also behind a short one (/p/scratch/x).
	rooted = lazyregexp.New(`^(?:~[a-z0-9_-]*|\.{1,2}|(?:/[A-Za-z0-9]{1,2})?/(?:[a-z_.][a-z_.-]{2,}|[A-Z][a-z]{3,})[0-9]{0,3})/`)
	// file matches a name with a usual ending.
	file = lazyregexp.New(`^[A-Za-z0-9_./~@-]*[A-Za-z0-9_]\.(?:json|ya?ml|toml|ini|conf|config|cfg|kubeconfig|env|pem|crt|cer|key|p12|` +
		`txt|log|sock|socket|pt|bin|safetensors|gguf)$`)
	// between matches a relative path whose first folder and last name are words.
	between = lazyregexp.New(`^\.?[a-z_][a-z_.-]{2,}[0-9]{0,3}/(?:[^\s:]*/)?[a-z_][a-z_.-]{3,}$`)
)

// leastDrawn is the length from which a random segment makes a whole address a secret, such as that
// of a webhook.
const leastDrawn = 20

// isURL reports whether a value is an address that is not a secret as a whole.
func isURL(value string) bool {
	if !address.MatchString(value) {
		return false
	}
	_, rest, _ := strings.Cut(value, "://")
	_, path, _ := strings.Cut(rest, "/")
	path, _, _ = strings.Cut(path, "?")
	return !slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool { return len(part) >= leastDrawn && random(part) })
}

// isPath reports whether a value is a file path. A base64 secret can contain slashes, so a path has words where a secret
// has drawn characters: its first folder, or its ending. The folders between them may be drawn (/tmp/tmp.aB1cD2eF3g/x).
func isPath(value string, s strength) bool {
	value = variablePart.ReplaceAllString(value, "~/")
	if strings.ContainsAny(value, "$!;\"'<>`\n") {
		return false
	}
	rest := strings.TrimLeft(value, ".~")
	// A password chosen by a person can begin with a slash; a path has folders.
	folders := s != chosen || strings.Count(rest, "/") > 1
	if rooted.MatchString(value) && folders && (s != chosen || !strings.ContainsAny(value, "+=%&#")) {
		return true
	}
	if strings.ContainsAny(value, "+=%&#") {
		return false
	}
	if strings.HasPrefix(rest, "/") && !random(value) {
		return folders
	}
	return s != chosen && (file.MatchString(value) || between.MatchString(value))
}

// random reports whether text looks machine-generated: its letters and digits change kind far more
// often than in words and version numbers.
func random(value string) bool {
	changes, count := 0, 0
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		changes += kindChanges(word)
		count += len(word)
	}
	return count >= 8 && changes*6 >= count
}

// kindChanges counts the changes between kinds of characters in a word, apart from a leading
// capital.
func kindChanges(word string) int {
	kind := func(r rune) int {
		switch {
		case unicode.IsDigit(r):
			return 1
		case unicode.IsUpper(r):
			return 2
		}
		return 3
	}
	runes := []rune(word)
	n := 0
	for i := 1; i < len(runes); i++ {
		before, at := kind(runes[i-1]), kind(runes[i])
		if before != at && (before != 2 || at != 3) {
			n++
		}
	}
	return n
}
