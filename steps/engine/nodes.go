package engine

import (
	"net"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// Address returns host:port, with an IPv6 address in brackets.
func Address(host string, port steps.Port) string { return net.JoinHostPort(host, port.String()) }

// ForcedEnv sets variables and overrides the file, because their values differ between nodes.
func ForcedEnv(env []steps.EnvVar, vars ...steps.EnvVar) []steps.EnvVar {
	out := slices.Clone(vars)
	for _, v := range vars {
		env = steps.WithoutEnv(env, v.Name)
	}
	return append(out, env...)
}

// ShellWord quotes a word for sh.
func ShellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./:@%+=-", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
