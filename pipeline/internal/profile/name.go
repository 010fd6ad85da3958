package profile

import (
	"strings"
	"unicode/utf8"

	"github.com/servegate/pipeline/reports/result"
)

// shown is the largest length of a name in a table.
const shown = 80

// shorten gives each name of a kind the shortest form that is unique. Kernels drop namespaces, template
// arguments and parameters, or keep only the template arguments. Names that are too long are cut, with a hash.
func shorten(kind string, names []string) map[string]string {
	forms := []func(string) string{func(n string) string { return n }, cut}
	if kind == result.ProfileGPU {
		forms = []func(string) string{func(n string) string { return bare(n, false) }, func(n string) string { return bare(n, true) }, cut}
	}
	out := map[string]string{}
	left := names
	taken := map[string]bool{}
	for _, form := range forms {
		by := map[string][]string{}
		for _, n := range left {
			by[form(n)] = append(by[form(n)], n)
		}
		var again []string
		for _, n := range left {
			short := form(n)
			if len(by[short]) > 1 || utf8.RuneCountInString(short) > shown || taken[short] {
				again = append(again, n)
				continue
			}
			out[n] = short
		}
		for _, n := range left {
			taken[form(n)] = true // a shared form would be ambiguous
		}
		left = again
	}
	for _, n := range left {
		out[n] = cut(n)
	}
	return out
}

// bare returns a C++ name without return type, namespaces and parameters, and without template arguments unless
// wanted. For wrapper kernels it adds the first arguments. It returns other names, such as "Memcpy HtoD (Pinned
// -> Device)", unchanged.
func bare(name string, templates bool) string {
	if !strings.ContainsAny(name, "<(") || strings.HasPrefix(name, "Memcpy ") || strings.HasPrefix(name, "Memset ") {
		return name
	}
	s := strings.TrimSpace(strings.ReplaceAll(name, "(anonymous namespace)::", ""))
	s = strings.TrimPrefix(s, "void ")
	open := topLevel(s, '(')
	if open > 0 {
		s = s[:open]
	}
	args := ""
	if lt := strings.IndexByte(s, '<'); lt > 0 {
		s, args = s[:lt], s[lt:]
	}
	s = lastName(s)
	if s == "" {
		return name
	}
	switch {
	case args == "":
		return s
	case templates:
		return s + withoutNamespaces(args)
	case wrappers[s]:
		return s + firstArguments(args)
	}
	return s
}

// wrappers lists kernels whose names do not describe their work.
var wrappers = map[string]bool{"device_kernel": true, "kernel": true, "Kernel": true, "Kernel2": true}

// firstArguments returns the first template argument and its first argument: "<enable_sm90<FlashAttnFwdSm90>>".
func firstArguments(args string) string {
	var names []string
	for len(names) < 2 && strings.HasPrefix(args, "<") {
		end := strings.IndexAny(args[1:], "<>,")
		if end <= 0 {
			break
		}
		names = append(names, lastName(strings.TrimSpace(args[1:1+end])))
		args = args[1+end:]
	}
	if len(names) == 0 {
		return ""
	}
	return "<" + strings.Join(names, "<") + strings.Repeat(">", len(names))
}

// topLevel returns the first position of a byte outside angle brackets, -1 if none.
func topLevel(s string, b byte) int {
	depth := 0
	for i := range len(s) {
		switch {
		case s[i] == b && depth == 0:
			return i
		case s[i] == '<':
			depth++
		case s[i] == '>':
			depth--
		}
	}
	return -1
}

// lastName returns the part after the last namespace.
func lastName(s string) string {
	if i := strings.LastIndex(s, "::"); i >= 0 {
		return s[i+2:]
	}
	return s
}

// withoutNamespaces removes the namespaces in template arguments.
func withoutNamespaces(args string) string {
	var b strings.Builder
	word := 0
	flush := func(end int) { b.WriteString(lastName(args[word:end])) }
	for i := range len(args) {
		if strings.IndexByte("<>,()[]*& ", args[i]) >= 0 {
			flush(i)
			b.WriteByte(args[i])
			word = i + 1
		}
	}
	flush(len(args))
	return b.String()
}

// cut truncates a name and appends a hash of the whole name.
func cut(name string) string {
	const hashed = 10 // length of the ellipsis, "#" and the hash
	s := name
	if utf8.RuneCountInString(s) > shown-hashed {
		runes := []rune(s)
		s = string(runes[:shown-hashed])
	}
	return s + "…#" + shortHash(name)
}
