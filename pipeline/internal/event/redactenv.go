package event

import (
	"slices"
	"strings"
)

// secretWords are the parts of a variable's name that make its value a secret.
var secretWords = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "PAT"}

// secretKeys come in two parts: API_KEY, but not SORT_KEY.
var secretKeys = []string{"API", "ACCESS", "PRIVATE", "SECRET", "SIGNING", "ENCRYPTION", "ACCOUNT"}

// EnvironSecrets are the values of the environment that are secrets by the names of their
// variables, such as HF_TOKEN: whatever prints them, a report does not. The names that
// only sound so (MAX_TOKENS, TOKENIZERS_PARALLELISM) and the values that are plain words
// or numbers are none.
func EnvironSecrets(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if secretName(name) && !plainValue(value) {
			out = append(out, value)
		}
	}
	return out
}

func secretName(name string) bool {
	parts := strings.Split(strings.ToUpper(name), "_")
	for i, part := range parts {
		if slices.Contains(secretWords, part) {
			return true
		}
		if part == "KEY" && i > 0 && slices.Contains(secretKeys, parts[i-1]) {
			return true
		}
	}
	return false
}

// plainValue reports a value that would blank out ordinary text: a short one, a number, a
// lower-case word or a path.
func plainValue(value string) bool {
	if len(value) < 8 || strings.HasPrefix(value, "/") {
		return true
	}
	digits := strings.Trim(value, "0123456789.,-+") == ""
	letters := len(value) < 16 && strings.Trim(value, "abcdefghijklmnopqrstuvwxyz") == ""
	return digits || letters
}
