package markdown

import (
	"regexp"
	"strings"
)

// units matches a number with a space and its unit.
var units = regexp.MustCompile(`(\d) (%|pp|ms|s|µs|min|h|req/s|tok/s|GiB|MiB|GPUs?|repeats?)([\s,;.)·|*]|$)`)

// bound joins numbers and units with no-break spaces, except in code.
func bound(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if fenced {
			b.WriteString(line)
			continue
		}
		for i, part := range strings.Split(line, "`") {
			if i > 0 {
				b.WriteByte('`')
			}
			if i%2 == 0 {
				part = units.ReplaceAllString(part, "$1\u00a0$2$3")
			}
			b.WriteString(part)
		}
	}
	return b.String()
}
