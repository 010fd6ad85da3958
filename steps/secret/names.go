package secret

import (
	"slices"
	"strings"
	"unicode"
)

// strength is how strongly a word suggests that a value is a secret.
type strength int

const (
	none strength = iota
	// weak words also name public things: a value must also look random.
	weak
	// strong words name machine-generated secrets: a key or a token.
	strong
	// chosen words name secrets that a person may have chosen: a value can be a plain word.
	chosen
)

// words are the parts of a name that mean a secret.
var words = map[string]strength{
	"TOKEN": strong, "TOKENS": weak, "SECRET": chosen, "SECRETS": chosen,
	"PASSWORD": chosen, "PASSWORDS": chosen, "PASSWD": chosen, "PASSPHRASE": chosen, "PASSCODE": chosen, "PWD": chosen,
	"PASS": chosen, "PW": chosen,
	"CREDENTIAL": strong, "CREDENTIALS": strong, "CREDS": strong, "CRED": strong,
	"AUTH": strong, "AUTHORIZATION": strong, "AUTHENTICATION": weak, "OAUTH": strong, "BEARER": strong, "JWT": strong, "COOKIE": strong,
	"APIKEY": strong, "PAT": strong, "DSN": strong, "SAS": strong, "WEBHOOK": strong, "OTP": strong, "TOTP": strong, "KUBECONFIG": strong,
	"SIGNATURE": weak, "SIG": weak, "SESSION": weak, "SALT": weak, "PEM": weak, "KEY": strong, "KEYS": weak,
}

// endings are words that are often written together with others: PGPASSWORD, GHTOKEN, clientsecret.
var endings = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "CREDENTIAL", "CREDENTIALS", "DBPASS", "PGPASS",
	"ACCOUNTKEY", "ACCESSKEY", "PRIVATEKEY", "STORAGEKEY", "SECRETKEY"}

// publicKeys are words before KEY that make it the key of a map, a table or a cache.
var publicKeys = []string{"SORT", "PRIMARY", "FOREIGN", "PUBLIC", "CACHE", "PARTITION", "GROUP", "COMMENT", "ROUTING", "LOOKUP",
	"CONCURRENCY", "BASELINE", "ISSUE", "PROJECT", "REGISTRY", "LAUNCH", "CONFIG"}

// modelTokens are words before TOKEN that make it one of a language model.
var modelTokens = []string{"PAD", "BOS", "EOS", "STOP", "START", "END", "IMAGE", "AUDIO", "VIDEO", "SPECIAL", "MASK", "UNK", "SEP", "CLS",
	"DECODE", "PREFILL", "PROMPT", "INPUT", "OUTPUT", "FIRST", "PER"}

// modelPasses are words before PASS that make it one of a language model or a compiler.
var modelPasses = []string{"FORWARD", "BACKWARD", "COMPILER", "FUSION", "PER"}

// qualifiers are last words of a name that denote a property of a secret, not the secret.
var qualifiers = []string{
	"FILE", "PATH", "DIR", "DIRECTORY", "FOLDER", "NAME", "TYPE", "KIND", "PROVIDER", "HELPER", "SOCK", "SOCKET", "LENGTH", "LEN",
	"SIZE", "COUNT", "LIMIT",
	"MAX", "MIN", "TTL", "TIMEOUT", "EXPIRY", "EXPIRES", "ENABLED", "DISABLED", "REQUIRED", "MODE", "METHOD", "SCHEME", "ENDPOINT",
	"REGION", "VERSION",
	"ALGORITHM", "FORMAT", "PARALLELISM", "STORE", "BACKEND", "SOURCE", "ENV", "VAR", "VARIABLE",
	"MAP", "TREE", "THRESHOLD", "BUDGET", "RATIO", "DTYPE", "IDS", // of the tokens and keys of a language model
}

// folders are the shell's variables for its working directory.
var folders = []string{"PWD", "OLDPWD"}

// runners are the prefixes of variables that a workflow's runner passes to its steps, including
// tokens.
var runners = []string{"ACTIONS_", "GITHUB_", "RUNNER_", "INPUT_"}

// Name reports whether a variable, header or field with this name holds a secret, whatever its
// value.
func Name(name string) bool { return strengthOf(name) > weak }

// Mentions reports whether a variable should not be passed to other processes: its name refers to a
// secret or to the workflow of this program.
func Mentions(name string) bool {
	upper := strings.ToUpper(name)
	if Private(name) || slices.ContainsFunc(runners, func(prefix string) bool { return strings.HasPrefix(upper, prefix) }) {
		return true
	}
	return strongest(split(name)) > none && !slices.Contains(folders, upper)
}

// variablePrefix and actionVariables are the environment variables with values for the variables of
// a pipeline.
const (
	variablePrefix  = "PIPELINE_VAR_"
	actionVariables = "PIPELINE_ACTION_VARS"
)

// Private reports whether an environment variable is only for this program, whatever its value: the
// file decides which value is secret and who gets it.
func Private(name string) bool {
	return strings.HasPrefix(name, variablePrefix) || name == actionVariables
}

func strengthOf(name string) strength {
	parts := split(name)
	if len(parts) == 0 || slices.Contains(folders, strings.ToUpper(name)) || slices.Contains(qualifiers, parts[len(parts)-1]) {
		return none
	}
	return strongest(parts)
}

// strongest returns the highest strength of any word of a name.
func strongest(parts []string) strength {
	most := none
	for i, part := range parts {
		most = max(most, wordStrength(parts, i, digitless(part)))
	}
	return most
}

func digitless(word string) string { return strings.TrimRight(word, "0123456789") }

func wordStrength(parts []string, i int, part string) strength {
	switch {
	case part == "KEY" || part == "KEYS":
		switch {
		case i > 0 && slices.Contains(publicKeys, parts[i-1]):
			return none
		case len(parts) == 1:
			return weak // of a map, or a secret that a step puts out
		}
	case part == "TOKEN" && i > 0 && slices.Contains(modelTokens, parts[i-1]):
		return none
	case part == "PASS" && (i > 0 && slices.Contains(modelPasses, parts[i-1]) || i+1 < len(parts) && parts[i+1] == "CONFIG"):
		return none
	case part == "STRING" && i > 0 && (parts[i-1] == "CONNECTION" || parts[i-1] == "CONN"), part == "STR" && i > 0 && parts[i-1] == "CONN":
		return strong
	case words[part] == none:
		if slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(part, e) }) {
			return chosen
		}
	}
	return words[part]
}

// split splits a name into words in upper case: at characters that are neither letters nor digits,
// and between a lower-case and an upper-case letter.
func split(name string) []string {
	var b strings.Builder
	var before rune
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			b.WriteByte(' ')
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToUpper(r))
		before = r
	}
	return strings.Fields(b.String())
}
