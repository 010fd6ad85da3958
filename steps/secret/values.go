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
	case version.MatchString(value), reference.MatchString(value):
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
	number    = lazyregexp.New(`^[-+]?[0-9][0-9., _-]*$`)
	version   = lazyregexp.New(`^v?[0-9]+(\.[0-9]+)+([-+.][0-9A-Za-z.]+)?$`)
	lower     = lazyregexp.New(`^[a-z]+$`)
	reference = lazyregexp.New(`^\$(\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)$`)
	modelName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_.-]*/[A-Za-z0-9_.-]+$`)
	address   = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*://`)
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

// systemFolders are the first folders of paths on Linux, macOS and in containers of GitHub's runner.
var systemFolders = []string{
	"__w", "builds", "data", "dev", "etc", "github", "home", "mnt", "opt", "private", "proc", "root", "run", "srv", "tmp", "usr", "var",
	"Users", "Volumes", "workspace",
}

// isPath reports whether a value is a file path. Outside of system folders it checks the words, because one in 64 base64
// secrets begins with a slash. Within them a folder may be drawn (/tmp/tmp.aB1cD2eF3g).
func isPath(value string, s strength) bool {
	rest := strings.TrimLeft(value, ".~")
	if !strings.HasPrefix(rest, "/") || strings.ContainsAny(value, "+=%&$#!;\"'<>`\n") {
		return false
	}
	first, _, folders := strings.Cut(value[1:], "/")
	if random(value) && !(folders && slices.Contains(systemFolders, first)) {
		return false
	}
	// A password chosen by a person can begin with a slash; a path has folders.
	return s != chosen || strings.Count(rest, "/") > 1
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
