package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// reproduction is the command that repeats a run at a shell: what decides what is measured,
// without what is said about it.
func reproduction(f runFlags, paths []string) string {
	words := []string{"pipeline", "run"}
	flag := func(name string, values ...string) {
		for _, v := range values {
			words = append(words, "--"+name, quoted(v))
		}
	}
	flag("var-file", f.config.varFiles...)
	flag("var", f.config.vars...)
	flag("only", f.plan.only...)
	if f.plan.repeat > 0 {
		flag("repeat", fmt.Sprint(f.plan.repeat))
	}
	if f.plan.simulate != "" {
		words = append(words, "--simulate="+f.plan.simulate)
	}
	for _, p := range paths {
		words = append(words, quoted(cmp.Or(p, ".")))
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted is a word as a POSIX shell reads it back.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
