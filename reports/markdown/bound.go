package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// units matches a number with a space and its unit.
var units = lazyregexp.New(`(\d) (%|pp|ms|s|µs|min|h|req/s|tok/s|GiB|MiB|GPUs?|repeats?)([\s,;.)·|*]|$)`)

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
		if strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "|:") {
			line = boundRow(line)
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

// maxBound is the length in characters of the cells of a table that are kept in one line.
const maxBound = 34

// boundRow joins the words of each short cell with figures but the last, which is in words.
func boundRow(line string) string {
	cells := strings.Split(line, "|")
	for i, cell := range cells[:max(0, len(cells)-2)] {
		text := strings.TrimSpace(cell)
		if strings.Contains(text, "`") || !strings.ContainsAny(text, "0123456789↓↑→") || utf8.RuneCountInString(text) > maxBound {
			continue
		}
		cells[i] = " " + strings.ReplaceAll(text, " ", "\u00a0") + " "
	}
	return strings.Join(cells, "|")
}
